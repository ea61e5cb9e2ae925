/** Retirement: refuses to remove versions in use, and warns of those past their planned end. Part 9, versions. */

import { readDatabaseTime } from '../catalog/context.ts'
import { performTablePlan } from '../catalog/table-plans.ts'
import { Memo } from '../flow/memo.ts'
import type { ServedVersion } from '../flow/route.ts'
import type { Log } from '../flow/world.ts'
import type { Hazard, Survey } from '../schema/hazard.ts'
import type { Service } from '../service.ts'
import { findUses, usageTable, type VersionUse } from '../versions/usage.ts'
import { isReleased } from '../versions/version-choice.ts'

const aDay = 86_400_000

/**
 * Checks before the first step of a change that no version with callers is removed. A node of the former declaration that
 * restarts between the phases is not checked, as it retires nothing. R203.
 */
export const retirementSurvey = (service: Service): Survey =>
  function* ({ change: { before }, dialect }) {
    if (!before?.layout.shared.includes(usageTable.name)) return []
    const { rows } = yield* performTablePlan({ dialect, operations: new Memo(1) }, findUses)
    const uses = rows as unknown as readonly VersionUse[]
    const hazard = retirementHazard(service, uses, yield* readDatabaseTime(dialect))
    return hazard ? [hazard] : []
  }

/** The hazard of leaving out a version that has callers, without a reason; null if the declaration leaves out none. R203. */
export function retirementHazard(
  { declaration, choice, settings }: Service,
  all: readonly VersionUse[],
  now: number,
): Hazard | null {
  const { versions = {} } = declaration
  const since = now - settings.versions.idle
  const used = all.filter(
    ({ version, last }) =>
      last > since && !choice.served.includes(version) && typeof versions[version]?.retired !== 'string',
  )
  const [first] = used
  if (!first) return null
  const { version } = first
  const own = used.filter((one) => one.version === version)
  const last = new Date(Math.max(...own.map((one) => one.last))).toISOString()
  return {
    about: `${version} is not served any more, but it has ${own.length === 1 ? '1 caller' : `${own.length} callers`} in the last ${Math.round(settings.versions.idle / aDay)} days, the last one at ${last}.`,
    mends: [
      ['callers', '`bylaw versions` names them.'],
      [
        'mend',
        `Declare ${version} again, or write why it may end: ${version}: { …, retired: 'all callers have moved' }.`,
      ],
    ],
  }
}

/** The deprecated operations of a version. R198. */
export const deprecatedOperations = (version: ServedVersion | undefined) =>
  [...(version?.resources.values() ?? [])].flatMap(({ name, declaration: { deprecations = {} } }) =>
    Object.entries(deprecations).map(([operation, one]) => ({ resource: name, operation, ...one })),
  )

/** Logs which versions are not released yet, and which versions and operations are past their planned end. R189, R203. */
export function warnOfVersionDates({ choice, notices, editions, declaration }: Service, log: Log, now: number): void {
  for (const version of choice.served) {
    const { released } = declaration.versions?.[version] ?? {}
    if (!isReleased(choice, version, now))
      log.info(
        { version, released },
        'The version is not released yet: without --preview it answers as an unknown one.',
      )
    const sunset = notices.get(version)?.sunset
    if (sunset && sunset.at <= now && !choice.ended.has(version))
      log.warn({ version, sunset: sunset.value }, 'The version is served after its planned end.')
    for (const { resource, operation, sunset } of deprecatedOperations(editions.get(version)))
      if (sunset !== undefined && Date.parse(sunset) <= now)
        log.warn({ version, resource, operation, sunset }, 'The operation is served after its planned end.')
  }
}
