/** Credential: an API key as it is stored, without what it is shown as. Part 5, authentication. */
import type { Caller } from './caller.ts'

/** What a key or a token says of its holder. */
export interface Holder {
  readonly account: string | null
  readonly scopes: readonly string[]
  readonly tier: string | null
  readonly features: readonly string[]
}

export interface Credential extends Holder {
  readonly id: string
  /** What the key is called; while one takes the place of another, two have the same name. */
  readonly name: string
  /** What the key is sealed as, from which it cannot be told. R172. */
  readonly hash: string
  readonly created: number
  readonly expires: number | null
  readonly revoked: number | null
}

/** Whether a text can name an account or a subject: it is kept, compared and indexed as it is. */
export const isIdentity = (text: string): boolean =>
  text !== '' && text.length <= 255 && text.isWellFormed() && !/\p{Cc}/u.test(text)

/** A holder as a caller: an account acts as one, whichever of its credentials it uses. R100. */
export const callerOf = (name: string, { account, scopes, tier, features }: Holder): Caller =>
  Object.freeze({
    id: account === null ? name : `account:${account}`,
    account,
    scopes: new Set(scopes),
    tier,
    features: new Set(features),
  })
