/** Sealed secrets: keeps the secrets of endpoints in the store so that its readers cannot use them. Part 6, webhooks. */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { World } from '../flow/world.ts'

const algorithm = 'aes-256-gcm'
const [keyLength, nonceLength, tagLength] = [32, 12, 16]
/** The prefix of sealed texts, to distinguish a later format. */
const form = 's1.'

export interface SealedSecrets {
  /** Encrypts a secret with the first pepper, for one endpoint: it cannot be opened for another one. */
  readonly seal: (secret: string, endpoint: string) => string
  /** Decrypts it with any of the peppers. Throws if none fits. */
  readonly open: (sealed: string, endpoint: string) => string
}

/** Peppers as for API keys (BYLAW_PEPPER): the first one seals, all of them open. */
export function sealedSecrets(peppers: readonly string[], { fillRandom }: Pick<World, 'fillRandom'>): SealedSecrets {
  const keys = peppers.map((pepper) => Buffer.from(hkdfSync('sha256', pepper, '', 'bylaw webhook secrets', keyLength)))
  return {
    seal(secret, endpoint) {
      const [key] = keys
      if (!key) throw new Error('Secrets of webhooks are sealed with BYLAW_PEPPER, and there is none.')
      const nonce = fillRandom(new Uint8Array(nonceLength))
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(endpoint))
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return form + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
    },
    open(sealed, endpoint) {
      const bytes = Buffer.from(sealed.slice(form.length), 'base64url')
      const isSealed = sealed.startsWith(form) && bytes.length > nonceLength + tagLength
      const opened = isSealed ? keys.map((key) => decrypt(key, bytes, endpoint)) : []
      const secret = opened.find((text) => text !== null)
      if (secret !== undefined) return secret
      throw new Error(
        `The secret of the endpoint ${endpoint} cannot be opened: it was sealed with another BYLAW_PEPPER, or was changed in the ` +
          'database. Add the former pepper behind the new one (BYLAW_PEPPER=new,former), or rotate the secret of the endpoint.',
      )
    },
  }
}

/** Null if the key, the endpoint or the text is not that of the sealing. */
function decrypt(key: Buffer, bytes: Buffer, endpoint: string): string | null {
  const [nonce, text] = [bytes.subarray(0, nonceLength), bytes.subarray(nonceLength + tagLength)]
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagLength })
  decipher.setAAD(Buffer.from(endpoint)).setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
  try {
    return decipher.update(text, undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return null
  }
}
