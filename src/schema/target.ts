/** Target: what databases that speak PostgreSQL's protocol need said otherwise in the steps of a change. Pure. The cellar. */
import type { SchemaStep } from './step.ts'

/** What plans can be written for. */
export const targets = ['sqlite', 'postgres', 'citus', 'cockroach', 'yugabyte'] as const
export type Target = (typeof targets)[number]

/** Steps for a target. Those for Citus are of a dialect of its own, as its tables are others. */
export function stepsFor(target: Target, steps: readonly SchemaStep[]): readonly SchemaStep[] {
  switch (target) {
    case 'sqlite':
    case 'postgres':
    case 'citus':
      return steps
    case 'cockroach':
      return steps.map((step) => asSeparateStep(step, (text) => text.replaceAll(' COLLATE "C"', '')))
    case 'yugabyte':
      return steps.map((step) => asSeparateStep(step, rangeIndexText))
  }
}

/** There a change of the schema is a job of its own, which no transaction holds; so each statement can be carried out twice. */
function asSeparateStep(step: SchemaStep, otherwise: (text: string) => string): SchemaStep {
  if (step.sql.length === 0) return step
  const again = (text: string) => text.replace(/^(CREATE TABLE|CREATE (?:UNIQUE )?INDEX) (?=")/, '$1 IF NOT EXISTS ')
  return { ...step, apart: true, sql: step.sql.map((text) => otherwise(again(text))) }
}

/** An index begins with a hash there unless it says a direction, and a hash has no order. */
function rangeIndexText(text: string): string {
  const dropped = text.replace(/^DROP INDEX CONCURRENTLY /, 'DROP INDEX ')
  const [, head, columns] = /^(CREATE (?:UNIQUE )?INDEX .* ON (?:"[^"]+"|\w+) )\((.*)\)$/.exec(dropped) ?? []
  if (head === undefined || columns === undefined) return dropped
  return `${head}(${columns
    .split(/, (?![^(]*\))/)
    .map((one) => (one.endsWith(' DESC') ? one : `${one} ASC`))
    .join(', ')})`
}
