/** Credential plans: what the store must do with API keys. Part 5, authentication. */
import type { Credential } from './credential.ts'
import type { RowKey } from './found-row.ts'

/** Asks for the API key that was sealed as one of these. */
export interface FindCredentials {
  readonly do: 'identify'
  readonly hashes: readonly string[]
}

/** Asks for all API keys, or those of a name. */
export interface ListCredentials {
  readonly do: 'keys'
  readonly name: string | null
}

/** Asks which accounts have a row of a key, for those who run the service: no caller is told. */
export interface FindAccounts {
  readonly do: 'whose'
  readonly collection: string
  readonly key: Pick<RowKey, 'id' | 'parent'>
}

/** A new API key; `most` keys of one name may be in force at a time. */
export interface IssueCredential {
  readonly do: 'issue'
  readonly credential: Credential
  readonly most: number
}

/** Ends API keys for good. */
export interface RevokeCredentials {
  readonly do: 'revoke'
  readonly ids: readonly string[]
  readonly time: number
}
