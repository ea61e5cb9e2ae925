/** Old values: the values of an enum, or the states, before a change of a version. Part 9, versions. */

/** Values of one version, each with the value of another one: as in `mapped` (new by old) and in `shown` (old by new). */
export type ValueMap = Readonly<Record<string, string>>

/** The values of an enum before the change. */
export function oldValues(values: readonly string[], mapped: ValueMap, shown: ValueMap): string[] {
  return values.flatMap((value) => {
    const from = Object.keys(mapped).filter((old) => mapped[old] === value)
    return from.length > 0 ? from : Object.hasOwn(shown, value) ? [] : [value]
  })
}

/** The old value of each new value. */
export function oldValuesByNew(values: readonly string[], mapped: ValueMap, shown: ValueMap): Map<string, string> {
  const first = (value: string) => Object.keys(mapped).find((old) => mapped[old] === value)
  return new Map(values.map((value) => [value, shown[value] ?? first(value) ?? value]))
}
