/** Gate: compares a service with every locked version and reports what would break its consumers. R195. */

import { listInWords } from '../formats/naming.ts'
import { type Change, declarationAt, majorOf, versionLabels } from '../resources/change.ts'
import type { Mistake } from '../resources/declaration.ts'
import { asDeclared, withServiceFields } from '../resources/service-fields.ts'
import type { Declaration, Service } from '../service.ts'
import { type Contract, contractOf } from './contract.ts'
import { answersOnly, type Difference, onlyBreaking, requestsOnly, weighShift } from './difference.ts'
import { differences } from './differences.ts'
import { valueShifts } from './field-differences.ts'
import { functionsAfter } from './functions.ts'
import type { Lock } from './lock.ts'
import { proposeChange, unclaimableText } from './proposal.ts'

/** Locked versions by their labels. */
export type LocksByLabel = ReadonlyMap<string, Lock>

type DeclaredChanges = Pick<Service, 'declaration' | 'changes'>

/** The declaration of a version, as a service with only that version would have it. */
export function declarationOfVersion({ declaration, changes }: DeclaredChanges, label: string): Declaration {
  const whole = { ...declaration, resources: withServiceFields(declaration) }
  const { versions, settings, ...at } = asDeclared(declarationAt(whole, changes, label))
  const { default: usual, ...carrying } = settings?.versions ?? {}
  return settings ? { ...at, settings: { ...settings, versions: carrying } } : at
}

/** The current contract of a version. */
export function contractAt(service: DeclaredChanges, label: string): Contract {
  const contract = contractOf(declarationOfVersion(service, label))
  const usual = service.declaration.settings?.versions?.default || servedLabels(service.declaration)[0]
  const { sunset } = service.declaration.versions?.[label] ?? {}
  const end = sunset === undefined ? null : new Date(sunset).toISOString()
  const functions = functionsAfter(label, service.changes)
  return { ...contract, settings: { ...contract.settings, 'versions.default': usual }, sunset: end, ...functions }
}

/** The labels of the served versions, oldest first. */
export function servedLabels({ versions = {}, ...rest }: Declaration): string[] {
  return versionLabels({ versions, ...rest }).filter((label) => versions[label]?.retired === undefined)
}

/** Reports breaking differences from the locks, locked versions that are gone, and changes that are empty or lossy. */
export function gateMistakes(service: Service, locks: LocksByLabel): Mistake[] {
  const other = [...locks].find(([, lock]) => lock.service !== service.name)
  if (other) return [otherServiceMistake(service, other[0], other[1])]
  const labels = versionLabels(service.declaration)
  const lost = [...locks.keys()].filter((label) => !labels.includes(label))
  const judged = servedLabels(service.declaration)
    .filter((label) => locks.has(label))
    .toReversed()
  const reported = new Set<string>()
  const broken = judged.flatMap((label) => {
    const [lock, now] = [locks.get(label) as Lock, contractAt(service, label)]
    const breaking = onlyBreaking(differences(lock, now)).filter(({ says }) => !reported.has(says))
    for (const { says } of breaking) reported.add(says)
    return groupByResource(breaking).map(([resource, some]) =>
      differenceMistake(service, label, locks, lock, now, resource, some),
    )
  })
  return [...lost.map(undeclaredMistake), ...broken, ...uselessChanges(service, locks), ...lossyRetypes(service, locks)]
}

const otherServiceMistake = ({ name }: Service, label: string, lock: Lock): Mistake => ({
  place: 'name',
  reason: `The service is called ${name}, but contract/${label}.json belongs to ${lock.service}.`,
  mend: `Keep each declaration in a folder of its own. If ${lock.service} was renamed to ${name}, change the name in the files of contract.`,
})

const undeclaredMistake = (label: string): Mistake => ({
  place: `versions.${label}`,
  reason: `${label} is locked in contract/${label}.json but no longer declared.`,
  mend: `Declare it again. When it has no consumers, remove contract/${label}.json and contract/${label}.answers.json.`,
})

