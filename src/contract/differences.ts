/** Differences: all differences between two contracts, each breaking, additive or without effect. Part 9, versioning. */
import type { Contract, QuotaContract, ResourceContract } from './contract.ts'
import { isSameValue } from './contract.ts'
import { compareMembers, type Difference, makeDifference } from './difference.ts'
import { fieldDifferences, sharedTraffic } from './field-differences.ts'
import { listDifferences, type OperationsOfContract } from './operation-contract.ts'
import { belowPathDifferences, dayText, deprecationDifferences, pathDifferences } from './path-differences.ts'
import { stateDifferences } from './state-differences.ts'
import { type Weight, weighSetting } from './weight.ts'

export function differences(before: Contract, after: Contract): Difference[] {
  return [
    ...settingDifferences(before, after),
    ...scopeDifferences(before, after),
    ...errorDifferences(before, after),
    ...tierDifferences(before, after),
    ...compareMembers(before.resources, after.resources, (name, had, has) => {
      const place = `resources.${name}`
      if (!has)
        return [makeDifference(place, 'breaking', `The resource ${name} is gone.`, 'Keep it.', 'resource-removed')]
      return had
        ? resourceDifferences(name, had, has)
        : [makeDifference(place, 'additive', `The resource ${name} is new.`)]
    }),
    ...sunsetDifferences(before, after),
    ...unweighedDifferences('', before.more, after.more),
  ]
}

/** Consumers plan by the announced end: it may be postponed or withdrawn, but not moved to an earlier date. */
function sunsetDifferences({ sunset: had }: Contract, { sunset: has }: Contract): Difference[] {
  if (had === undefined || has === undefined || had === has) return []
  const says =
    has === null
      ? `It is not planned to end any more; it was on ${dayText(had as string)}.`
      : `It is planned to end on ${dayText(has)}${had === null ? '' : ` instead of ${dayText(had)}`}.`
  const sooner = had !== null && has !== null && has < had
  return [
    makeDifference(
      'sunset',
      sooner ? 'breaking' : 'additive',
      says,
      `Leave it at ${dayText(had ?? '')}, or put it off.`,
    ),
  ]
}

/** Compares the settings of the service if a resource uses them, and those of each resource that overrides them. */
function settingDifferences(before: Contract, after: Contract): Difference[] {
  const kept = Object.keys(before.resources).filter((name) => Object.hasOwn(after.resources, name))
  const own = (name: string, path: string) =>
    Object.hasOwn((before.resources[name] as ResourceContract).settings, path) ||
    Object.hasOwn((after.resources[name] as ResourceContract).settings, path)
  // A setting that only one contract names is not compared: the other contract was locked by a release without this setting.
  const sharedPaths = Object.keys(before.settings).filter((path) => Object.hasOwn(after.settings, path))
  return sharedPaths.flatMap((path) => {
    const [had, has] = [before.settings[path], after.settings[path]]
    const followed = kept.some((name) => !own(name, path))
    const general = followed ? settingDifference(`settings.${path}`, path, had, has) : []
    const apart = kept.filter((name) => own(name, path))
    return [
      ...general,
      ...apart.flatMap((name) => {
        const [was, is] = [before, after].map(({ settings, resources }) => {
          const local = resources[name]?.settings ?? {}
          return Object.hasOwn(local, path) ? local[path] : settings[path]
        })
        return settingDifference(`resources.${name}.settings.${path}`, path, was, is)
      }),
    ]
  })
}

function settingDifference(place: string, path: string, was: unknown, is: unknown): Difference[] {
  if (isSameValue(was, is)) return []
  const [had, has] = [was, is].map((value) => JSON.stringify(value ?? null))
  const says = `\`${path}\` is ${has} instead of ${had}.`
  return [makeDifference(place, weighSetting(path, was ?? null, is ?? null), says, `Leave it at ${had}.`)]
}

function scopeDifferences(before: Contract, after: Contract): Difference[] {
  const place = (scope: string) => `scopes["${scope}"]`
  return [
    ...before.scopes
      .filter((one) => !after.scopes.includes(one))
      .map((one) =>
        makeDifference(place(one), 'breaking', `The scope ${one} is gone. Consumers request it.`, 'Keep it.'),
      ),
    ...after.scopes
      .filter((one) => !before.scopes.includes(one))
      .map((one) => makeDifference(place(one), 'additive', `The scope ${one} is new.`)),
  ]
}

