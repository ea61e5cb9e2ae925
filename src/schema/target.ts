/** Target: what databases that speak PostgreSQL's protocol need said otherwise in the steps of a change. Pure. The cellar. */
import type { Step } from './schema.ts'

/** What plans can be written for. */
export const targets = ['sqlite', 'postgres', 'citus', 'cockroach', 'yugabyte'] as const
export type Target = (typeof targets)[number]

/** Steps for a target; `isFirst` where nothing was there before. */
export function stepsFor(target: Target, steps: readonly Step[], isFirst: boolean): readonly Step[] {
  switch (target) {
    case 'sqlite':
    case 'postgres':
      return steps
    case 'citus':
      return isFirst ? [distributed, ...steps] : steps
    case 'cockroach':
      return steps.map((step) => alone(step, (text) => text.replaceAll(' COLLATE "C"', '')))
    case 'yugabyte':
      return steps.map((step) => alone(step, ranged))
  }
}

/** A key, the row that is made with it and all that has to be unique stay on one node, so that no commit spans two. */
const distributed: Step = {
  about: 'keep all tables of this schema on one node, which Citus may move as a whole',
  phase: 'expand',
  sql: ['SELECT citus_schema_distribute(current_schema()::regnamespace)'],
  note: 'Needs Citus 12 and a schema of its own, as in ?options=-c%20search_path%3Dorders; `public` cannot be distributed.',
}

/** There a change of the schema is a job of its own, which no transaction holds; so each statement can be carried out twice. */
function alone(step: Step, otherwise: (text: string) => string): Step {
  if (step.sql.length === 0) return step
  const again = (text: string) => text.replace(/^(CREATE TABLE|CREATE (?:UNIQUE )?INDEX) (?=")/, '$1 IF NOT EXISTS ')
  return { ...step, apart: true, sql: step.sql.map((text) => otherwise(again(text))) }
}

/** An index begins with a hash there unless it says a direction, and a hash has no order. */
function ranged(text: string): string {
  const dropped = text.replace(/^DROP INDEX CONCURRENTLY /, 'DROP INDEX ')
  const [, head, columns] = /^(CREATE (?:UNIQUE )?INDEX .* ON (?:"[^"]+"|\w+) )\((.*)\)$/.exec(dropped) ?? []
  if (head === undefined || columns === undefined) return dropped
  return `${head}(${columns
    .split(/, (?![^(]*\))/)
    .map((one) => (one.endsWith(' DESC') ? one : `${one} ASC`))
    .join(', ')})`
}
