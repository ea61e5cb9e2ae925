/** `bylaw erase`: empties the personal fields of an item, wherever the service stores their values. Part 8. */
import { findGivenUp, forgetContent } from '../files/file-table.ts'
import type { RowKey } from '../flow/found-row.ts'
import { type ErasedKind, rowsIn } from '../flow/outcome.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { type ContentStore, serviceWorld } from '../flow/world.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { isPostgresUrl, withoutPassword } from '../postgres/connection-url.ts'
import type { Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { scrubSqlite } from '../sqlite/scrub.ts'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { accountOf, databaseFlag, databaseOf, filesFlag } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { cursorSecretsOf } from '../terminal/secrets.ts'
import { asCommandError, openContentsFor, openStoreFor } from '../terminal/start.ts'
import { canErase, type Erasure, eraseItem } from './erase-item.ts'
import type { Counts, ErasedItem, ErasureContext, ErasureKind } from './erasure-context.ts'

export const eraseCommand: Command = {
  name: 'erase',
  about: 'Empties the personal fields of an item, wherever their values are stored.',
  details:
    'It works on the database; the service need not run, but may. It empties the fields that are declared with `personal: true` in ' +
    'the item, in those that a removal of it would take along, and in their revisions, events, deliveries, kept answers, operations ' +
    'and files; ids and times stay. A removed item is erased too. After a failure, run it again: it goes on, and says when nothing is left.',
  arguments: [
    declarationArgument,
    { name: 'resource', about: 'the name of the resource' },
    { name: 'id', about: 'the id of the item' },
  ],
  flags: {
    database: databaseFlag,
    files: filesFlag,
    account: { value: 'ID', about: 'The account of the item; "development", as in dev, unless given.' },
    parent: { value: 'ID', about: 'The id of the item that it belongs to, if only both ids together name it.' },
    'dry-run': { about: 'Says what would be emptied, and changes nothing.' },
  },
  examples: [
    'bylaw erase api.ts customers cus_01h455vb4pex5vsknk084sn02q',
    'bylaw erase api.ts customers cus_1 --account acc_1 --dry-run',
  ],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [declaration = '', name = '', id = ''] = input.arguments
  const service = await loadService(declaration)
  const resource = erasableResource(service, name, declaration)
  const key = keyOf(resource, id, input)
  const database = databaseOf(input, service)
  const isDry = input.isOn('dry-run')
  const contents = await openContentsFor(service, database, input.flagValue('files')?.text, 'require')
  const store = await openStoreFor(service, database, 'require')
  let erasure: Erasure
  let left: LeftContents = { missing: 0, failure: null }
  try {
    const world = serviceWorld(realWorld, store, cursorSecretsOf(store), contents)
    const item = { resource, key }
    const erase = (context: Pick<ErasureContext, 'isDry'>) =>
      asCommandError(() => eraseItem({ service, store, world, ...context }, item))
    const { is } = await store.execute({ do: 'read', collection: resource.name, key, time: world.now() })
    if (is === 'missing') checkRecorded(await erase({ isDry: true }), item, await hasNoOwner(store, item))
    erasure = await erase({ isDry })
    if (contents && !isDry) left = await removeGivenUp(store, contents)
  } finally {
    await store.close()
  }
  if (!isDry && !isPostgresUrl(database)) scrubSqlite(database, realWorld)
  return report(`${withoutPassword(database)}: ${name} ${id}`, { ...erasure, ...left }, isDry)
}

/** Whether the id is unique and no account has an item with it, so that its idempotency keys are those of an item that is gone. */
async function hasNoOwner(store: Store, { resource: { name, collection }, key }: ErasedItem): Promise<boolean> {
  if (!collection.uniques.some(({ fields, columns }) => fields.length === 0 && columns.join() === 'id')) return false
  const holders = await store.execute({ do: 'whose', collection: name, key })
  return holders.is === 'whose' && holders.accounts.length === 0
}

/**
 * Refuses an item of which nothing was ever stored, before anything is emptied: its id or its account is a mistake. Idempotency keys
 * are found by the id alone: they are evidence only if they cannot belong to an item of another account.
 */
function checkRecorded(
  { counts }: Erasure,
  { resource: { name, collection }, key }: ErasedItem,
  isUnowned: boolean,
): void {
  const kinds = new Set([...counts.values()].flatMap((own) => [...own.keys()]))
  const hasKeys = kinds.has(ofAnyAccount)
  if (collection.account !== null && !isUnowned) kinds.delete(ofAnyAccount)
  if (kinds.size > 0) return
  const whose = collection.account === null ? '' : ` of the account "${key.account}"`
  const stay = hasKeys ? ' Idempotency keys with its id stay, as they may be those of an item of another account.' : ''
  throw commandError(
    `There is no item ${key.id} in ${name}${whose}, and nothing is recorded of one.${stay}`,
    collection.account === null ? 'Look at its id.' : 'Look at its id, and name its account:  --account ID',
  )
}

const ofAnyAccount: ErasedKind = 'idempotency keys'

/** Contents that were given up and are still there. */
interface LeftContents {
  /** How many are not in this place, which may be the wrong one. The service removes them from the right place within a day. */
  readonly missing: number
  /** Why a content could not be removed; later ones were not tried. */
  readonly failure: string | null
}

async function removeGivenUp(store: Store, contents: ContentStore): Promise<LeftContents> {
  let missing = 0
  for (const { name } of rowsIn(await store.execute(tablePlan(findGivenUp, { none: 0 })))) {
    let isThere: boolean
    try {
      isThere = (await contents.length(String(name))) !== null
      if (isThere) await contents.remove(String(name)) // before its record, so that no content is left without one
    } catch (error) {
      return { missing, failure: (error as Error).message }
    }
    if (isThere) await store.execute(tablePlan(forgetContent, { name: String(name), time: 0 }))
    else missing++
  }
  return { missing, failure: null }
}

function erasableResource(service: Service, name: string, declaration: string): Resource {
  const able = [...service.resources.values()].filter((one) => canErase(service, one))
  const resource = able.find((one) => one.name === name)
  if (resource) return resource
  if (service.resources.has(name))
    throw commandError(
      `${name} have no personal fields, and no items with such fields belong to them.`,
      `Write personal: true at fields in resources.${name} of ${declaration}.`,
    )
  const guess = nearestName(
    name,
    able.map((one) => one.name),
  )
  const all =
    able.length === 0
      ? 'No field is declared with personal: true.'
      : `Those with personal fields are ${listInWords(
          able.map((one) => one.name),
          'and',
        )}.`
  throw commandError(`There is no resource "${name}".`, guess ? `Did you mean ${guess}?` : all)
}

function keyOf({ name, collection, parent, isId }: Resource, id: string, input: CommandInput): RowKey {
  if (!isId(id)) throw commandError(`"${id}" is no id of an item of ${name}.`, 'Write it as the item has it.')
  const owner = input.flagValue('parent')?.text ?? null
  if (collection.composite && owner === null)
    throw commandError(
      `${name} are named by their id and that of an item of ${parent?.resource}.`,
      'Name it:  --parent ID',
    )
  if (!collection.composite && owner !== null)
    throw commandError(`The id of one of ${name} is enough to name it.`, 'Leave --parent out.')
  const account = accountOf(input)
  return { id, parent: owner, account: collection.account === null ? null : account }
}

/** One line for each resource. */
const countsIn = ({ counts }: Erasure): readonly string[] =>
  [...counts].flatMap(([name, own]) => (own.size === 0 ? [] : [`  ${name}: ${countsInWords(own)}`]))

const singular: Readonly<Record<ErasureKind, string>> = {
  ...{
    events: 'event',
    revisions: 'revision',
    'idempotency keys': 'idempotency key',
    'dropped values': 'dropped value',
  },
  ...{ deliveries: 'delivery', operations: 'operation', files: 'file', reasons: 'reason', items: 'item' },
}

const countsInWords = (counts: Counts): string =>
  listInWords(
    [...counts].map(([kind, count]) => `${count} ${count === 1 ? singular[kind] : kind}`),
    'and',
  )

function report(what: string, erasure: Erasure & LeftContents, isDry: boolean): number {
  const lines = countsIn(erasure)
  const verb = isDry ? 'would be emptied' : 'is emptied'
  console.log(lines.length === 0 ? `${what}: nothing is left to erase.` : [`${what} ${verb}.`, ...lines].join('\n'))
  const { unended, missing, failure } = erasure
  const left = [
    ...(unended.length === 0
      ? []
      : [
          `Operations that have not ended keep their inputs: ${unended.join(', ')}. Cancel them or wait, and run this again.`,
        ]),
    ...(missing === 0
      ? []
      : [
          `${missing} contents of files are not in the place of files. Name the one that the service has, with --files, and run this again.`,
        ]),
    ...(failure === null ? [] : [`Contents of files could not be removed: ${failure} Run this again once they can.`]),
  ]
  for (const line of left) console.error(line)
  return left.length === 0 ? 0 : 1
}
