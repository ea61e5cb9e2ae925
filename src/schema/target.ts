/** Target: adapts the steps of a change to databases that speak PostgreSQL's protocol. Pure. The store. */
import { type Collection, wordColumns } from '../rows/collection.ts'
import type { SchemaStep } from './step.ts'

/** The databases that plans can be written for. */
export const targets = ['sqlite', 'postgres', 'citus', 'cockroach', 'yugabyte'] as const
export type Target = (typeof targets)[number]

/** How the steps for PostgreSQL are adapted. Citus needs no change here: its different tables come from its own dialect. */
const adaptations: Partial<Record<Target, (text: string) => string>> = {
  cockroach: (text) => text.replaceAll(' COLLATE "C"', ''),
  yugabyte: rangeKeyText,
}

/** Refuses searched fields where the database has no index of words. R235. */
export function refuseSearchOn(target: Target, collections: readonly Collection[]): void {
  const searched = collections.find((one) => wordColumns(one).length > 0)
  if (!(target in adaptations) || !searched) return
  throw new Error(
    `The target ${target} has no index for the words of ${searched.name}. Leave \`search\` out of its fields, or use SQLite, PostgreSQL or Citus.`,
  )
}

/** Adapts a statement to a target. */
export const adaptText = (target: Target, text: string): string => adaptations[target]?.(text) ?? text

/** Adapts steps to a target. */
export function stepsFor(target: Target, steps: readonly SchemaStep[]): readonly SchemaStep[] {
  const adapt = adaptations[target]
  return adapt ? steps.map((step) => asSeparateStep(step, adapt)) : steps
}

/** These databases run schema changes as jobs outside transactions, so each statement must be safe to run twice. */
function asSeparateStep(step: SchemaStep, otherwise: (text: string) => string): SchemaStep {
  if (step.sql.length === 0) return step
  const again = (text: string) => text.replace(/^(CREATE TABLE|CREATE (?:UNIQUE )?INDEX) (?=")/, '$1 IF NOT EXISTS ')
  return { ...step, apart: true, sql: step.sql.map((text) => otherwise(again(text))) }
}

/** YugabyteDB hashes the first column of a key or an index unless it has a direction, and a hash has no order. */
function rangeKeyText(text: string): string {
  const dropped = text
    .replace(/^DROP INDEX CONCURRENTLY /, 'DROP INDEX ')
    .replace(/(\w+)( [^,(]*) PRIMARY KEY(?! \()(.*)\)$/, '$1$2$3, PRIMARY KEY ($1))')
    .replace(/PRIMARY KEY \(([^)]*)\)/, (_, key: string) => `PRIMARY KEY (${key.replaceAll(/\w+/g, '$& ASC')})`)
  const [, head, columns] = /^(CREATE (?:UNIQUE )?INDEX .* ON (?:"[^"]+"|\w+) )\((.*)\)$/.exec(dropped) ?? []
  if (head === undefined || columns === undefined) return dropped
  return `${head}(${columns
    .split(/, (?![^(]*\))/)
    .map((one) => (one.endsWith(' DESC') ? one : `${one} ASC`))
    .join(', ')})`
}
