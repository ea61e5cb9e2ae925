/** Credential: an API key as it is stored, which does not include the key itself. Part 5, authentication. */
import type { Caller } from './caller.ts'

/** The claims of a key or token about its holder. */
export interface Holder {
  readonly account: string | null
  readonly scopes: readonly string[]
  readonly tier: string | null
  readonly features: readonly string[]
}

export interface Credential extends Holder {
  readonly id: string
  /** The name of the key; during a rotation the old and the new key have the same name. */
  readonly name: string
  /** The keyed hash of the key, from which it cannot be recovered. R172. */
  readonly hash: string
  readonly created: number
  readonly expires: number | null
  readonly revoked: number | null
}

/** Whether a text can name an account or a subject, which is stored, compared and indexed unchanged. */
export const isIdentity = (text: string): boolean =>
  text !== '' && text.length <= 255 && text.isWellFormed() && !/\p{Cc}/u.test(text)

/** A holder as a caller. */
export const callerOf = (id: string, { account, scopes, tier, features }: Holder): Caller =>
  Object.freeze({
    id,
    account,
    scopes: new Set(scopes),
    tier,
    features: new Set(features),
  })
