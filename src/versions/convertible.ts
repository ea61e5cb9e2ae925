/** Convertible: whether a stored document can be shown in every version that is served. Part 9, versions. */
import type { Violation } from '../errors/problem.ts'
import type { Edition } from '../flow/route.ts'
import type { Change, Versioned } from '../resources/change.ts'
import type { Resource } from '../resources/resource.ts'
import { back, conversion, type Document, plain } from './program.ts'
import { elsewhereOf, pasts } from './version.ts'

interface Declared {
  readonly declaration: Versioned
  readonly changes: readonly Change[]
  readonly resources: ReadonlyMap<string, Resource>
  readonly editions: ReadonlyMap<string, Edition>
}

/** Why a document cannot be shown in a version, or not as that version describes it. */
interface Unshown {
  readonly version: string
  readonly says: string
}

/** Converts documents of a resource, under the name that it has today, to each version that is served and has older fields. */
export function showing(declared: Declared): (resource: string, document: Readonly<Document>) => Unshown[] {
  const { declaration, changes, resources, editions } = declared
  const all = pasts(declaration, changes)
  const names = (name: string) => resources.get(name)?.members.map((member) => member.name) ?? []
  const elsewhere = elsewhereOf(all, names)
  const makers = new Map(
    [...resources.keys()].map((today) => {
      const older = all.flatMap(({ label, ways }) => {
        const { name = '', steps = [] } = ways.get(today) ?? {}
        const own = editions.get(label)?.resources.get(name)
        const isServed = declaration.versions?.[label]?.retired === undefined
        if (!own || !isServed || steps.length === 0) return []
        const down = steps.reduce((program, step) => back(program, step, elsewhere), plain(today, names(today)))
        return [
          {
            label,
            own,
            convert: conversion(
              down,
              own.members.map((member) => member.name),
            ),
          },
        ]
      })
      return [today, older] as const
    }),
  )
  return (resource, document) =>
    (makers.get(resource) ?? []).flatMap(({ label, own, convert }) => {
      try {
        return unfit(own, convert(document)).map((says) => ({ version: label, says }))
      } catch (error) {
        const { message = String(error) } = error as Error
        return [{ version: label, says: `cannot be converted: ${message}` }]
      }
    })
}

/** The first value that the fields of a version do not allow. What other rows have is not known here. */
function unfit({ members }: Resource, values: readonly unknown[]): string[] {
  for (const [i, { name, check, from, hidden }] of members.entries()) {
    const faults: Violation[] = []
    if (from !== 'caller' || hidden || values[i] === undefined) continue
    check(values[i], `/${name}`, faults)
    if (faults[0]) return [`does not fit: ${faults[0].message}`]
  }
  return []
}
