/** `bylaw migrate`: shows, writes down and carries out what the database lacks of the declaration. The cellar. */

import { isPostgres, withoutPassword } from '../postgres/address.ts'
import { nearest, oneOf } from '../resources/naming.ts'
import { hazardText } from '../schema/hazard.ts'
import type { Fate, Migration, Plan } from '../schema/state.ts'
import type { Step } from '../schema/step.ts'
import { type Target, targets } from '../schema/target.ts'
import type { Service } from '../service.ts'
import { type Command, declarationFile, type Given } from '../terminal/command.ts'
import { complaint } from '../terminal/complaint.ts'
import { agreed, allowLossFlag, consentOf } from '../terminal/consent.ts'
import { keepInFlag } from '../terminal/keep.ts'
import { load } from '../terminal/load.ts'
import { allowMisfitsFlag } from '../terminal/misfits.ts'
import { databaseFlag, databaseOf, plansFlag, plansOfFolder } from '../terminal/place.ts'
import { pendingOf, plansIn, written } from '../terminal/plans.ts'
import { callersLeft } from '../terminal/retired.ts'
import { migrationOf, plansOf } from '../terminal/start.ts'

export const migrate: Command = {
  name: 'migrate',
  about: 'Shows, writes down, carries out or looks for what a database lacks of a declaration.',
  details:
    'plan prints the statements; with --name it writes them into files, to be reviewed and kept with the declaration. ' +
    'apply carries the files out in order or, where there are none, the statements themselves. What would break nodes of the ' +
    'declaration before waits until these are gone. status names what is missing and exits with 1 if there is something. undrop puts values back that were dropped with ' +
    '--allow-loss, where their fields are declared again and were not written since.',
  arguments: [
    { name: 'plan|apply|status|undrop', about: 'a word for what to do: plan, apply, status or undrop' },
    declarationFile,
  ],
  flags: {
    database: databaseFlag,
    name: { value: 'N', about: 'Writes the plan into files of this name, as add-status.' },
    target: { value: 'T', about: `What a plan is written for: ${oneOf(targets)}; the database unless given.` },
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

interface Work {
  readonly service: Service
  readonly file: string
  /** As it is shown. */
  readonly database: string
  readonly kind: Target
  readonly folder: string
  readonly migration: Migration
}

const deeds: Readonly<Record<string, (work: Work) => number | Promise<number>>> = { plan, apply, status, undrop }

async function run(given: Given): Promise<number> {
  const [word = '', file = ''] = given.arguments
  const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
  if (!deed) {
    const guess = nearest(word, Object.keys(deeds))
    throw complaint(
      `bylaw migrate cannot "${word}".`,
      guess ? `Did you mean \`bylaw migrate ${guess}\`?` : 'It can plan, apply, status and undrop.',
    )
  }
  const service = await load(file)
  const [database, folder, name] = [databaseOf(given, service), plansOfFolder(given, file), given.worth('name')?.text]
  const target = targetOf(given, database)
  if (word === 'plan' && name !== undefined) return writeDown(service, target, folder, name)
  return agreed({ ...consentOf(given), surveys: [callersLeft(service)] }, async (consent) => {
    const migration = await migrationOf(service, database, consent)
    const work = { service, file, database: withoutPassword(database), kind: kindOf(database), folder, migration }
    try {
      return await deed(work)
    } finally {
      migration.close()
    }
  })
}

const kindOf = (database: string): Target => (isPostgres(database) ? 'postgres' : 'sqlite')

function targetOf(given: Given, database: string): Target {
  const { text, from } = given.worth('target') ?? { text: kindOf(database), from: '' }
  const target = targets.find((one) => one === text)
  if (target) return target
  const guess = nearest(text, targets)
  throw complaint(`${from} has to be ${oneOf(targets)}, not "${text}".`, guess ? `Did you mean ${guess}?` : '')
}

async function writeDown(service: Service, target: Target, folder: string, name: string): Promise<number> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || name.length > 60)
    throw complaint(
      `A plan cannot be named "${name}".`,
      'Give it up to 60 small letters, digits and dashes, as add-status.',
    )
  const plans = await plansOf(service, target, plansIn(folder))
  if (plans.length === 0) return said(`The plans in ${folder} lead to what is declared; there is nothing to write.`)
  const named = plans.map((one) => ({ ...one, name: one.phase === 'expand' ? name : `${name}-finish` }))
  const files = written(folder, named)
  return said(files.map((path, i) => `wrote ${path}: ${summary(named[i] as Plan)}`).join('\n'))
}

