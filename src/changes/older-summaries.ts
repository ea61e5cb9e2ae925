/** Older summaries: the summaries of a version, each with the newest form of it, and the values of enums in that version. Part 9, versions. R236. */
import type { Summary } from '../fields/summary.ts'
import { resolveConcepts } from '../resources/declaration.ts'
import { oldValuesByNew } from '../resources/repoint.ts'
import type { Resource } from '../resources/resource.ts'
import type { ChangeStep } from './conversion.ts'

/** A summary of a version, and its newest form, with the same groups and values in the same order. */
export interface ServedSummary {
  readonly own: Summary
  readonly today: Summary
  /** Translates the values of each group to those of the version. */
  readonly shown: readonly ((value: string) => string)[]
}

export const servedSummaries = (own: Resource, today: Resource, steps: readonly ChangeStep[]): ServedSummary[] =>
  own.summaries.flatMap((one) => {
    const newest = today.summaries.find(({ name }) => name === one.name)
    return newest ? [{ own: one, today: newest, shown: newest.groups.map(({ path }) => shownValue(path, steps)) }] : []
  })

/** Applies the old values of enums, the newest change first. Fields inside objects have none. */
function shownValue(path: string, steps: readonly ChangeStep[]): (value: string) => string {
  let name = path
  const maps: ReadonlyMap<string, string>[] = []
  for (const { change, own, concepts } of steps) {
    const { mapped = {}, shown = {}, renamed = {} } = change
    const field = own.fields[name]
    if (field && (Object.hasOwn(mapped, name) || Object.hasOwn(shown, name)))
      maps.push(oldValuesByNew(resolveConcepts(field, concepts).values ?? [], mapped[name] ?? {}, shown[name] ?? {}))
    const [top = '', ...rest] = name.split('.')
    const old = Object.keys(renamed).find((one) => renamed[one] === top)
    name = [old ?? top, ...rest].join('.')
  }
  return (value) => maps.reduce((text, map) => map.get(text) ?? text, value)
}
