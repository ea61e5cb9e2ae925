/** Key table: stores sealed API keys with the rights of their holders. Part 5, authentication. */
import type { Credential, Holder } from '../flow/credential.ts'
import { rowsIn } from '../flow/outcome.ts'
import type { Store } from '../flow/store.ts'
import { type Table, type TableOperation, type TableRow, tablePlan } from '../flow/table.ts'

export const apiKeyTable: Table = {
  name: 'bylaw_api_keys',
  columns: {
    ...{ hash: 'text', id: 'text', name: 'text', holder: 'text' },
    ...{ created: 'integer', expires: 'integer?', revoked: 'integer?', place: 'text' },
  },
  key: ['hash'],
  indexes: [{ name: 'place', columns: ['name', 'place'], unique: true }],
}

const table = apiKeyTable
const order = ['name', 'created', 'id']
export const findKeysByHash: TableOperation = { do: 'find', table, where: { hash: { in: 'hashes' } } }
const findAllKeys: TableOperation = { do: 'find', table, where: {}, order }
const findKeysOfName: TableOperation = { do: 'find', table, where: { name: 'name' }, order }
const freePlaces: TableOperation = {
  ...{ do: 'set', table, where: { name: 'name', expires: { upTo: 'now' } } },
  to: { place: { column: 'id' } },
}
const takePlace: TableOperation = { do: 'insert', table, by: ['name', 'place'] }
const endKeys: TableOperation = {
  ...{ do: 'set', table, where: { revoked: null, id: { in: 'ids' } } },
  to: { revoked: 'time', place: { column: 'id' } },
}

type KeyStore = Pick<Store, 'execute'>

/** Finds keys by their seals; synchronously if the store can. */
export function findKeys({ execute }: KeyStore, hashes: readonly string[]): Credential[] | Promise<Credential[]> {
  const outcome = execute(tablePlan(findKeysByHash, { hashes }))
  return outcome instanceof Promise ? outcome.then(credentialsIn) : credentialsIn(outcome)
}

/** All keys, or those of a name. */
export const listKeys = async ({ execute }: KeyStore, name: string | null): Promise<Credential[]> =>
  credentialsIn(await execute(tablePlan(name === null ? findAllKeys : findKeysOfName, { name })))

/** Stores a key in one of the places of its name, which are unique: concurrent calls cannot issue more keys than allowed. */
export async function issueKey({ execute }: KeyStore, credential: Credential, most: number): Promise<boolean> {
  const { account, scopes, tier, features, ...own } = credential
  const values = { ...own, holder: JSON.stringify({ account, scopes, tier, features }), now: own.created }
  await execute({ do: 'table', run: freePlaces, values })
  for (let place = 1; place <= most; place++) {
    const taken = await execute(tablePlan(takePlace, { ...values, place: String(place) }))
    if (taken.is === 'rows') return true
  }
  return false
}

/** Revokes keys, and frees their places. */
export const revokeKeys = async ({ execute }: KeyStore, ids: readonly string[], time: number): Promise<Credential[]> =>
  credentialsIn(await execute(tablePlan(endKeys, { ids, time })))

const credentialsIn = (outcome: Parameters<typeof rowsIn>[0]): Credential[] => rowsIn(outcome).map(credentialOf)

function credentialOf({ holder, place: _, ...own }: TableRow): Credential {
  return { ...own, ...(JSON.parse(holder as string) as Holder) } as Credential
}
