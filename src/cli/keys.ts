/** `bylaw keys`: creates, lists, revokes and rotates API keys. Part 5, authentication. */
import { randomBytes } from 'node:crypto'
import { issueKey, listKeys, revokeKeys } from '../auth/key-table.ts'
import { isInForce, mostKeysOfName, newApiKey, sealKey } from '../auth/keys.ts'
import { type Credential, type Holder, isIdentity } from '../flow/credential.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import { serviceWorld } from '../flow/world.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import type { Service } from '../service.ts'
import { actionOf, type Command, type CommandInput, declarationArgument, formatTable } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { peppersOf } from '../terminal/secrets.ts'
import { openStoreFor, openStoreUnchanged } from '../terminal/start.ts'

export const keysCommand: Command = {
  name: 'keys',
  about: 'Makes, lists, revokes or rotates API keys.',
  details:
    'create makes a key and shows it once. rotate makes another key of the same name, so that both are in force until the first ' +
    'is revoked. revoke disables keys permanently, on every node within a second.',
  arguments: [
    { name: 'create|list|revoke|rotate', about: 'an action: create, list, revoke or rotate' },
    declarationArgument,
  ],
  flags: {
    name: { value: 'NAME', about: 'The name of the key, usually that of its user.' },
    scopes: { value: 'A,B', isList: true, about: 'The scopes it has; none unless given.' },
    tier: { value: 'TIER', about: 'Its tier of quotas; the first one unless given.' },
    account: { value: 'ID', about: 'The account whose items it makes and sees.' },
    features: { value: 'A,B', isList: true, about: 'Its features, which can decide its version.' },
    expires: {
      value: 'T',
      about: 'When it expires: after a duration as P90D, or at a time as 2027-01-31T00:00:00Z; never unless given.',
    },
    id: { value: 'ID', about: 'The id of the key to revoke, if two have the same name.' },
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

interface KeysCommandContext {
  readonly input: CommandInput
  readonly file: string
  readonly service: Service
  readonly store: Store
  readonly now: number
}

const subcommands: Readonly<Record<string, (ring: KeysCommandContext) => Promise<string>>> = {
  create,
  list,
  revoke,
  rotate,
}

async function run(input: CommandInput): Promise<number> {
  const action = actionOf('keys', input, subcommands)
  const [, file = ''] = input.arguments
  const service = await loadService(file)
  const database = databaseOf(input, service)
  // The first key is often made before the first start.
  const isNew = action === create && process.env.NODE_ENV !== 'production'
  const store = await (isNew
    ? openStoreFor(service, database, 'apply', { asItIs: true })
    : openStoreUnchanged(service, database))
  try {
    console.log(await action({ input, file, service, store, now: store.clock.due() }))
    return 0
  } finally {
    await store.close()
  }
}

async function create(ring: KeysCommandContext): Promise<string> {
  const name = keyNameOf(ring)
  const [other] = await keysInForce(ring, name)
  if (other)
    throw commandError(
      `There is a key ${name} in force already (${other.id}).`,
      `Make one to replace it with:  bylaw keys rotate ${ring.file} --name ${name}`,
    )
  return makeKey(ring, name, { ...keyHolderOf(ring), expires: expiryOf(ring) }, '')
}

async function rotate(ring: KeysCommandContext): Promise<string> {
  const name = keyNameOf(ring)
  const [first, second] = await keysInForce(ring, name)
  if (!first)
    throw commandError(`No key ${name} is in force.`, `Make one with:  bylaw keys create ${ring.file} --name ${name}`)
  const ending = `bylaw keys revoke ${ring.file} --id ${first.id}`
  if (second) throw commandError(`Two keys ${name} are in force already.`, `Revoke the older one first:  ${ending}`)
  const lasts = first.expires === null ? null : ring.now + first.expires - first.created // with the lifetime of the old key
  return makeKey(
    ring,
    name,
    { ...first, expires: expiryOf(ring) ?? lasts },
    `\nThe former key is still in force. When it is no longer used:  ${ending}`,
  )
}

async function list(ring: KeysCommandContext): Promise<string> {
  const all = await listKeys(ring.store, ring.input.flagValue('name')?.text ?? null)
  if (ring.input.isOn('json'))
    return JSON.stringify(
      all.map((one) => keyJson(one, ring.now)),
      null,
      2,
    )
  if (all.length === 0) return `There are no keys. Make one with:  bylaw keys create ${ring.file} --name ci`
  const rows = all.map((one) => {
    const { id, name, state, scopes, tier, account, created, expires } = keyJson(one, ring.now)
    return [name, id, state, scopes.join(' ') || '-', tier ?? '-', account ?? '-', created, expires ?? 'never']
  })
  return formatTable([['name', 'id', 'state', 'scopes', 'tier', 'account', 'created', 'expires'], ...rows])
}

async function revoke(ring: KeysCommandContext): Promise<string> {
  const { input, now } = ring
  const id = input.flagValue('id')?.text
  const credentials = id === undefined ? await keysInForce(ring, keyNameOf(ring)) : await keyOfId(ring, id)
  if (credentials.length === 0)
    throw commandError(`No key ${keyNameOf(ring)} is in force.`, `See them with:  bylaw keys list ${ring.file}`)
  const ended = await revokeKeys(
    ring.store,
    credentials.map((one) => one.id),
    now,
  )
  if (input.isOn('json'))
    return JSON.stringify(
      ended.map((one) => keyJson(one, now)),
      null,
      2,
    )
  return ended.map((one) => `${one.id} (${one.name}) is revoked.`).join('\n')
}

async function keyOfId(ring: KeysCommandContext, id: string): Promise<readonly Credential[]> {
  const all = await listKeys(ring.store, null)
  const matches = all.filter((one) => one.id === id)
  const [one] = matches
  if (one?.revoked === null) return matches
  throw commandError(
    one ? `${id} was revoked already.` : `There is no key ${id}.`,
    `See them with:  bylaw keys list ${ring.file}`,
  )
}

async function keysInForce(ring: KeysCommandContext, name: string): Promise<readonly Credential[]> {
  return (await listKeys(ring.store, name)).filter((one) => isInForce(one, ring.now))
}

type KeyGrant = Holder & Pick<Credential, 'expires'>

async function makeKey(ring: KeysCommandContext, name: string, terms: KeyGrant, more: string): Promise<string> {
  const { service, store, input, now } = ring
  const [pepper] = peppersOf(service, store, true)
  const key = newApiKey(randomBytes(32))
  const { account, scopes, tier, features, expires } = terms
  const credential: Credential = {
    id: serviceWorld(realWorld, store).newId('key'),
    name,
    hash: sealKey(key, pepper as string),
    ...{ account, scopes, tier, features },
    created: now,
    expires,
    revoked: null,
  }
  if (!(await issueKey(store, credential, mostKeysOfName)))
    throw commandError(
      `Keys of the name ${name} were made at the same time.`,
      `See them with:  bylaw keys list ${ring.file}`,
    )
  if (pepper === store.secret) console.error(withoutPepperText)
  if (input.isOn('json')) return JSON.stringify({ key, ...keyJson(credential, now) }, null, 2)
  const rights =
    scopes.length === 0
      ? 'It has no scopes: it may do what is for all authenticated callers.'
      : `It has ${listInWords(scopes, 'and')}.`
  return `${key}\n\nThis is the key ${name} (${credential.id}), shown this once. ${rights}\nSend it as:  -H 'Authorization: Bearer ${key}'${more}`
}

const withoutPepperText =
  'There is no BYLAW_PEPPER, so the key is sealed with the secret of the database. With NODE_ENV=production, or once there is a pepper, it is refused: for a key that lasts, set BYLAW_PEPPER first, to what `openssl rand -base64 32` prints.'

function keyNameOf({ input }: KeysCommandContext): string {
  const name = input.flagValue('name')?.text
  if (name !== undefined && /^[\w.@-]{1,100}$/.test(name)) return name
  throw commandError(
    name === undefined ? 'The name of the key is missing.' : `"${name}" is not a valid name of a key.`,
    'Give one of letters, digits, dots and dashes, as in:  --name ci',
  )
}

function keyHolderOf({ input, service }: KeysCommandContext): Holder {
  const { scopes = {} } = service.declaration
  const tiers = [...(service.quotas?.tiers.keys() ?? [])]
  const knownName = (flag: string, names: readonly string[], one: string): string => {
    if (names.includes(one)) return one
    const guess = nearestName(one, names)
    const there = names.length === 0 ? `${service.name} declares none.` : `There are ${listInWords(names, 'and')}.`
    throw commandError(`--${flag}: there is no "${one}".`, guess ? `Did you mean ${guess}?` : there)
  }
  const tier = input.flagValue('tier')?.text
  const account = input.flagValue('account')?.text ?? null
  if (account !== null && !isIdentity(account))
    throw commandError('--account has to be a text of at most 255 characters.', 'As in:  --account acc_1')
  return {
    account,
    scopes: [...new Set(listFlag(input, 'scopes'))].map((one) => knownName('scopes', Object.keys(scopes), one)),
    tier: tier === undefined ? null : knownName('tier', tiers, tier),
    features: [...new Set(listFlag(input, 'features'))],
  }
}

const listFlag = (input: CommandInput, flag: string): string[] =>
  (input.flagValue(flag)?.text ?? '').split(',').flatMap((word) => word.trim() || [])

function expiryOf({ input, now }: KeysCommandContext): number | null {
  const text = input.flagValue('expires')?.text
  if (text === undefined) return null
  const length = durationMilliseconds(text)
  const time =
    length === undefined ? (/^\d{4}-\d\d-\d\dT.*Z$/.test(text) ? Date.parse(text) : Number.NaN) : now + length
  if (time > now) return time
  throw commandError(
    `--expires has to be a duration or a time in the future, not "${text}".`,
    'Give one as P90D or 2027-01-31T00:00:00Z.',
  )
}

/** A key as it is printed, without its hash. */
function keyJson({ hash, created, expires, revoked, ...rest }: Credential, now: number) {
  const time = (value: number | null): string | null => (value === null ? null : new Date(value).toISOString())
  const state = revoked !== null ? 'revoked' : expires !== null && expires <= now ? 'expired' : 'in force'
  return { ...rest, state, created: new Date(created).toISOString(), expires: time(expires), revoked: time(revoked) }
}
