/** Unseen fields: tries change functions for callers that may not read all fields. Part 9, versions; part 5, field rules. */

import { report } from '../check/field-check.ts'
import type { Field } from '../fields/field.ts'
import { plainValues } from '../fields/value-terms.ts'
import type { Change } from '../resources/change.ts'
import { resolveConcepts } from '../resources/declaration.ts'
import type { ChangeCheck } from './value-sources.ts'

/** The members of an item that the service sets, as change functions see them. */
export const managedMembers = {
  id: 'id',
  createdAt: '2026-01-31T09:30:00.000Z',
  updatedAt: '2026-01-31T09:30:00.000Z',
}

type Document = Readonly<Record<string, unknown>>

/** Finds a `response` that needs fields which it does not always receive. */
export function checkUnseenFields(check: ChangeCheck): void {
  checkWriteOnlyFields(check)
  checkScopedFields(check)
}

/** `response` receives no write-only fields, as no answer shows them: nothing that is answered can be computed from them. */
function checkWriteOnlyFields({ change, path, own, declaration, findings, rules }: ChangeCheck): void {
  const whole = (field: Field) => resolveConcepts(field, declaration.concepts ?? {})
  const fields = Object.entries(own.fields).map(([name, field]) => [name, whole(field)] as const)
  const hidden = fields.filter(([, { options }]) => options.writeOnly).map(([name]) => name)
  if (!change.response || hidden.length === 0) return
  const item = {
    ...managedMembers,
    ...Object.fromEntries(fields.map(([name, one]) => [name, plainValues(one, rules)[0]])),
  }
  const all = runResponse(change, item)
  if (all instanceof Error) return // the function needs more than sample values
  const result = runResponse(
    change,
    Object.fromEntries(Object.entries(item).filter(([name]) => !hidden.includes(name))),
  )
  const fault =
    result instanceof Error ? `It throws: ${result.message}` : lostPromise(change, all, result, new Set(), whole)
  if (fault === null) return
  report(
    { findings },
    [...path, 'response'],
    `It does not receive ${hidden.map((name) => `\`${name}\``).join(' and ')}, as answers have no \`writeOnly\` fields. ${fault}`,
    `Compute the answer of ${change.version} from fields that are answered, or leave out \`writeOnly\`.`,
  )
}

/** `response` receives null for fields that the caller may not read, and must handle that. R169. */
function checkScopedFields({ change, path, own, declaration, findings, rules }: ChangeCheck): void {
  const whole = (field: Field) => resolveConcepts(field, declaration.concepts ?? {})
  const fields = Object.entries(own.fields).map(([name, field]) => [name, whole(field)] as const)
  const scopes = new Set(fields.flatMap(([, { options }]) => options.read ?? []))
  if (!change.response || scopes.size === 0) return
  const samples = fields.map(([name, one]) => [name, plainValues(one, rules)[0]])
  const item = { ...managedMembers, ...Object.fromEntries(samples) }
  const seen = runResponse(change, item)
  if (seen instanceof Error) return // the function needs more than sample values
  for (const lacking of [scopes, ...[...scopes].map((one) => new Set([one]))]) {
    const unseen = fields.filter(([, { options }]) => lacking.has(options.read ?? '')).map(([name]) => name)
    const result = runResponse(change, { ...item, ...Object.fromEntries(unseen.map((name) => [name, null])) })
    const fault =
      result instanceof Error ? `It throws: ${result.message}` : lostPromise(change, seen, result, lacking, whole)
    const revealing = result instanceof Error ? undefined : revealingField(change, seen, result, lacking, whole)
    if (revealing !== undefined) {
      report(
        { findings },
        [...path, revealing],
        `Callers with ${[...lacking].join(' and ')} see another value of it than others do, so lists cannot be filtered or sorted by it.`,
        `Add read: '${[...lacking][0]}' to it, or leave \`filter\` and \`sort\` out; then older versions refuse them.`,
      )
      return
    }
    if (fault === null) continue
    const names = unseen.map((name) => `\`${name}\``).join(' and ')
    report(
      { findings },
      [...path, 'response'],
      `Callers without ${[...lacking].join(' and ')} do not see ${names}, so \`response\` receives null for it. ${fault}`,
      `Return a value for this case, as response: ({ ${unseen[0]} }) => ({ … ${unseen[0]} ?? … }).`,
    )
    return
  }
}

function runResponse({ response }: Change, item: Document): Document | Error {
  try {
    return (response as (now: Document) => Document)(item)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** A filterable or sortable field whose value differs for such callers; undefined if there is none. */
function revealingField(
  { removed = {}, retyped = {}, filters = {}, sorts = {} }: Change,
  seen: Document,
  result: Document,
  lacking: ReadonlySet<string>,
  whole: (field: Field) => Field,
): string | undefined {
  return Object.entries({ ...removed, ...retyped }).find(([name, field]) => {
    const { filter, sort, read } = whole(field).options
    const isOwn = (filter && !Object.hasOwn(filters, name)) || (sort && !Object.hasOwn(sorts, name))
    return isOwn && !lacking.has(read ?? '') && JSON.stringify(seen?.[name]) !== JSON.stringify(result?.[name])
  })?.[0]
}

/** The mistake if such callers get null for a promised field; null if there is none. */
function lostPromise(
  { removed = {}, retyped = {} }: Change,
  seen: Document,
  result: Document,
  lacking: ReadonlySet<string>,
  whole: (field: Field) => Field,
): string | null {
  const name = Object.entries({ ...removed, ...retyped }).find(([name, field]) => {
    const { options } = whole(field)
    const promised = options.optional !== true && !options.writeOnly && !lacking.has(options.read ?? '')
    return promised && (seen?.[name] ?? null) !== null && (result?.[name] ?? null) === null
  })?.[0]
  return name === undefined ? null : `It returns no \`${name}\` then, which the version promises.`
}