/** A consumer handles an unknown type by its more general types, so types may be added, also above an existing one. */
function errorDifferences(before: Contract, after: Contract): Difference[] {
  return compareMembers(before.errors, after.errors, (type, had, has) => {
    const place = `errors.${type}`
    const broken = (says: string, mend: string) => makeDifference(place, 'breaking', says, mend)
    if (!had) return [makeDifference(place, 'additive', `The error ${type} is new.`)]
    if (!has) {
      const says = `The error ${type} is gone. Consumers handle it.`
      return [makeDifference(place, 'breaking', says, 'Keep it.', 'error-changed')]
    }
    // No change of a version converts the fields of an error.
    const mend = 'Leave it as it was, or declare a new type of error.'
    const ofFields = fieldDifferences(`${place}.fields`, had.fields ?? {}, has.fields ?? {}, answeredOutput)
    const all = ofFields.map((one): Difference => (one.weight === 'breaking' ? { ...one, what: 'fixed', mend } : one))
    const statuses = `the status ${has.status} instead of ${had.status}`
    if (had.status !== has.status) all.push(broken(`The error ${type} has ${statuses}.`, `Leave it at ${had.status}.`))
    const lost = had.types.filter((one) => !has.types.includes(one))
    const added = has.types.filter((one) => !had.types.includes(one)).join(', ')
    if (lost.length > 0)
      all.push(broken(`The error ${type} is no ${lost.join(', ')} any more.`, `Leave it below ${lost[0]}.`))
    else if (added !== '') all.push(makeDifference(place, 'additive', `The error ${type} is also one of ${added}.`))
    return all
  })
}

/** A lower quota or a new one breaks consumers. */
function tierDifferences(before: Contract, after: Contract): Difference[] {
  const broken = (place: string, says: string) => makeDifference(place, 'breaking', says, 'Leave it as it was.')
  const usualDifferences = (was: string | null, is: string | null): Difference[] => {
    if (was === is) return []
    if (is === null) return [makeDifference('tiers', 'additive', 'Callers have no quota any more.')]
    return [broken('tiers', `Callers have the quotas of ${is}${was === null ? '' : `, not those of ${was}`}.`)]
  }
  const declared = compareMembers(before.tiers, after.tiers, (tier, had, has) => {
    const place = `tiers.${tier}`
    if (!has) return [broken(place, `The tier ${tier} is gone.`)]
    if (!had && tier === 'anonymous') return [broken(place, 'Callers that are not known have a quota.')]
    if (!had) return [makeDifference(place, 'additive', `The tier ${tier} is new.`)]
    return compareMembers(had, has, (name, old, now) => {
      if (!old) return [broken(`${place}.${name}`, `The tier ${tier} has the quota ${name} too.`)]
      if (!now)
        return [makeDifference(`${place}.${name}`, 'additive', `The tier ${tier} has no quota ${name} any more.`)]
      if (isSameValue(old, now)) return []
      const says = `The quota ${name} of ${tier} is ${quotaText(now)} instead of ${quotaText(old)}.`
      const more = now.quota >= old.quota && now.window <= old.window && now.partition === old.partition
      return more ? [makeDifference(`${place}.${name}`, 'additive', says)] : [broken(`${place}.${name}`, says)]
    })
  })
  return [...usualDifferences(before.usualTier, after.usualTier), ...declared]
}

const quotaText = ({ quota, window, partition }: QuotaContract): string =>
  `${quota} requests in ${window / 1000} seconds for each ${partition}`

function resourceDifferences(name: string, before: ResourceContract, after: ResourceContract): Difference[] {
  const place = `resources.${name}`
  const traffic = sharedTraffic(before, after)
  const changed = (part: 'prefix' | 'key' | 'parent', says: string): Difference[] =>
    isSameValue(before[part], after[part])
      ? []
      : [
          makeDifference(
            `${place}.${part}`,
            'breaking',
            `${says} ${quotedValue(after[part])} instead of ${quotedValue(before[part])}.`,
            'Leave it as it was.',
            'fixed',
          ),
        ]
  const ordered = isSameValue(before.order, after.order)
    ? []
    : [
        makeDifference(
          `${place}.order`,
          traffic.lists ? 'breaking' : 'none',
          `The order of ${name} is ${after.order.join(', ')} instead of ${before.order.join(', ')}.`,
          `Keep the order, and declare the new one in \`sorts\`.`,
          'fixed',
        ),
      ]
  return [
    ...changed('prefix', `Ids of ${name} begin with`),
    ...changed('key', `An item of ${name} is named by`),
    ...changed('parent', `The owner of ${name} is`),
    ...pathDifferences(place, before, after),
    ...deprecationDifferences(place, before, after),
    ...partDifferences.flatMap((differ) => differ(place, before, after)),
    ...fieldDifferences(`${place}.fields`, before.fields, after.fields, traffic),
    ...ordered,
    ...sortDifferences(place, before, after, traffic.lists),
    ...uniqueDifferences(place, before, after, traffic.sends),
    ...unweighedDifferences(`${place}.`, before.more, after.more),
  ]
}

