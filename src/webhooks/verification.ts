/** Verification: what a receiver of webhooks calls, in Node and in browsers. It imports nothing. Part 6, webhooks. */

/** An event as it is delivered (R207); its `data` is the item in the version of the endpoint, or its `id` alone. */
export interface WebhookEvent<Data = Readonly<Record<string, unknown>>> {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly version: string
  readonly sequence: number
  readonly data: Data
}

/** The headers of a request: those of `fetch` (`Headers`), or a plain object, as `request.headers` of Node. */
export type WebhookHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** How old a delivery may be, and how far the clocks may differ, in seconds: 300 if it is left out. */
  readonly tolerance?: number
  /** The time in milliseconds, for tests: `Date.now` if it is left out. */
  readonly now?: () => number
}

export type WebhookFault =
  | 'malformed-secret'
  | 'missing-header'
  | 'malformed-header'
  | 'timestamp-too-old'
  | 'timestamp-too-new'
  | 'no-matching-signature'
  | 'malformed-body'

/** Why a delivery was not accepted: `fault` for programs, `message` for people. */
export class WebhookError extends Error {
  readonly fault: WebhookFault

  constructor(fault: WebhookFault, message: string) {
    super(message)
    this.name = 'WebhookError'
    this.fault = fault
  }
}

interface VerifyingKey {
  readonly version: 'v1' | 'v1a'
  readonly algorithm: 'HMAC' | 'Ed25519'
  readonly bytes: Uint8Array<ArrayBuffer>
}

const defaultTolerance = 300
const encoder = new TextEncoder()

/**
 * Verifies a delivery, and returns its event. Throws a `WebhookError` that names what is wrong.
 * @param body the bytes or the text of the body exactly as they came, not parsed
 * @param secrets the secret (`whsec_…`) or the public key (`whpk_…`) of the endpoint, several during a rotation
 * @example const event = await verify(request.headers, await request.text(), process.env.WEBHOOK_SECRET)
 */
export async function verify<Event = WebhookEvent>(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secrets: string | readonly string[],
  { tolerance = defaultTolerance, now = Date.now }: VerifyOptions = {},
): Promise<Event> {
  const keys = [secrets].flat().map(keyOf)
  if (keys.length === 0) throw new WebhookError('malformed-secret', 'No secret was given.')
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  checkTime(timestamp, tolerance, now())
  const bytes = bytesOf(body)
  const content = joined(encoder.encode(`${id}.${timestamp}.`), bytes)
  if (!(await matchesOne(signatures, keys, content)))
    throw new WebhookError(
      'no-matching-signature',
      'No signature of the delivery matches: the secret is another one, or the body was changed after it was signed.',
    )
  return parsed(bytes) as Event
}

function keyOf(secret: string): VerifyingKey {
  const [, prefix, text = ''] = /^(whsec|whpk)_([\w+/-]+={0,2})$/.exec(secret) ?? []
  const bytes = decoded(text)
  if (prefix === 'whsec' && bytes && bytes.length >= 24 && bytes.length <= 64)
    return { version: 'v1', algorithm: 'HMAC', bytes }
  if (prefix === 'whpk' && bytes?.length === 32) return { version: 'v1a', algorithm: 'Ed25519', bytes }
  throw new WebhookError(
    'malformed-secret',
    'A secret is malformed: it begins with whsec_, or with whpk_ if it is a public key, and base64 follows.',
  )
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : memberOf(headers, name)
  if (typeof value === 'string' && value !== '') return value
  throw new WebhookError('missing-header', `The header ${name} is missing.`)
}

function memberOf(headers: object, name: string): unknown {
  const value = Object.entries(headers).find(([own]) => own.toLowerCase() === name)?.[1]
  return Array.isArray(value) && value.length === 1 ? value[0] : value
}

function checkTime(timestamp: string, tolerance: number, now: number): void {
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookError('malformed-header', 'The header webhook-timestamp is not a time in seconds.')
  const age = Math.floor(now / 1000) - Number(timestamp)
  if (age > tolerance)
    throw new WebhookError('timestamp-too-old', `The delivery is ${age} seconds old; allowed are ${tolerance}.`)
  if (age < -tolerance)
    throw new WebhookError(
      'timestamp-too-new',
      `The time of the delivery is ${-age} seconds ahead; allowed are ${tolerance}. Check the clock.`,
    )
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return encoder.encode(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  throw new WebhookError(
    'malformed-body',
    'The body is neither a text nor bytes. Give it as it came: JSON that was parsed and written again has another signature.',
  )
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head.length + tail.length)
  bytes.set(head)
  bytes.set(tail, head.length)
  return bytes
}

/** Web Crypto compares in constant time. Signatures of versions that are not known are ignored, as others may be added. */
async function matchesOne(
  signatures: string,
  keys: readonly VerifyingKey[],
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const candidates = signatures.split(' ').flatMap((one) => {
    const [, version, text = ''] = /^(v1a?),([\w+/-]+={0,2})$/.exec(one) ?? []
    return { version, bytes: decoded(text) }
  })
  for (const { version, algorithm, bytes } of keys) {
    const own = candidates.flatMap((one) => (one.version === version && one.bytes) || [])
    if (own.length === 0) continue
    const terms = algorithm === 'HMAC' ? { name: algorithm, hash: 'SHA-256' } : { name: algorithm }
    const key = await crypto.subtle.importKey('raw', bytes, terms, false, ['verify'])
    for (const signature of own) if (await crypto.subtle.verify(algorithm, key, signature, content)) return true
  }
  return false
}

/** The bytes of a text in base64; undefined if it is not base64. */
function decoded(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new WebhookError('malformed-body', 'The signature matches, but the body is not JSON.')
  }
}
