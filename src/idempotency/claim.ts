/** Claim: a key as the store keeps it, and what a repeat is answered. Part 4, idempotency of POST. */
import { hash } from 'node:crypto'
import { Problem } from '../errors/problem.ts'
import type { Document } from '../flow/intent.ts'
import type { Claimed } from '../flow/outcome.ts'
import type { Claim } from '../flow/plan.ts'
import type { Settings } from '../resources/settings.ts'
import { isObject } from '../resources/values.ts'

/** What a claim is made from. */
export interface Claiming {
  readonly key: string
  /** Who claims: keys of different callers never meet. */
  readonly caller: string
  /** The path template of the collection, so that lists below different owners share one space. R100. */
  readonly place: string
  readonly body: Document
  readonly time: number
}

/** R98, R100. */
export function claim({ key, caller, place, body, time }: Claiming, { idempotency }: Settings): Claim {
  const space = idempotency.scope === 'caller' ? '' : place
  return {
    hash: hash('sha256', JSON.stringify([caller, space, key]), 'base64url').slice(0, 22),
    fingerprint: `1${hash('sha256', `POST ${place}\n${canonical(body)}`, 'base64url').slice(0, 20)}`,
    time,
    expired: idempotency.retention === null ? null : time - idempotency.retention,
    keeps: idempotency.mode === 'replay',
  }
}

/** The same text for the same value, whatever the order of members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
  return `{${members.join(',')}}`
}

/** The refusal of a repeat. R96, R97; in replay mode only where the payload differs. */
export function repeated({ id, fingerprint }: Claimed, own: Claim, path: string, { idempotency }: Settings): Problem {
  const differs = fingerprint !== own.fingerprint
  const headers = { Link: `<${path}>; rel="related"` }
  if (idempotency.mode === 'replay') {
    return new Problem(
      'idempotency-key-payload-mismatch',
      'This idempotency key was used with another payload. Take a new key for a new request.',
      { under: 'unprocessable' },
    )
  }
  const message = `A resource was already created with this idempotency key${differs ? ', from another payload' : ''}.`
  const type = differs ? 'idempotency-key-payload-mismatch' : 'idempotency-key-reused'
  return new Problem(type, message, { headers, extra: { old_id: id }, bare: idempotency.conflictBody === 'minimal' })
}
