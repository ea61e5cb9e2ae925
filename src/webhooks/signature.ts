/** Signature: signs deliveries as Standard Webhooks does, and makes the secrets for it. Part 6, webhooks. */
import { createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto'

/** The signed parts of a delivery. */
interface SignedContent {
  /** The id of the event; it must not contain a dot. */
  readonly id: string
  /** The time of the attempt, in milliseconds. */
  readonly at: number
  readonly body: string
}

type SignatureHeaders = Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>

export type Sign = (content: SignedContent) => SignatureHeaders

export interface KeyPair {
  /** Signs (`whsk_…`). */
  readonly secret: string
  /** The key that receivers verify with; it is shown to the owner of the endpoint (`whpk_…`). */
  readonly publicKey: string
}

/** The shortest and the longest secret of HMAC, in bytes. */
const [shortest, longest] = [24, 64]
const seedLength = 32
/** The bytes before the seed in a private Ed25519 key (PKCS #8), and before a public one (SPKI). */
const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex')

/** A secret for HMAC from 24 to 64 random bytes. R209. */
export function hmacSecret(random: Uint8Array): string {
  if (random.length < shortest || random.length > longest)
    throw new RangeError(`A secret has ${shortest} to ${longest} bytes, not ${random.length}.`)
  return `whsec_${Buffer.from(random).toString('base64')}`
}

/** A key pair for Ed25519 from 32 random bytes. The secret key is the seed with the public key behind it, as libsodium has it. R209. */
export function ed25519Pair(random: Uint8Array): KeyPair {
  if (random.length !== seedLength)
    throw new RangeError(`An Ed25519 key is made from ${seedLength} bytes, not ${random.length}.`)
  const spki = createPublicKey(privateKeyOf(random)).export({ format: 'der', type: 'spki' })
  const publicKey = spki.subarray(publicPrefix.length)
  return {
    secret: `whsk_${Buffer.concat([random, publicKey]).toString('base64')}`,
    publicKey: `whpk_${publicKey.toString('base64')}`,
  }
}

/** Signs with each of the secrets (`whsec_…` and `whsk_…`): during a rotation with the old and the new one. R209. */
export function makeSigner(secrets: readonly string[]): Sign {
  if (secrets.length === 0) throw new TypeError('A delivery is signed with at least one secret.')
  const signers = secrets.map(signerOf)
  return ({ id, at, body }) => {
    const timestamp = String(Math.floor(at / 1000))
    const content = Buffer.from(`${id}.${timestamp}.${body}`)
    return {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signers.map((signed) => signed(content)).join(' '),
    }
  }
}

const keyIn = (secret: string): Buffer => Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64')

export const isHmacSecret = (text: string): boolean =>
  /^whsec_[\w+/-]+={0,2}$/.test(text) && keyIn(text).length >= shortest && keyIn(text).length <= longest

function signerOf(secret: string): (content: Buffer) => string {
  const key = keyIn(secret)
  if (isHmacSecret(secret)) return (content) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`
  if (!secret.startsWith('whsk_') || key.length !== seedLength * 2)
    throw new TypeError('A webhook secret is malformed: it is neither whsec_ with 24 to 64 bytes, nor whsk_ with 64.')
  const privateKey = privateKeyOf(key.subarray(0, seedLength))
  return (content) => `v1a,${sign(null, content, privateKey).toString('base64')}`
}

const privateKeyOf = (seed: Uint8Array) =>
  createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: 'der', type: 'pkcs8' })
