/** `bylaw migrate`: plans, applies and reports schema changes, and restores dropped values. The store. */

import { realWorld } from '../flow/real-world.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { isPostgresUrl, withoutPassword } from '../postgres/connection-url.ts'
import type { Resource } from '../resources/resource.ts'
import { hazardText } from '../schema/hazard.ts'
import { type Migration, type MigrationPlan, noTablesText, type UndropResult } from '../schema/migration.ts'
import { type OtherNode, presenceTimeout } from '../schema/presence.ts'
import type { SchemaStep } from '../schema/step.ts'
import { type Target, targets } from '../schema/target.ts'
import type { Service } from '../service.ts'
import { actionOf, type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { allowLossFlag, allowMisfitsFlag, consentOf, withConsent } from '../terminal/consent.ts'
import { keepInFlag } from '../terminal/dropped-values.ts'
import { databaseFlag, databaseOf, plansFlag, plansFolderOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { pendingPlans, readPlans, writePlans } from '../terminal/plans.ts'
import { retirementSurvey } from '../terminal/retirement.ts'
import { draftPlans, openMigrationFor } from '../terminal/start.ts'
import { dueAtOnce } from '../timers/adopt-timers.ts'

export const migrateCommand: Command = {
  name: 'migrate',
  about: 'Plans, applies or checks the changes of a database to a declaration, or restores dropped values.',
  details:
    'plan prints the statements; with --name it writes them into files, to be reviewed and kept with the declaration. ' +
    'apply carries the files out in order or, if there are none, the statements themselves. Steps that would break nodes of ' +
    'the former declaration wait until these have stopped; apply exits with 2 then. status lists missing steps and exits with 1 if there are any. undrop restores values that were dropped with ' +
    '--allow-loss, if their fields are declared again and were not written since.',
  arguments: [
    { name: 'plan|apply|status|undrop', about: 'an action: plan, apply, status or undrop' },
    declarationArgument,
  ],
  flags: {
    database: databaseFlag,
    name: { value: 'N', about: 'Writes the plan into files of this name, as add-status.' },
    target: {
      value: 'T',
      about: `The kind of database that a plan is for: ${listInWords(targets)}; that of --database unless given.`,
    },
    plans: plansFlag,
    'allow-loss': allowLossFlag,
    'allow-misfits': allowMisfitsFlag,
    'keep-in': keepInFlag,
  },
  examples: [
    'bylaw migrate plan api.ts --database sqlite:./data/orders.db',
    'bylaw migrate plan api.ts --name add-status',
    'bylaw migrate apply api.ts --database sqlite:./data/orders.db',
    'bylaw migrate status api.ts --database sqlite:./data/orders.db',
    'bylaw migrate apply api.ts --allow-loss orders.note',
    'bylaw migrate undrop api.ts --database sqlite:./data/orders.db',
  ],
  run,
}

interface MigrateCommandContext {
  readonly service: Service
  readonly file: string
  /** Without its password. */
  readonly database: string
  readonly kind: Target
  readonly folder: string
  readonly migration: Migration
}

const subcommands: Readonly<Record<string, (work: MigrateCommandContext) => number | Promise<number>>> = {
  plan,
  apply,
  status,
  undrop,
}

async function run(input: CommandInput): Promise<number> {
  const action = actionOf('migrate', input, subcommands)
  const [, file = ''] = input.arguments
  const service = await loadService(file)
  const [database, folder, name] = [
    databaseOf(input, service),
    plansFolderOf(input, file),
    input.flagValue('name')?.text,
  ]
  const target = targetOf(input, database)
  if (action === plan && name !== undefined) return writeNewPlans(service, target, folder, name)
  return withConsent({ ...consentOf(input), surveys: [retirementSurvey(service)] }, async (consent) => {
    const migration = await openMigrationFor(service, database, action === apply ? 'apply' : 'require', consent)
    const work = { service, file, database: withoutPassword(database), kind: databaseKind(database), folder, migration }
    try {
      return await action(work)
    } finally {
      migration.close()
    }
  })
}

const databaseKind = (database: string): Target => (isPostgresUrl(database) ? 'postgres' : 'sqlite')

function targetOf(input: CommandInput, database: string): Target {
  const { text, from } = input.flagValue('target') ?? { text: databaseKind(database), from: '' }
  const target = targets.find((one) => one === text)
  if (target) return target
  const guess = nearestName(text, targets)
  throw commandError(`${from} has to be ${listInWords(targets)}, not "${text}".`, guess ? `Did you mean ${guess}?` : '')
}

async function writeNewPlans(service: Service, target: Target, folder: string, name: string): Promise<number> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || name.length > 60)
    throw commandError(
      `A plan cannot be named "${name}".`,
      'Give it up to 60 small letters, digits and dashes, as add-status.',
    )
  const plans = await draftPlans(service, target, readPlans(folder))
  if (plans.length === 0)
    return print(`The plans in ${folder} already lead to the declaration; there is nothing to write.`)
  const named = plans.map((one) => ({ ...one, name: one.phase === 'expand' ? name : `${name}-finish` }))
  const files = writePlans(folder, named)
  return print(files.map((path, i) => `wrote ${path}: ${summary(named[i] as MigrationPlan)}`).join('\n'))
}

