/** `bylaw keys`: makes API keys, lists them, and ends them. Part 5, authentication. */
import { isInForce, mostOfName, newKey, sealed } from '../auth/keys.ts'
import { type Credential, type Holder, isIdentity } from '../flow/credential.ts'
import type { Plan } from '../flow/plan.ts'
import type { Store } from '../flow/store.ts'
import { realWorld } from '../http/world.ts'
import { nearest, oneOf } from '../resources/naming.ts'
import { milliseconds } from '../resources/time.ts'
import type { Service } from '../service.ts'
import { type Command, declarationFile, type Given, table } from '../terminal/command.ts'
import { complaint } from '../terminal/complaint.ts'
import { load } from '../terminal/load.ts'
import { databaseFlag, databaseOf } from '../terminal/place.ts'
import { peppersOf } from '../terminal/secrets.ts'
import { dueIn, storeAsItIs } from '../terminal/start.ts'

export const keys: Command = {
  name: 'keys',
  about: 'Makes API keys, lists, revokes or rotates them.',
  details:
    'create makes a key and shows it this once. rotate makes another one of the same name, so that both are in force until the first ' +
    'is revoked. revoke ends keys for good, on every node within a second.',
  arguments: [
    { name: 'create|list|revoke|rotate', about: 'a word for what to do: create, list, revoke or rotate' },
    declarationFile,
  ],
  flags: {
    name: { value: 'NAME', about: 'What the key is called, after whoever uses it.' },
    scopes: { value: 'A,B', about: 'The scopes it has; none unless given.' },
    tier: { value: 'TIER', about: 'The set of quotas it has; the first one unless given.' },
    account: { value: 'ID', about: 'The account it acts for, to which rows belong.' },
    features: { value: 'A,B', about: 'The features it has, which its version can follow from.' },
    expires: {
      value: 'T',
      about: 'When it ends: after a duration as P90D, or at a time as 2027-01-31T00:00:00Z; never unless given.',
    },
    id: { value: 'ID', about: 'The one key to revoke, where two have the same name.' },
    database: databaseFlag,
    json: { about: 'Prints JSON.' },
  },
  examples: [
    'bylaw keys create api.ts --name ci --scopes orders:read,orders:write --tier pro --expires P90D',
    'bylaw keys list api.ts --json',
    'bylaw keys rotate api.ts --name ci',
    'bylaw keys revoke api.ts --id key_01kb3q8w6ve8s9m3k2v7q0c5ta',
  ],
  run,
}

/** What the deeds share. */
interface Ring {
  readonly given: Given
  readonly file: string
  readonly service: Service
  readonly store: Store
  readonly now: number
}

const deeds: Readonly<Record<string, (ring: Ring) => Promise<string>>> = { create, list, revoke, rotate }

async function run(given: Given): Promise<number> {
  const [word = '', file = ''] = given.arguments
  const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
  if (!deed) {
    const guess = nearest(word, Object.keys(deeds))
    const mend = guess ? `Did you mean \`bylaw keys ${guess}\`?` : 'It can create, list, revoke and rotate.'
    throw complaint(`bylaw keys cannot "${word}".`, mend)
  }
  const service = await load(file)
  const store = await storeAsItIs(service, databaseOf(given, service))
  try {
    console.log(await deed({ given, file, service, store, now: dueIn(store) }))
    return 0
  } finally {
    await store.close()
  }
}

async function create(ring: Ring): Promise<string> {
  const name = nameOf(ring)
  const [other] = await inForce(ring, name)
  if (other)
    throw complaint(
      `There is a key ${name} in force already (${other.id}).`,
      `Make the one that takes its place with:  bylaw keys rotate ${ring.file} --name ${name}`,
    )
  return issued(ring, name, { ...holderOf(ring), expires: expiryOf(ring) }, '')
}

async function rotate(ring: Ring): Promise<string> {
  const name = nameOf(ring)
  const [first, second] = await inForce(ring, name)
  if (!first)
    throw complaint(`No key ${name} is in force.`, `Make one with:  bylaw keys create ${ring.file} --name ${name}`)
  const ending = `bylaw keys revoke ${ring.file} --id ${first.id}`
  if (second) throw complaint(`Two keys ${name} are in force already.`, `Revoke the older one first:  ${ending}`)
  const lasts = first.expires === null ? null : ring.now + first.expires - first.created // as long as the one before
  return issued(
    ring,
    name,
    { ...first, expires: expiryOf(ring) ?? lasts },
    `\nThe one before is still in force. When nobody uses it any more:  ${ending}`,
  )
}

async function list(ring: Ring): Promise<string> {
  const all = await credentials(ring, { do: 'keys', name: ring.given.worth('name')?.text ?? null })
  if (ring.given.on('json'))
    return JSON.stringify(
      all.map((one) => shown(one, ring.now)),
      null,
      2,
    )
  if (all.length === 0) return `There are no keys. Make one with:  bylaw keys create ${ring.file} --name ci`
  const rows = all.map((one) => {
    const { id, name, state, scopes, tier, account, created, expires } = shown(one, ring.now)
    return [name, id, state, scopes.join(' ') || '-', tier ?? '-', account ?? '-', created, expires ?? 'never']
  })
  return table([['name', 'id', 'state', 'scopes', 'tier', 'account', 'created', 'expires'], ...rows])
}

