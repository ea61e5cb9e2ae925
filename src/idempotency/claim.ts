/** Claim: a key as the store keeps it, and what a repeat is answered. Part 4, idempotency of POST. */

import { hash } from 'node:crypto'
import { Problem } from '../errors/problem.ts'
import { isObject } from '../fields/value-check.ts'
import { permits } from '../flow/caller.ts'
import type { Document, RequestContext } from '../flow/intent.ts'
import type { PriorClaim } from '../flow/outcome.ts'
import type { Claim } from '../flow/plan.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import type { Settings } from '../settings.ts'
import { missingIdempotencyKey, readIdempotencyKey } from './key.ts'

/** What the key of a request claims, and the body without the key. */
export interface ClaimAndBody {
  readonly claim: Claim | null
  readonly body: Document
}

/** A creating POST; `concealed` names the fields whose values are not compared. R100, R107 */
export function claimOfCreate(asked: RequestContext, resource: Resource, concealed: ReadonlySet<string>): ClaimAndBody {
  const { call, body } = asked
  const { settings } = resource
  const { key, body: rest } = readIdempotencyKey(call, body as Document, settings)
  if (key === null && settings.idempotency.required) throw missingIdempotencyKey(settings)
  return {
    claim:
      key === null
        ? null
        : makeClaim(key, ['POST', claimPath(resource), omitConcealed(rest, concealed)], resource, asked, 'create'),
    body: rest,
  }
}

/** A PATCH, where it takes keys. What it changes is a part of its payload, or it would be answered for another item. R108 */
export function claimOfChange(asked: RequestContext, resource: Resource, concealed: ReadonlySet<string>): ClaimAndBody {
  const { call, body, params } = asked
  if (!resource.settings.idempotency.methods.includes('PATCH')) return { claim: null, body: body as Document }
  const { key, body: rest } = readIdempotencyKey(call, body as Document, resource.settings)
  const payload = ['PATCH', `${claimPath(resource)}/${params.join('/')}`, omitConcealed(rest, concealed)] as const
  return { claim: key === null ? null : makeClaim(key, payload, resource, asked, 'change'), body: rest }
}

/**
 * A body without the fields that not everybody is shown. Whoever knows the key of another request would else learn
 * from the refusal whether a value is the one that was sent with it.
 */
function omitConcealed(body: Document, concealed: ReadonlySet<string>): Document {
  if (concealed.size === 0) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !concealed.has(name)))
}

/** The path template of the collection: lists below different owners share one space. R100. */
const claimPath = ({ name, parent, space }: Resource): string =>
  space ?? (parent ? `/${parent.resource}/{id}/${name}` : `/${name}`)

type ClaimPayload = readonly [method: string, place: string, body: Document]

function makeClaim(
  key: string,
  payload: ClaimPayload,
  resource: Resource,
  { caller, world }: RequestContext,
  operation: 'create' | 'change',
): Claim {
  const { scope, retention, mode } = resource.settings.idempotency
  const time = world.now()
  // R100: of what is public, all share one space.
  const shared = ruleFor(resource.access, operation) === 'public'
  const whose = shared ? '' : caller.account === null ? caller.id : [caller.account]
  const space = scope === 'caller' ? '' : claimPath(resource)
  return {
    hash: shortDigest(JSON.stringify([whose, space, key])),
    // Whoever may not read the items could try their content with the key of a colleague: its own payloads are like no other's.
    fingerprint: `1${shortDigest(canonicalText(permits(caller, ruleFor(resource.access, 'read')) ? payload : [...payload, caller.id]))}`,
    time,
    expired: retention === null ? null : time - retention,
    keeps: mode === 'replay',
  }
}

const shortDigest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22)

/** The same text for the same value, whatever the order of members. R98 */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  if (names.every((name) => isFlat(value[name]) && keepsMemberOrder(name)))
    return JSON.stringify(withSortedMembers(value, names))
  let members = ''
  for (const name of names) members += `,${JSON.stringify(name)}:${canonicalText(value[name])}`
  return `{${members.slice(1)}}`
}

const isFlat = (value: unknown): boolean => typeof value !== 'object' || value === null

/** Whether a member stands where it was put: objects have members with numbers for names before all others, and none of this one name. */
const keepsMemberOrder = (name: string): boolean => !/^\d|^__proto__$/.test(name)

function withSortedMembers(value: Document, names: readonly string[]): Document {
  const own: Document = {}
  for (const name of names) own[name] = value[name]
  return own
}

/** The first answer, where it is kept and the payload is the same; null where a repeat is refused. R98. */
export function keptAnswer({ answer, fingerprint }: PriorClaim, own: Claim): PriorClaim['answer'] {
  return own.keeps && own.fingerprint === fingerprint ? answer : null
}

/** The refusal of a repeat; `path` leads to what was made. R96, R97, in replay mode R98. */
export function keyReuseProblem(
  { id, fingerprint }: PriorClaim,
  own: Claim,
  path: string | null,
  { idempotency }: Settings,
): Problem {
  const differs = fingerprint !== own.fingerprint
  if (own.keeps && differs) {
    return new Problem(
      'idempotency-key-payload-mismatch',
      'This idempotency key was used with another payload. Take a new key for a new request.',
      { under: 'unprocessable' },
    )
  }
  const message = `A resource was already created with this idempotency key${differs ? ', from another payload' : ''}.`
  const type = differs ? 'idempotency-key-payload-mismatch' : 'idempotency-key-reused'
  const headers = path === null ? {} : { Link: `<${path}>; rel="related"` }
  return new Problem(type, message, { headers, extra: { old_id: id }, bare: idempotency.conflictBody === 'minimal' })
}