const summary = ({ phase, steps }: Pick<MigrationPlan, 'phase' | 'steps'>): string =>
  `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}, ${phase === 'expand' ? 'safe while old nodes run' : 'after all old nodes have stopped'}`

async function plan(work: MigrateCommandContext): Promise<number> {
  const { database, migration } = work
  const { steps, survey, others } = migration
  if (others?.length) print(comment(`${database}:${otherTablesText(others)}\n`))
  const hazards = (await survey()).map(hazardText).join('\n')
  if (hazards !== '') print(comment(`The declaration would be refused, because:\n${hazards}\n`))
  if (steps.length > 0) print([...steps.map(stepSql), ...(await dueTexts(work))].join('\n\n'))
  else if (hazards === '') print(`${database} is as declared; there is nothing to do.`)
  return hazards === '' ? 0 : 1
}

/** How many items are due for a transition by the clock as soon as it begins. R223. */
async function dueTexts({ service, migration: { steps, inspect } }: MigrateCommandContext): Promise<string[]> {
  const begun = new Set(steps.flatMap(({ timers }) => timers ?? []))
  if (begun.size === 0) return []
  const counts = new Map<string, number>()
  const now = realWorld.now()
  await inspect(({ collection: { name }, ...row }) => {
    const due = begun.has(name) ? dueAtOnce(service.resources.get(name) as Resource, row, now) : []
    for (const one of due) counts.set(`${one.name} of ${name}`, (counts.get(`${one.name} of ${name}`) ?? 0) + 1)
  })
  return [...counts].map(([name, count]) => `-- due at once for ${name}: ${count} ${count === 1 ? 'item' : 'items'}`)
}

/** A hint that another database may be meant. */
const otherTablesText = (others: Migration['others']): string =>
  others?.length ? ` ${noTablesText(others, 'The tables of the service are made beside these.')}` : ''

const comment = (text: string): string => text.replaceAll(/^(?=.)/gm, '-- ')

function stepSql({ about, phase, sql }: SchemaStep): string {
  const waits = phase === 'contract' ? ', after all nodes of the former declaration have stopped' : ''
  return [`-- ${about}${waits}`, ...sql.map((text) => `${text};`)].join('\n')
}

async function apply(work: MigrateCommandContext): Promise<number> {
  const { service, file, database, kind, folder, migration } = work
  const plans = readPlans(folder)
  const other = plans.find(({ target }) => (target === 'sqlite') !== (kind === 'sqlite'))
  if (other)
    throw commandError(
      `Plan ${planTitle(other)} is written for ${other.target}, but ${database} is not.`,
      'Keep the plans of another database in a folder of their own, and name it with --plans.',
    )
  if (migration.others?.length) print(`${database}:${otherTablesText(migration.others)}`)
  if (plans.length > 0) {
    if ((await draftPlans(service, kind, plans)).length > 0)
      throw commandError(
        `The plans in ${folder} do not lead to what ${file} declares.`,
        `Write the missing plan first:  bylaw migrate plan ${file} --name what-changes`,
      )
    return applyPlans(work, pendingPlans(plans, await migration.appliedPlans(), folder))
  }
  const { done, left, waitsFor } = await migration.apply()
  const list = done.map(({ about }) => `done: ${about}`)
  if (left.length > 0) {
    print([...list, waitingText(waitsFor), ...left.map(({ about }) => `  - ${about}`)].join('\n'))
    return waitingCode
  }
  if (done.length === 0) return print(`${database} is as declared; nothing was done.`)
  return print([...list, `${database} is as declared.`].join('\n'))
}