async function revoke(ring: Ring): Promise<string> {
  const { given, now } = ring
  const id = given.worth('id')?.text
  const found = id === undefined ? await inForce(ring, nameOf(ring)) : await ofId(ring, id)
  if (found.length === 0)
    throw complaint(`No key ${nameOf(ring)} is in force.`, `See them with:  bylaw keys list ${ring.file}`)
  const ended = await credentials(ring, { do: 'revoke', ids: found.map((one) => one.id), time: now })
  if (given.on('json'))
    return JSON.stringify(
      ended.map((one) => shown(one, now)),
      null,
      2,
    )
  return ended.map((one) => `${one.id} (${one.name}) is revoked.`).join('\n')
}

async function ofId(ring: Ring, id: string): Promise<readonly Credential[]> {
  const all = await credentials(ring, { do: 'keys', name: null })
  const found = all.filter((one) => one.id === id)
  const [one] = found
  if (one?.revoked === null) return found
  throw complaint(
    one ? `${id} was revoked already.` : `There is no key ${id}.`,
    `See them with:  bylaw keys list ${ring.file}`,
  )
}

/** The keys that a plan finds or changes. */
async function credentials({ store }: Ring, plan: Plan): Promise<readonly Credential[]> {
  const outcome = await store.execute(plan)
  return outcome.is === 'credentials' ? outcome.credentials : []
}

async function inForce(ring: Ring, name: string): Promise<readonly Credential[]> {
  return (await credentials(ring, { do: 'keys', name })).filter((one) => isInForce(one, ring.now))
}

type Terms = Holder & Pick<Credential, 'expires'>

async function issued(ring: Ring, name: string, terms: Terms, more: string): Promise<string> {
  const { service, store, given, now } = ring
  const [pepper] = peppersOf(service, store, true)
  const key = newKey()
  const { account, scopes, tier, features, expires } = terms
  const credential: Credential = {
    id: realWorld([]).newId('key'),
    name,
    hash: sealed(key, pepper as string),
    ...{ account, scopes, tier, features },
    created: now,
    expires,
    revoked: null,
  }
  const [made] = await credentials(ring, { do: 'issue', credential, most: mostOfName })
  if (!made)
    throw complaint(
      `Keys of the name ${name} were made at the same time.`,
      `See them with:  bylaw keys list ${ring.file}`,
    )
  if (given.on('json')) return JSON.stringify({ key, ...shown(made, now) }, null, 2)
  const rights =
    scopes.length === 0
      ? 'It has no scopes: it may do what is for everybody who is known.'
      : `It has ${oneOf(scopes, 'and')}.`
  return `${key}\n\nThis is the key ${name} (${made.id}), shown this once. ${rights}\nSend it as:  -H 'Authorization: Bearer ${key}'${more}`
}

function nameOf({ given }: Ring): string {
  const name = given.worth('name')?.text
  if (name !== undefined && /^[\w.@-]{1,100}$/.test(name)) return name
  throw complaint(
    name === undefined ? 'It is not said which key.' : `"${name}" is no name of a key.`,
    'Give one of letters, digits, dots and dashes, as in:  --name ci',
  )
}

function holderOf({ given, service }: Ring): Holder {
  const { scopes = {} } = service.declaration
  const tiers = [...(service.quotas?.tiers.keys() ?? [])]
  const known = (flag: string, names: readonly string[], one: string): string => {
    if (names.includes(one)) return one
    const guess = nearest(one, names)
    const there = names.length === 0 ? `${service.name} declares none.` : `There are ${oneOf(names, 'and')}.`
    throw complaint(`--${flag}: there is no "${one}".`, guess ? `Did you mean ${guess}?` : there)
  }
  const tier = given.worth('tier')?.text
  const account = given.worth('account')?.text ?? null
  if (account !== null && !isIdentity(account))
    throw complaint('--account has to be a text of at most 255 characters.', 'As in:  --account acc_1')
  return {
    account,
    scopes: [...new Set(words(given, 'scopes'))].map((one) => known('scopes', Object.keys(scopes), one)),
    tier: tier === undefined ? null : known('tier', tiers, tier),
    features: [...new Set(words(given, 'features'))],
  }
}

const words = (given: Given, flag: string): string[] =>
  (given.worth(flag)?.text ?? '').split(',').flatMap((word) => word.trim() || [])

function expiryOf({ given, now }: Ring): number | null {
  const text = given.worth('expires')?.text
  if (text === undefined) return null
  const length = milliseconds(text)
  const time =
    length === undefined ? (/^\d{4}-\d\d-\d\dT.*Z$/.test(text) ? Date.parse(text) : Number.NaN) : now + length
  if (time > now) return time
  throw complaint(
    `--expires has to be a duration or a time to come, not "${text}".`,
    'Give one as P90D or 2027-01-31T00:00:00Z.',
  )
}

/** A key as it is told: everything but what it is sealed as. */
function shown({ hash, created, expires, revoked, ...rest }: Credential, now: number) {
  const time = (value: number | null): string | null => (value === null ? null : new Date(value).toISOString())
  const state = revoked !== null ? 'revoked' : expires !== null && expires <= now ? 'expired' : 'in force'
  return { ...rest, state, created: new Date(created).toISOString(), expires: time(expires), revoked: time(revoked) }
}
