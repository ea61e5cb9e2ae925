/** Claim: an idempotency key in the form that the store keeps, and the answer to a retry. Part 4, idempotency of POST. */

import { hash } from 'node:crypto'
import { Problem } from '../errors/problem.ts'
import { isObject } from '../fields/value-check.ts'
import { permits } from '../flow/caller.ts'
import type { Document, RequestContext } from '../flow/intent.ts'
import type { PriorClaim } from '../flow/outcome.ts'
import type { Claim } from '../flow/plan.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import { type PatchOperation, patchedNames } from '../resources/json-patch.ts'
import type { ServedTransition } from '../resources/machine.ts'
import { importSegment } from '../resources/own-operations.ts'
import type { Resource } from '../resources/resource.ts'
import { hasRowRules } from '../rules/row-rules.ts'
import type { Settings } from '../settings.ts'
import { missingIdempotencyKey, readIdempotencyKey } from './key.ts'

/** The claim of the key of a request, and the body without the key. */
export interface ClaimAndBody {
  readonly claim: Claim | null
  readonly body: Document
}

/** The claim of a creating POST; `concealed` names the fields whose values are not compared. R100, R107 */
export function claimOfCreate(
  request: RequestContext,
  resource: Resource,
  concealed: ReadonlySet<string>,
): ClaimAndBody {
  const { call, body } = request
  const { settings } = resource
  const { key, body: rest } = readIdempotencyKey(call, body as Document, settings)
  if (key === null && settings.idempotency.required) throw missingIdempotencyKey(settings)
  return {
    claim:
      key === null
        ? null
        : makeClaim(
            key,
            ['POST', claimPath(resource, request), omitConcealed(rest, concealed)],
            resource,
            request,
            keySpace(resource, request, 'create'),
          ),
    body: rest,
  }
}

/** The claim of a PATCH, if it accepts keys. Its payload includes the item, so a key is valid for one item only. R108 */
export function claimOfChange(
  request: RequestContext,
  resource: Resource,
  concealed: ReadonlySet<string>,
): ClaimAndBody {
  const { call, body, params, patch } = request
  if (!resource.settings.idempotency.methods.includes('PATCH')) return { claim: null, body: body as Document }
  const { key, body: rest } = readIdempotencyKey(call, body as Document, resource.settings)
  const content = patch ? omitConcealedOperations(patch, concealed) : omitConcealed(rest, concealed)
  const payload = ['PATCH', `${claimPath(resource, request)}/${params.join('/')}`, content] as const
  return {
    claim: key === null ? null : makeClaim(key, payload, resource, request, keySpace(resource, request, 'change')),
    body: rest,
  }
}

/**
 * The claim of a transition or an operation. Operations of a collection share one key space, which is separate from that of
 * creations unless the scope is `caller`. A repeat gets the first answer in every mode. R108
 */
export function claimOfTransition(
  request: RequestContext,
  resource: Resource,
  { name, rule }: ClaimedAction,
  older: ServedTransition['older'] = null,
): ClaimAndBody {
  const { call, body, params } = request
  const { key, body: rest } = readIdempotencyKey(call, body ?? {}, resource.settings)
  if (key === null) return { claim: null, body: rest }
  const space = `${claimPath(resource, request)}/{id}`
  const payload = [
    'POST',
    `${claimPath(resource, request)}/${params.join('/')}/${name}`,
    newestInput(rest, older),
  ] as const
  return { claim: { ...makeClaim(key, payload, resource, request, { rule, space }), keeps: true }, body: rest }
}

/** The claim of a batch. Only the same caller gets its answer again, as the answer has items that others may not see. R229 */
export function claimOfBatch(request: RequestContext, resource: Resource): ClaimAndBody {
  const { call, body, caller } = request
  const { key, body: rest } = readIdempotencyKey(call, body ?? {}, resource.settings)
  if (key === null) return { claim: null, body: rest }
  const payload = ['POST', claimPath(resource, request), { batch: rest, caller: caller.id }] as const
  const space = { rule: 'authenticated', space: claimPath(resource, request) }
  return { claim: { ...makeClaim(key, payload, resource, request, space), keeps: true }, body: rest }
}

/** The claim of an import. Its content is not a part of the payload, as it is compared while it is read. R238 */
export function claimOfImport(request: RequestContext, resource: Resource, type: string): Claim | null {
  const { call, caller, carried, params } = request
  const { key } = readIdempotencyKey(call, {}, resource.settings)
  if (key === null) return null
  const space = `${claimPath(resource, request)}/${importSegment}`
  // The scopes of the caller are compared with those stored in the progress; `rights` had them in keys of earlier releases.
  const about = { import: type, version: carried.label, caller: caller.id, rights: [] }
  const payload = ['POST', `${claimPath(resource, request)}/${params.join('/')}/${importSegment}`, about] as const
  const rule = ruleFor(resource.access, 'create')
  return { ...makeClaim(key, payload, resource, request, { rule, space }), keeps: true }
}