async function applyPlans(
  { database, migration }: MigrateCommandContext,
  plans: readonly MigrationPlan[],
): Promise<number> {
  if (plans.length === 0) await migration.admit()
  for (const plan of plans) {
    const carried = await migration.applyPlan(plan)
    if (carried.is === 'waiting') {
      print([waitingText(carried.waitsFor), `  - ${planTitle(plan)}`].join('\n'))
      return waitingCode
    }
    print(carried.is === 'done' ? `done: ${planTitle(plan)}` : `was done already: ${planTitle(plan)}`)
  }
  return print(plans.length === 0 ? `${database} is as planned; nothing was done.` : `${database} is as planned.`)
}

const planTitle = ({ number, name }: MigrationPlan): string => `${String(number).padStart(4, '0')} ${name}`

/** The exit code while steps wait for nodes: new nodes may start, but the command has to run again. */
const waitingCode = 2

const waitingText = (nodes: readonly string[]): string =>
  `These nodes run the former declaration: ${nodes.join(', ')}. Start them with the new one, then run this command again. ${lostText} Waiting steps:`

const lostText = `A node that was killed counts as stopped ${presenceTimeout / 1000} seconds after its last report.`

/** Why the second phase has not begun, and what ends that. */
function waitsText(nodes: readonly OtherNode[]): string {
  const [lost, running] = [true, false].map((isLost) => nodes.filter((one) => one.silent >= presenceTimeout === isLost))
  const named = (some: readonly OtherNode[] = []) =>
    some
      .map(({ node, silent }) => `${node} (reported ${Math.max(0, Math.round(silent / 1000))} seconds ago)`)
      .join(', ')
  const why = running?.length
    ? `These steps wait for nodes of the former declaration: ${named(running)}. Start them with the new one. ${lostText} Then`
    : `No node of the former declaration runs${lost?.length ? `; lost: ${named(lost)}` : ''}. Now`
  return `${why} run \`bylaw migrate apply\`. Until it is done, new transitions answer 503, and new totals are null.`
}

async function status({ database, folder, migration }: MigrateCommandContext): Promise<number> {
  const plans = readPlans(folder)
  const pending = plans.length > 0 ? pendingPlans(plans, await migration.appliedPlans(), folder).map(planTitle) : []
  const missing = pending.length > 0 ? pending : migration.steps.map(({ about }) => about)
  if (missing.length === 0) return print(`${database} is as declared.`)
  const isBetween = migration.steps.length > 0 && migration.steps.every(({ phase }) => phase === 'contract')
  const waits = isBetween ? [waitsText(await migration.otherNodes())] : []
  const head = `${database} is not as declared.${otherTablesText(migration.others)} Missing:`
  print([head, ...missing.map((one) => `  - ${one}`), ...waits].join('\n'))
  return 1
}

async function undrop({ database, migration }: MigrateCommandContext): Promise<number> {
  const results = await migration.undrop()
  const all = Map.groupBy(results, ({ field, because }) => (because === null ? field : `${field} ${because}`))
  const lines = [...all.values()].map((some) => {
    const [{ field, because }] = some as [UndropResult, ...UndropResult[]]
    const values = some.length === 1 ? '1 value' : `${some.length} values`
    const ids = some.slice(0, maxNamed).map(({ id }) => id)
    const more = some.length > maxNamed ? ', …' : ''
    return because === null
      ? `restored: ${values} of ${field}`
      : `not restored: ${values} of ${field}, as it ${because} (${ids.join(', ')}${more})`
  })
  return print(lines.length === 0 ? `No dropped values are kept in ${database}.` : lines.join('\n'))
}

const maxNamed = 3

function print(text: string): number {
  console.log(text)
  return 0
}