const summary = ({ phase, steps }: Pick<Plan, 'phase' | 'steps'>): string =>
  `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}, ${phase === 'expand' ? 'safe while nodes of before run' : 'when no node of before runs any more'}`

async function plan({ database, migration: { steps, survey } }: Work): Promise<number> {
  const hazards = (await survey()).map(hazardText).join('\n')
  if (hazards !== '') said(comment(`The declaration is refused as it is, because:\n${hazards}\n`))
  if (steps.length > 0) said(steps.map(textOf).join('\n\n'))
  else if (hazards === '') said(`${database} is as declared; there is nothing to do.`)
  return hazards === '' ? 0 : 1
}

const comment = (text: string): string => text.replaceAll(/^(?=.)/gm, '-- ')

function textOf({ about, phase, sql }: Step): string {
  const waits = phase === 'contract' ? ', when no node of the declaration before runs' : ''
  return [`-- ${about}${waits}`, ...sql.map((text) => `${text};`)].join('\n')
}

async function apply(work: Work): Promise<number> {
  const { service, file, database, kind, folder, migration } = work
  const plans = plansIn(folder)
  const other = plans.find(({ target }) => (target === 'sqlite') !== (kind === 'sqlite'))
  if (other)
    throw complaint(
      `Plan ${title(other)} is written for ${other.target}, and ${database} is none.`,
      'Keep the plans of another database in a folder of their own, and name it with --plans.',
    )
  if (plans.length > 0) {
    if ((await plansOf(service, kind, plans)).length > 0)
      throw complaint(
        `The plans in ${folder} do not lead to what ${file} declares.`,
        `Write the rest down first:  bylaw migrate plan ${file} --name what-changes`,
      )
    return carried(work, pendingOf(plans, await migration.ledger(), folder))
  }
  const { done, left, waitsFor } = await migration.apply()
  const list = done.map(({ about }) => `done: ${about}`)
  if (left.length > 0) return said([...list, waiting(waitsFor), ...left.map(({ about }) => `  - ${about}`)].join('\n'))
  if (done.length === 0) return said(`${database} is as declared; nothing was done.`)
  return said([...list, `${database} is as declared.`].join('\n'))
}

async function carried({ database, migration }: Work, plans: readonly Plan[]): Promise<number> {
  if (plans.length === 0) await migration.admit()
  for (const plan of plans) {
    const carried = await migration.carry(plan)
    if (carried.is === 'waiting') return said([waiting(carried.waitsFor), `  - ${title(plan)}`].join('\n'))
    said(carried.is === 'done' ? `done: ${title(plan)}` : `was done already: ${title(plan)}`)
  }
  return said(plans.length === 0 ? `${database} is as planned; nothing was done.` : `${database} is as planned.`)
}

const title = ({ number, name }: Plan): string => `${String(number).padStart(4, '0')} ${name}`

const waiting = (nodes: readonly string[]): string =>
  `These nodes run the declaration of before: ${nodes.join(', ')}. Start them with the new one, then run this command again. It waits with:`

async function status({ database, folder, migration }: Work): Promise<number> {
  const plans = plansIn(folder)
  const pending = plans.length > 0 ? pendingOf(plans, await migration.ledger(), folder).map(title) : []
  const missing = pending.length > 0 ? pending : migration.steps.map(({ about }) => about)
  if (missing.length === 0) return said(`${database} is as declared.`)
  said([`${database} is not as declared. Missing:`, ...missing.map((one) => `  - ${one}`)].join('\n'))
  return 1
}

async function undrop({ database, migration }: Work): Promise<number> {
  const fates = await migration.undrop()
  const all = Map.groupBy(fates, ({ field, because }) => (because === null ? field : `${field} ${because}`))
  const lines = [...all.values()].map((some) => {
    const [{ field, because }] = some as [Fate, ...Fate[]]
    const values = some.length === 1 ? '1 value' : `${some.length} values`
    const ids = some.slice(0, mostNamed).map(({ id }) => id)
    const more = some.length > mostNamed ? ', …' : ''
    return because === null
      ? `put back: ${values} of ${field}`
      : `left: ${values} of ${field}, as it ${because} (${ids.join(', ')}${more})`
  })
  return said(lines.length === 0 ? `No dropped values are kept in ${database}.` : lines.join('\n'))
}

const mostNamed = 3

function said(text: string): number {
  console.log(text)
  return 0
}