/** New types of events are additive; a removed type breaks consumers that wait for it. */
function eventDifferences(place: string, before: ResourceContract, after: ResourceContract): Difference[] {
  const [had, has] = [before.events ?? [], after.events ?? []]
  const lost = had.filter((type) => !has.includes(type))
  const added = has.filter((type) => !had.includes(type))
  const at = `${place}.events`
  return [
    ...lost.map((type) =>
      makeDifference(
        at,
        'breaking',
        `There are no events \`${type}\` any more. Consumers wait for them.`,
        'Keep them.',
        has.length === 0 ? 'fixed' : 'actions-changed',
      ),
    ),
    ...added.map((type) => makeDifference(at, 'additive', `Events \`${type}\` are new.`)),
  ]
}

const quotedValue = (value: unknown): string => (typeof value === 'string' ? `\`${value}\`` : JSON.stringify(value))

function sortDifferences(
  place: string,
  before: ResourceContract,
  after: ResourceContract,
  lists: boolean,
): Difference[] {
  return compareMembers(before.sorts, after.sorts, (name, was, is) => {
    const at = `${place}.sorts.${name}`
    const weigh = (weight: Weight): Weight => (lists ? weight : 'none')
    if (!was) return [makeDifference(at, weigh('additive'), `custom_sort=${name} is new.`)]
    if (!is) return [makeDifference(at, weigh('breaking'), `custom_sort=${name} is gone.`, 'Keep it.', 'fixed')]
    if (isSameValue(was, is)) return []
    const says = `custom_sort=${name} sorts by ${is.join(', ')} instead of ${was.join(', ')}.`
    return [
      makeDifference(at, weigh('breaking'), says, 'Keep it, and declare the new one under a name of its own.', 'fixed'),
    ]
  })
}

function uniqueDifferences(
  place: string,
  before: ResourceContract,
  after: ResourceContract,
  sends: boolean,
): Difference[] {
  const named = ({ uniques: all }: ResourceContract) =>
    Object.fromEntries(all.map((names) => [names.join(' and '), true]))
  const weigh = (weight: Weight): Weight => (sends ? weight : 'none')
  return compareMembers(named(before), named(after), (names, was, is) => {
    if (was === is) return []
    const says = is
      ? `${names} are unique together now. Values that another item has are refused.`
      : `${names} need not be unique together any more. Consumers may find and send the same values twice.`
    const [mend, what] = is ? (['Leave it out.', 'other'] as const) : (['Keep it.', 'fixed'] as const)
    return [makeDifference(`${place}.uniques`, weigh('breaking'), says, mend, what)]
  })
}

/** Parts without a rule here: their meaning is unknown, so any difference is breaking. */
function unweighedDifferences(at: string, before: Contract['more'], after: Contract['more']): Difference[] {
  return compareMembers(before, after, (part, had, has) =>
    isSameValue(had, has)
      ? []
      : [makeDifference(`${at}${part}`, 'breaking', `\`${part}\` is declared differently.`, 'Leave it as it was.')],
  )
}

const sentInput = { whole: true, changes: true, sends: true, answers: false, lists: false } as const
const answeredOutput = { whole: false, changes: false, sends: false, answers: true, lists: false } as const

/** How the inputs and outputs of operations differ; added and removed operations differ in their paths. */
const operationDifferences = (
  place: string,
  { calls: before = {} }: OperationsOfContract,
  { calls: after = {} }: OperationsOfContract,
): Difference[] =>
  compareMembers(before, after, (name, had, has) => {
    if (!had || !has) return []
    const at = `${place}.operations.${name}`
    const ofFields = [
      ...fieldDifferences(`${at}.input`, had.input, has.input, sentInput),
      ...fieldDifferences(`${at}.output`, had.output, has.output, answeredOutput),
    ]
    const way = had.asynchronous === has.asynchronous ? [] : [asynchronousDifference(at, has.asynchronous === true)]
    return [...ofFields, ...way]
  })

const asynchronousDifference = (place: string, now: boolean): Difference =>
  makeDifference(
    `${place}.asynchronous`,
    'breaking',
    now
      ? 'Requests are answered 202 with a status, no longer with the output.'
      : 'Requests are answered with the output, no longer 202.',
    'Leave it as it was, and add an operation with another name.',
    'fixed',
  )

const partDifferences = [
  ...[eventDifferences, stateDifferences, operationDifferences],
  ...belowPathDifferences,
  listDifferences,
]
