/** Convertible: whether a stored document can be shown in every version that is served. Part 9, versions. */
import type { Violation } from '../errors/problem.ts'
import type { ServedVersion } from '../flow/route.ts'
import type { Change } from '../resources/change.ts'
import type { VersionedDeclaration } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { compileConversion, identityMapping, mapDown, type VersionDocument } from './conversion.ts'
import { movedFieldFinder, versionHistory } from './history.ts'

interface DeclaredVersions {
  readonly declaration: VersionedDeclaration
  readonly changes: readonly Change[]
  readonly resources: ReadonlyMap<string, Resource>
  readonly editions: ReadonlyMap<string, ServedVersion>
}

/** Why a document cannot be shown in a version, or not as that version describes it. */
interface ConversionFault {
  readonly version: string
  readonly says: string
}

/** Converts a document of a resource (current name) to each served version with older fields; returns the faults. */
export function convertibleChecker(
  declared: DeclaredVersions,
): (resource: string, document: Readonly<VersionDocument>) => ConversionFault[] {
  const { declaration, changes, resources, editions } = declared
  const all = versionHistory(declaration, changes, ([...resources.values()][0] as Resource).rules.kinds)
  const names = (name: string) => resources.get(name)?.members.map((member) => member.name) ?? []
  const elsewhere = movedFieldFinder(all, names)
  const olderForms = (today: string) =>
    all.flatMap(({ label, histories }) => {
      const { name = '', steps = [] } = histories.get(today) ?? {}
      const own = editions.get(label)?.resources.get(name)
      const isServed = declaration.versions?.[label]?.retired === undefined
      if (!own || !isServed || steps.length === 0) return []
      const down = steps.reduce((form, step) => mapDown(form, step, elsewhere), identityMapping(today, names(today)))
      const shown = own.members.map((member) => member.name)
      return [{ label, own, convert: compileConversion(down, shown) }]
    })
  const makers = new Map([...resources.keys()].map((today) => [today, olderForms(today)]))
  return (resource, document) =>
    (makers.get(resource) ?? []).flatMap(({ label, own, convert }) => {
      try {
        return firstMisfit(own, convert(document)).map((says) => ({ version: label, says }))
      } catch (error) {
        const { message = String(error) } = error as Error
        return [{ version: label, says: `cannot be converted: ${message}` }]
      }
    })
}

/** The first value that the version's fields refuse. Values from other rows are unknown here, and not checked. */
function firstMisfit({ members }: Resource, values: readonly unknown[]): string[] {
  for (const [i, { name, check, from, writeOnly }] of members.entries()) {
    const faults: Violation[] = []
    if (from !== 'caller' || writeOnly || values[i] === undefined) continue
    check(values[i], `/${name}`, faults)
    if (faults[0]) return [`does not fit: ${faults[0].message}`]
  }
  return []
}
