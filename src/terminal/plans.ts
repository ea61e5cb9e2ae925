/** Plans: reads and writes the reviewed files of schema changes. The store. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MigrationPlan } from '../schema/migration.ts'
import type { AppliedPlan } from '../schema/state.ts'
import type { Refill, SchemaStep, StepPhase } from '../schema/step.ts'
import { type Target, targets } from '../schema/target.ts'
import { commandError } from './command-error.ts'

const planFileName = /^(\d{4})-([a-z0-9-]+)\.sql$/
const phaseNotes: Readonly<Record<StepPhase, string>> = {
  expand: 'Safe while nodes of the former declaration run.',
  contract: 'Only after all nodes of the former declaration have stopped; `bylaw migrate apply` waits for that.',
}

const isTarget = (name: string): name is Target => (targets as readonly string[]).includes(name)

/** The `-- do:` lines of a step: how its statements are run, and the work that is not a statement. */
function directivesOf({ apart, guards, fill, empty, still }: SchemaStep): string[] {
  return [
    ...(empty ? [`only if ${empty} is empty`] : []),
    ...(still ? ['only while no node runs'] : []),
    ...(guards ? ['guard'] : []),
    ...(apart ? ['apart'] : []),
    ...(fill ? [fillText(fill)] : []),
  ]
}

const fillWords = ['again', 'ahead', 'latest'] as const

const fillText = (fill: Refill): string =>
  [fill.reserves ? 'reserve' : 'refill', fill.collection, ...fillWords.filter((word) => fill[word])].join(' ')

function readDirectives(words: readonly string[], place: string): Partial<SchemaStep> {
  return Object.assign({}, ...words.map((word) => readDirective(word, place)))
}

function readDirective(word: string, place: string): Partial<SchemaStep> {
  const empty = /^only if (\S+) is empty$/.exec(word)?.[1]
  const [, deed, collection, more = ''] = /^(refill|reserve) (\S+)((?: (?:again|ahead|latest))*)$/.exec(word) ?? []
  if (empty) return { empty }
  if (collection)
    return {
      fill: {
        collection,
        again: more.includes('again'),
        ...(more.includes('ahead') && { ahead: true }),
        ...(more.includes('latest') && { latest: true }),
        ...(deed === 'reserve' && { reserves: true }),
      },
    }
  if (word === 'only while no node runs') return { still: true }
  if (word === 'guard') return { guards: true }
  if (word === 'apart') return { apart: true }
  throw commandError(
    `${place} says "-- do: ${word}", which is not known.`,
    'Restore that line as it was written, or write the plan again with `bylaw migrate plan --name`.',
  )
}

function planText({ number, name, phase, target, from, to, steps }: Omit<MigrationPlan, 'checksum'>): string {
  const parts = steps.map((step) =>
    [
      `-- step: ${step.about}`,
      `--   ${step.note}`,
      ...directivesOf(step).map((deed) => `-- do: ${deed}`),
      ...step.sql.map((text) => `${text};`),
    ].join('\n'),
  )
  const head = [
    `-- plan ${number}: ${name}, ${phase}, for ${target}`,
    `-- ${phaseNotes[phase]}`,
    `-- from: ${from ?? 'nothing'}`,
  ]
  return `${[head.join('\n'), ...parts, `-- to: ${JSON.stringify(to)}`].join('\n\n')}\n`
}

/** Parses the file of a plan. A statement ends at a semicolon at the end of a line. */
function parsePlan(text: string, file: string): MigrationPlan {
  const [, number = '', name = ''] = planFileName.exec(file) ?? []
  const [, own, title, phase, target = ''] =
    /^-- plan (\d+): ([a-z0-9-]+), (expand|contract), for (\w+)$/m.exec(text) ?? []
  const from = /^-- from: (\S+)$/m.exec(text)?.[1]
  const to = /^-- to: (\{.*\})$/m.exec(text)?.[1]
  if (Number(own) !== Number(number) || title !== name || from === undefined || to === undefined || !isTarget(target))
    throw commandError(
      `${file} is not a plan of that name: its first lines, or the last one, were changed.`,
      'Restore the file as it was written, or write the plan again with `bylaw migrate plan --name`.',
    )
  const body = text.slice(0, text.indexOf('\n-- to: '))
  const steps = body
    .split(/^-- step: /m)
    .slice(1)
    .map((part) => parseStep(part, phase as StepPhase, file))
  return {
    number: Number(number),
    name,
    phase: phase as StepPhase,
    target,
    from: from === 'nothing' ? null : from,
    to: JSON.parse(to),
    steps,
    checksum: createHash('sha256').update(text).digest('hex'),
  }
}

function parseStep(part: string, phase: StepPhase, file: string): SchemaStep {
  const [about = '', ...lines] = part.trimEnd().split('\n')
  const deeds = lines.flatMap((line) => /^-- do: (.*)$/.exec(line)?.[1] ?? [])
  const statements = lines
    .filter((line) => !line.startsWith('--'))
    .join('\n')
    .split(/;\s*$/m)
  const sql = statements.map((one) => one.trim()).filter((one) => one !== '')
  return { about, phase, note: '', sql, ...readDirectives(deeds, file) }
}

/** All plans of a folder, in order; throws if their numbers have a gap or repeat. */
export function readPlans(folder: string): MigrationPlan[] {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  const plans = files.map((file) => {
    if (planFileName.test(file)) return parsePlan(readFileSync(join(folder, file), 'utf8'), file)
    throw commandError(
      `${join(folder, file)} does not have the name of a plan.`,
      'Name plans like 0001-add-status.sql, and keep other .sql files elsewhere.',
    )
  })
  plans.forEach(({ number, name }, i) => {
    if (number === i + 1) return
    const mend =
      'Plans are numbered without gaps. Restore the missing file from version control, or write the later plan again.'
    const twice = plans[i - 1]?.number === number
    throw commandError(
      twice
        ? `Two plans in ${folder} have the number ${number}.`
        : `${folder} has no plan ${i + 1} before ${number} (${name}).`,
      mend,
    )
  })
  return plans
}

/** The plans that are not applied yet; throws if an applied plan is missing or was changed. */
export function pendingPlans(
  plans: readonly MigrationPlan[],
  ledger: readonly AppliedPlan[],
  folder: string,
): MigrationPlan[] {
  for (const entry of ledger) {
    const plan = plans[entry.number - 1]
    const when = new Date(entry.time).toISOString()
    if (!plan)
      throw commandError(
        `Plan ${entry.number} (${entry.name}) was carried out at ${when}, and its file is not in ${folder}.`,
        'Restore the file from version control.',
      )
    if (plan.checksum !== entry.checksum)
      throw commandError(
        `Plan ${entry.number} (${entry.name}) was changed after it was carried out at ${when}.`,
        'Restore the former file from version control, and put the new steps into a plan of their own.',
      )
  }
  return plans.slice(ledger.length)
}

/** Writes plans to files and returns their paths. */
export function writePlans(folder: string, plans: readonly Omit<MigrationPlan, 'checksum'>[]): string[] {
  mkdirSync(folder, { recursive: true })
  return plans.map((plan) => {
    const file = join(folder, `${String(plan.number).padStart(4, '0')}-${plan.name}.sql`)
    writeFileSync(file, planText(plan), { flag: 'wx' })
    return file
  })
}