/** Groups the differences of each resource; every other difference is a group of its own. */
function groupByResource(breaking: readonly Difference[]): (readonly [string | null, readonly Difference[]])[] {
  const all = new Map<string, Difference[]>()
  for (const one of breaking) {
    const resource = /^resources\.([^.]+)\./.exec(one.place)?.[1]
    const name = resource ?? `= ${one.place}`
    all.set(name, [...(all.get(name) ?? []), one])
  }
  return [...all].map(([name, some]) => [name.startsWith('= ') ? null : name, some])
}

function differenceMistake(
  service: Service,
  label: string,
  locks: LocksByLabel,
  lock: Lock,
  now: Contract,
  resource: string | null,
  breaking: readonly Difference[],
): Mistake {
  const where = `${label} is locked (contract/${label}.json), and ${breaking.length === 1 ? 'this difference' : 'these differences'} would break its consumers:`
  const reason = [where, ...breaking.map(({ place, says }) => `- ${place}: ${says}`)].join('\n   ')
  const [first] = breaking as [Difference, ...Difference[]]
  const own = first.place === 'sunset' ? `versions.${label}.sunset` : first.place
  const plain = { place: resource ? `resources.${resource}` : own, reason, mend: mendFor(breaking) }
  const [before, after] = [lock, now].map(({ resources }) => (resource ? resources[resource] : undefined))
  const version = nextLabel(service, locks)
  const elsewhere = otherClaimText(first, version, lock, now)
  if (elsewhere) return { ...plain, mend: `${plain.mend} ${elsewhere}` }
  if (!resource || !before || !after) return plain
  const claimed = breaking.filter(({ what }) => what !== 'fixed')
  const { change, lacking } = proposeChange({
    resource,
    version,
    before,
    after,
    found: claimed,
    former: formerNames(service, resource),
  })
  if (lacking.length > 0) return { ...plain, mend: `${plain.mend} ${unclaimableText(lacking)}` }
  if (change === undefined) return plain
  const declared = versionLabels(service.declaration).includes(version) && service.declaration.versions
  const publish = declared
    ? `declare it as a change of ${version}`
    : `publish it: add ${version} to \`versions\`, and declare the change`
  return {
    ...plain,
    mend: `${plain.mend} Or ${publish}, with the right values in it:\n\n${indentText(change)}\n`,
  }
}

/** The former names of fields by their current ones, as far as the declaration gives them. */
function formerNames({ declaration }: Service, resource: string): Record<string, string> {
  const fields = Object.entries(declaration.resources[resource]?.fields ?? {})
  return Object.fromEntries(
    fields.flatMap(([name, { options }]) => (options.was === undefined ? [] : [[name, options.was]])),
  )
}

/** How a change can claim a difference that is not about fields. */
function otherClaimText(
  { what, place }: Difference,
  version: string,
  lock: Contract,
  now: Contract,
): string | undefined {
  const name = place.slice(place.indexOf('.') + 1)
  if (what === 'error-changed')
    return `If it was only renamed, declare that in a change of ${version}: errors: { '${name}': '…' }.`
  if (what !== 'resource-removed') return undefined
  const renamed = newNameOf(name, lock, now)
  return renamed === undefined
    ? `Or keep it declared, and end it in ${version}:\n\n     .change('${version}', '${name}', { about: '\`${name}\` ended.', ends: true })\n`
    : `Or, if it is called \`${renamed}\` now, say so in ${version}:\n\n     .change('${version}', '${renamed}', { about: '\`${name}\` is called \`${renamed}\`.', was: '${name}' })\n`
}

/** The only new resource whose ids have the same prefix: most likely the missing resource was renamed to it. */
function newNameOf(name: string, lock: Contract, now: Contract): string | undefined {
  const prefix = lock.resources[name]?.prefix ?? null
  const added = Object.entries(now.resources).filter(([one]) => !Object.hasOwn(lock.resources, one))
  const [only, ...others] = added.filter(([, resource]) => prefix !== null && resource.prefix === prefix)
  return others.length === 0 ? only?.[0] : undefined
}

