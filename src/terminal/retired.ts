/** Keeps versions that are still used from being taken away, and tells of those that are over. Part 9, versions. */
import type { Use } from '../flow/plan.ts'
import type { Edition } from '../flow/route.ts'
import type { Store } from '../flow/store.ts'
import type { Log } from '../http/house.ts'
import type { Hazard, Survey } from '../schema/hazard.ts'
import type { Service } from '../service.ts'
import { timeOf, usage } from '../store/callers.ts'
import { uses } from '../store/compile.ts'
import { isReleased } from '../versions/choose.ts'
import { complaint } from './complaint.ts'

const aDay = 86_400_000

/** What the store knows of the use of versions. */
export async function usesIn(store: Store): Promise<readonly Use[]> {
  const outcome = await store.execute({ do: 'usage' })
  return outcome.is === 'usage' ? outcome.uses : []
}

/** Refuses to leave out a version that has consumers, unless the reason is given. R203. */
export async function admitRetired(service: Service, store: Store, now: number): Promise<void> {
  const hazard = hazardOf(service, await usesIn(store), now)
  if (hazard) throw complaint(hazard.about, hazard.mends.map(([, text]) => text).join(' '))
}

/** The same before the first step of a change. A node of the former declaration, which starts again between the phases, leaves nothing out. R203. */
export const callersLeft = (service: Service): Survey =>
  function* ({ change: { before }, dialect }) {
    const outcome = before?.layout.shared.includes(uses) ? yield* usage() : null
    const hazard = outcome?.is === 'usage' ? hazardOf(service, outcome.uses, yield* timeOf(dialect)) : null
    return hazard ? [hazard] : []
  }

function hazardOf({ declaration, choice, settings }: Service, all: readonly Use[], now: number): Hazard | null {
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
      ['mend', `Declare ${version} again, or say why it may go: ${version}: { …, retired: 'all were told' }.`],
    ],
  }
}

/** The operations of a version that are to be left. R198. */
export const partingsIn = (edition: Edition | undefined) =>
  [...(edition?.resources.values() ?? [])].flatMap(({ name, declaration: { deprecations = {} } }) =>
    Object.entries(deprecations).map(([operation, one]) => ({ resource: name, operation, ...one })),
  )

/** Says which versions are not released yet, and what should have ended. R189, R203. */
export function warnOfEnds({ choice, notices, editions, declaration }: Service, log: Log, now: number): void {
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
    for (const { resource, operation, sunset } of partingsIn(editions.get(version)))
      if (sunset !== undefined && Date.parse(sunset) <= now)
        log.warn({ version, resource, operation, sunset }, 'The operation is served after its planned end.')
  }
}