/** Bodies are compared in their newest form. One that cannot be converted is refused later. */
function newestInput(body: Document, older: ServedTransition['older']): Document {
  try {
    return older ? older.payload(body) : body
  } catch {
    return body
  }
}

interface ClaimedAction {
  readonly name: string
  readonly rule: AccessRule
}

/**
 * Removes the fields that not every caller may read. Otherwise a caller that knows the key of another request could guess
 * their values: an error would reveal whether they match.
 */
function omitConcealed(body: Document, concealed: ReadonlySet<string>): Document {
  if (concealed.size === 0) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !concealed.has(name)))
}

/** The same for a JSON Patch. As it can move any value to such a field, it is then compared without values. */
function omitConcealedOperations(
  patch: readonly PatchOperation[],
  concealed: ReadonlySet<string>,
): readonly Partial<PatchOperation>[] {
  const names = patchedNames(patch)
  const reaches = patch.some(({ path }) => path.length === 0) || [...concealed].some((name) => names.has(name))
  if (concealed.size === 0 || !reaches) return patch
  return patch.map(({ op, path, from }) => ({ op, path: path.slice(0, 1), from: from.slice(0, 1) }))
}

/**
 * The path template of the collection: lists below different parents share one key space. It has the names that the database
 * keeps, so that keys outlive a rename, also when the version with the former name has ended. R100, R196.
 */
function claimPath({ name, parent }: Resource, { world: { storedName } }: Pick<RequestContext, 'world'>): string {
  const own = `/${storedName(name)}`
  return parent ? `/${storedName(parent.resource)}/{id}${own}` : own
}

type ClaimPayload = readonly [method: string, place: string, content: Document | readonly object[]]

/** Keys are compared within a space, which callers share if the rule of the operation is `public`. */
interface KeySpace {
  readonly rule: AccessRule | undefined
  readonly space: string
}

const keySpace = (resource: Resource, request: RequestContext, operation: 'create' | 'change'): KeySpace => ({
  rule: ruleFor(resource.access, operation),
  space: claimPath(resource, request),
})

function makeClaim(
  key: string,
  payload: ClaimPayload,
  resource: Resource,
  { caller, world }: RequestContext,
  { rule, space: place }: KeySpace,
): Claim {
  const { scope, retention, mode } = resource.settings.idempotency
  const time = world.now()
  // By the key of a colleague a caller must not learn of an item that it may not see, nor by its own key of an item of its
  // other account.
  const { account, id } = caller
  const own = account === null ? id : [account, ...(hasRowRules(resource) ? [id] : [])]
  // R100: on public operations, all callers share one key space.
  const whose = rule === 'public' ? '' : own
  const space = scope === 'caller' ? '' : place
  return {
    hash: shortDigest(JSON.stringify([whose, space, key])),
    // A caller that may not read the items could guess their content with a colleague's key, so its id is in its fingerprints.
    fingerprint: `1${shortDigest(canonicalText(permits(caller, ruleFor(resource.access, 'read')) ? payload : [...payload, caller.id]))}`,
    time,
    expired: retention === null ? null : time - retention,
    keeps: mode === 'replay',
  }
}

const shortDigest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22)

/** A text that is equal for equal values, whatever the order of their members. R98 */
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

/** Whether an object keeps a member in insertion order: numeric names come first, and `__proto__` makes no member. */
const keepsMemberOrder = (name: string): boolean => !/^\d|^__proto__$/.test(name)

function withSortedMembers(value: Document, names: readonly string[]): Document {
  const own: Document = {}
  for (const name of names) own[name] = value[name]
  return own
}

/** The stored first answer if the payload is the same; null if the retry is refused. R98. */
export function keptAnswer({ answer, fingerprint }: PriorClaim, own: Claim): PriorClaim['answer'] {
  return own.keeps && own.fingerprint === fingerprint ? answer : null
}

export const payloadMismatch = (): Problem =>
  new Problem(
    'idempotency-key-payload-mismatch',
    'This idempotency key was used with another payload. Use a new key for a new request.',
    { under: 'unprocessable' },
  )

/** The error for a retry; `path` is that of the created item. R96, R97, in replay mode R98. */
export function keyReuseProblem(
  { id, fingerprint }: PriorClaim,
  own: Claim,
  path: string | null,
  { idempotency }: Settings,
): Problem {
  const differs = fingerprint !== '' && fingerprint !== own.fingerprint // an erasure leaves none
  if (own.keeps && differs) return payloadMismatch()
  const message = `A resource was already created with this idempotency key${differs ? ', from another payload' : ''}.`
  const type = differs ? 'idempotency-key-payload-mismatch' : 'idempotency-key-reused'
  const headers = path === null ? {} : { Link: `<${path}>; rel="related"` }
  return new Problem(type, message, {
    headers,
    extra: id === '' ? {} : { old_id: id },
    bare: idempotency.conflictBody === 'minimal',
  })
}