function mendFor(breaking: readonly Difference[]): string {
  const mends = [...new Set(breaking.map(({ mend }) => mend))]
  const mend = mends.length === 1 ? (mends[0] as string) : 'Undo them.'
  const parts = [...new Set(breaking.filter(({ what }) => what === 'fixed').map(partOf))]
  if (parts.length === 0) return mend
  return `${mend} Versions cannot differ in ${listInWords(parts, 'and')}: no change can declare that.`
}

/** The part that must be the same in all versions; for a resource, the third name of its place. R194. */
const partOf = ({ place, part = place.split('.')[2] }: Difference): string => `\`${part}\``
const indentText = (text: string): string => text.replaceAll(/^(?=.)/gm, '     ')

/** The version that a new change belongs to: the newest one, or the one after it if the newest is locked. */
function nextLabel({ declaration }: Service, locks: LocksByLabel): string {
  const newest = versionLabels(declaration).at(-1) as string
  return locks.has(newest) ? `v${majorOf(newest) + 1}` : newest
}

/** Finds changes without effect: without them, the declaration has no further difference from the locked versions. */
function uselessChanges(service: Service, locks: LocksByLabel): Mistake[] {
  return service.changes
    .filter((change) => isUseless(change, service, locks))
    .map(({ version, resource }) => ({
      place: `versions.${version}`,
      reason: `The change of ${resource} in ${version} has no effect: the locked contracts are the same without it.`,
      mend: 'Leave it out, or declare in it what differs.',
    }))
}

function isUseless(change: Change, service: Service, locks: LocksByLabel): boolean {
  const older = [...locks.keys()].filter((label) => majorOf(label) < majorOf(change.version))
  // Older versions do not notice that a resource ends, and a deprecation claims no difference.
  if (older.length === 0 || change.ends || change.deprecations) return false
  const { declaration, changes } = service
  const others = changes.filter((one) => one !== change)
  return older.every((label) => {
    const lock = locks.get(label) as Lock
    const known = new Set(differences(lock, contractAt(service, label)).map(({ place, says }) => place + says))
    const without = contractOrNull({ declaration, changes: others }, label)
    return without !== null && differences(lock, without).every(({ place, says }) => known.has(place + says))
  })
}

/** Null if the declaration is not valid. */
function contractOrNull(service: DeclaredChanges, label: string): Contract | null {
  try {
    return contractAt(service, label)
  } catch {
    return null
  }
}

/** Finds retyped fields where one version does not allow values of the other, and the change has no function for that. */
function lossyRetypes(service: Service, locks: LocksByLabel): Mistake[] {
  const labels = versionLabels(service.declaration)
  return service.changes.flatMap(({ version, resource, was, retyped = {}, shown = {}, request, response }) => {
    const older = labels[labels.indexOf(version) - 1]
    if (older === undefined || !locks.has(older) || (request && response)) return []
    const before = contractAt(service, older).resources[was ?? resource]?.fields ?? {}
    const after = contractAt(service, version).resources[resource]?.fields ?? {}
    return Object.keys(retyped).flatMap((name) => {
      const [old, now] = [before[name], after[name]]
      const shifts = old && now ? valueShifts(old, now) : []
      // A state that older versions are shown as another value needs no function.
      const isShown = now?.values?.every((one) => old?.values?.includes(shown[name]?.[one] ?? one)) === true
      const down = response || isShown ? undefined : shifts.find((one) => weighShift(one, answersOnly) === 'breaking')
      const up = request ? undefined : shifts.find((one) => weighShift(one, requestsOnly) === 'breaking')
      const place = `versions.${version}.${resource}.retyped.${name}`
      const mistakeFor = (says: string, to: string, how: string): Mistake => ({
        place,
        reason: `Since ${version}, \`${name}\` ${says} The change has no function that makes values for ${to}.`,
        mend: `Write ${how} => ({ ${name}: … }) into the change.`,
      })
      return [
        ...(down && old && !old.writeOnly ? [mistakeFor(down.says, older, 'response: (now)')] : []),
        ...(up && now && !now.readOnly ? [mistakeFor(up.says, version, 'request: (old)')] : []),
      ]
    })
  })
}
