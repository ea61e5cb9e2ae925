/** Differences: everything that two contracts say differently, each breaking, additive or without effect. Part 9, versioning. */
import type { Contract, Parting, QuotaContract, ResourceContract } from './contract.ts'
import { same } from './contract.ts'
import type { Difference, What } from './difference.ts'
import { fieldDifferences, trafficOf } from './fields.ts'
import { type Weight, weighSetting } from './noticed.ts'

export function differences(before: Contract, after: Contract): Difference[] {
  return [
    ...settingDifferences(before, after),
    ...scopes(before, after),
    ...errors(before, after),
    ...tiers(before, after),
    ...each(before.resources, after.resources, (name, had, has) => {
      const place = `resources.${name}`
      if (!has) return [told(place, 'breaking', `The resource ${name} is gone.`, 'Keep it.', 'resource-removed')]
      return had ? resourceDifferences(name, had, has) : [told(place, 'additive', `The resource ${name} is new.`)]
    }),
    ...ends(before, after),
    ...more('', before.more, after.more),
  ]
}

/** Consumers plan by the end that was announced: it may be put off or withdrawn, not brought forward. */
function ends({ sunset: had }: Contract, { sunset: has }: Contract): Difference[] {
  if (had === undefined || has === undefined || had === has) return []
  const says =
    has === null
      ? `It is not planned to end any more; it was on ${day(had as string)}.`
      : `It is planned to end on ${day(has)}${had === null ? '' : ` instead of ${day(had)}`}.`
  const sooner = had !== null && has !== null && has < had
  return [told('sunset', sooner ? 'breaking' : 'additive', says, `Leave it at ${day(had ?? '')}, or put it off.`)]
}

/** Every name of both, with what each has of it. */
function each<T, R>(
  before: Readonly<Record<string, T>>,
  after: Readonly<Record<string, T>>,
  see: (name: string, had: T | undefined, has: T | undefined) => R[],
): R[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const own = (all: Readonly<Record<string, T>>, name: string) => (Object.hasOwn(all, name) ? all[name] : undefined)
  return [...names].toSorted().flatMap((name) => see(name, own(before, name), own(after, name)))
}

function told(place: string, weight: Weight, says: string, mend = '', what: What = 'other'): Difference {
  return { place, weight, says, mend: weight === 'breaking' ? mend : '', what }
}

/** Those of the service where a resource follows them, and those of each resource that has its own. */
function settingDifferences(before: Contract, after: Contract): Difference[] {
  const kept = Object.keys(before.resources).filter((name) => Object.hasOwn(after.resources, name))
  const own = (name: string, path: string) =>
    Object.hasOwn((before.resources[name] as ResourceContract).settings, path) ||
    Object.hasOwn((after.resources[name] as ResourceContract).settings, path)
  // A release knows only its own settings: one that a contract does not name had no effect when it was written.
  const known = Object.keys(before.settings).filter((path) => Object.hasOwn(after.settings, path))
  return known.flatMap((path) => {
    const [had, has] = [before.settings[path], after.settings[path]]
    const followed = kept.some((name) => !own(name, path))
    const general = followed ? setting(`settings.${path}`, path, had, has) : []
    const apart = kept.filter((name) => own(name, path))
    return [
      ...general,
      ...apart.flatMap((name) => {
        const [was, is] = [before, after].map(({ settings, resources }) => {
          const local = resources[name]?.settings ?? {}
          return Object.hasOwn(local, path) ? local[path] : settings[path]
        })
        return setting(`resources.${name}.settings.${path}`, path, was, is)
      }),
    ]
  })
}

function setting(place: string, path: string, was: unknown, is: unknown): Difference[] {
  if (same(was, is)) return []
  const [had, has] = [was, is].map((value) => JSON.stringify(value ?? null))
  const says = `\`${path}\` is ${has} instead of ${had}.`
  return [told(place, weighSetting(path, was ?? null, is ?? null), says, `Leave it at ${had}.`)]
}

function scopes(before: Contract, after: Contract): Difference[] {
  const place = (scope: string) => `scopes["${scope}"]`
  return [
    ...before.scopes
      .filter((one) => !after.scopes.includes(one))
      .map((one) => told(place(one), 'breaking', `The scope ${one} is gone. Consumers ask for it.`, 'Keep it.')),
    ...after.scopes
      .filter((one) => !before.scopes.includes(one))
      .map((one) => told(place(one), 'additive', `The scope ${one} is new.`)),
  ]
}

/** A consumer that does not know a type goes by the more general ones, so a type may come, and more may stand above one. */
function errors(before: Contract, after: Contract): Difference[] {
  return each(before.errors, after.errors, (type, had, has) => {
    const place = `errors.${type}`
    const broken = (says: string, mend: string) => told(place, 'breaking', says, mend)
    if (!had) return [told(place, 'additive', `The error ${type} is new.`)]
    if (!has) {
      const says = `The error ${type} is gone. Consumers tell it from others.`
      return [told(place, 'breaking', says, 'Keep it.', 'error-changed')]
    }
    const status =
      had.status === has.status
        ? []
        : [
            broken(
              `The error ${type} has the status ${has.status} instead of ${had.status}.`,
              `Leave it at ${had.status}.`,
            ),
          ]
    const lost = had.types.filter((one) => !has.types.includes(one))
    const found = has.types.filter((one) => !had.types.includes(one))
    if (lost.length > 0)
      return [...status, broken(`The error ${type} is no ${lost.join(', ')} any more.`, `Leave it below ${lost[0]}.`)]
    return found.length > 0
      ? [...status, told(place, 'additive', `The error ${type} is also one of ${found.join(', ')}.`)]
      : status
  })
}

/** How many requests a caller has: fewer break, and so does a quota where there was none. */
function tiers(before: Contract, after: Contract): Difference[] {
  const broken = (place: string, says: string) => told(place, 'breaking', says, 'Leave it as it was.')
  const [was, is] = [before.usualTier, after.usualTier]
  const usual =
    was === is
      ? []
      : is === null
        ? [told('tiers', 'additive', 'Callers have no quota any more.')]
        : [broken('tiers', `Callers have the quotas of ${is}${was === null ? '' : `, not those of ${was}`}.`)]
  const declared = each(before.tiers, after.tiers, (tier, had, has) => {
    const place = `tiers.${tier}`
    if (!has) return [broken(place, `The tier ${tier} is gone.`)]
    if (!had && tier === 'anonymous') return [broken(place, 'Callers that are not known have a quota.')]
    if (!had) return [told(place, 'additive', `The tier ${tier} is new.`)]
    return each(had, has, (name, old, now) => {
      if (!old) return [broken(`${place}.${name}`, `The tier ${tier} has the quota ${name} too.`)]
      if (!now) return [told(`${place}.${name}`, 'additive', `The tier ${tier} has no quota ${name} any more.`)]
      if (same(old, now)) return []
      const says = `The quota ${name} of ${tier} is ${quotaText(now)} instead of ${quotaText(old)}.`
      const more = now.quota >= old.quota && now.window <= old.window && now.partition === old.partition
      return more ? [told(`${place}.${name}`, 'additive', says)] : [broken(`${place}.${name}`, says)]
    })
  })
  return [...usual, ...declared]
}

const quotaText = ({ quota, window, partition }: QuotaContract): string =>
  `${quota} requests in ${window / 1000} seconds for each ${partition}`

function resourceDifferences(name: string, before: ResourceContract, after: ResourceContract): Difference[] {
  const place = `resources.${name}`
  const traffic = trafficOf(before, after)
  const changed = (part: 'prefix' | 'key' | 'parent', says: string): Difference[] =>
    same(before[part], after[part])
      ? []
      : [
          told(
            `${place}.${part}`,
            'breaking',
            `${says} ${shown(after[part])} instead of ${shown(before[part])}.`,
            'Leave it as it was.',
            'fixed',
          ),
        ]
  const ordered = same(before.order, after.order)
    ? []
    : [
        told(
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
    ...paths(place, before.paths, after.paths),
    ...partings(place, before, after),
    ...fieldDifferences(`${place}.fields`, before.fields, after.fields, traffic),
    ...ordered,
    ...sorts(place, before, after, traffic.lists),
    ...uniques(place, before, after, traffic.sends),
    ...more(`${place}.`, before.more, after.more),
  ]
}

const shown = (value: unknown): string => (typeof value === 'string' ? `\`${value}\`` : JSON.stringify(value))

type Paths = ResourceContract['paths']

/** Names in braces are no part of a URL. */
const bare = (all: Paths): Paths =>
  Object.fromEntries(Object.entries(all).map(([path, methods]) => [path.replace(/\{[^}]*\}/g, '{}'), methods]))

function paths(place: string, before: Paths, after: Paths): Difference[] {
  return each(bare(before), bare(after), (path, had = {}, has = {}) =>
    each(had, has, (method, was, is) => {
      const at = `${place}.methods`
      if (was === undefined) return [told(at, 'additive', `${method} ${path} is new.`)]
      if (is === undefined)
        return [told(at, 'breaking', `${method} ${path} is gone.`, 'Keep it among `methods`.', 'method-removed')]
      if (was === is) return []
      const says = `${method} ${path} is for ${ruleIn(is)} instead of ${ruleIn(was)}.`
      return [
        told(`${place}.access`, opens(was, is) ? 'additive' : 'breaking', says, `Leave it to ${ruleIn(was)}.`, 'fixed'),
      ]
    }),
  )
}

/** An operation that is to be left is announced and works as before; what was announced may be put off, not brought forward. */
function partings(place: string, before: ResourceContract, after: ResourceContract): Difference[] {
  const [was, is] = [before.deprecations ?? {}, after.deprecations ?? {}]
  return each(was, is, (operation, had, has) => {
    const at = `${place}.deprecations.${operation}`
    if (same(had, has)) return []
    if (!has) return [told(at, 'additive', `\`${operation}\` is not deprecated any more.`)]
    const says = `\`${operation}\` ${parting(has)}${had ? `, and not ${parting(had)}` : ''}.`
    const sooner = had?.sunset && has.sunset && has.sunset < had.sunset
    return [
      told(at, sooner ? 'breaking' : 'additive', says, `Leave its end at ${day(had?.sunset ?? '')}, or put it off.`),
    ]
  })
}

/** When something goes, in words. */
export const parting = ({ deprecated, sunset }: Parting): string =>
  `is deprecated from ${day(deprecated)} on${sunset === null ? '' : ` and planned to end on ${day(sunset)}`}`

/** A moment as it is declared where it begins a day. */
const day = (moment: string): string => moment.replace('T00:00:00.000Z', '')

const breadth = (rule: string): number => ['authenticated', 'public'].indexOf(rule) + 1
/** Whether all who were let in by one rule are by another. */
const opens = (was: string, is: string): boolean => breadth(is) > breadth(was)

const ruleIn = (rule: string): string =>
  rule === 'public' ? 'everybody' : rule === 'authenticated' ? 'known callers' : `callers with ${rule}`

function sorts(place: string, before: ResourceContract, after: ResourceContract, lists: boolean): Difference[] {
  return each(before.sorts, after.sorts, (name, was, is) => {
    const at = `${place}.sorts.${name}`
    const weigh = (weight: Weight): Weight => (lists ? weight : 'none')
    if (!was) return [told(at, weigh('additive'), `custom_sort=${name} is new.`)]
    if (!is) return [told(at, weigh('breaking'), `custom_sort=${name} is gone.`, 'Keep it.', 'fixed')]
    if (same(was, is)) return []
    const says = `custom_sort=${name} goes by ${is.join(', ')} instead of ${was.join(', ')}.`
    return [told(at, weigh('breaking'), says, 'Keep it, and declare the new one under a name of its own.', 'fixed')]
  })
}

function uniques(place: string, before: ResourceContract, after: ResourceContract, sends: boolean): Difference[] {
  const named = ({ uniques: all }: ResourceContract) =>
    Object.fromEntries(all.map((names) => [names.join(' and '), true]))
  const weigh = (weight: Weight): Weight => (sends ? weight : 'none')
  return each(named(before), named(after), (names, was, is) => {
    if (was === is) return []
    const says = is
      ? `${names} are unique together now. What another item has is refused.`
      : `${names} need not be unique together any more. Consumers could meet the same values twice, and are not refused them.`
    const [mend, what] = is ? (['Leave it out.', 'other'] as const) : (['Keep it.', 'fixed'] as const)
    return [told(`${place}.uniques`, weigh('breaking'), says, mend, what)]
  })
}

/** Parts that no rule weighs: what they mean is not known here, so any difference counts. */
function more(at: string, before: Contract['more'], after: Contract['more']): Difference[] {
  return each(before, after, (part, had, has) =>
    same(had, has)
      ? []
      : [told(`${at}${part}`, 'breaking', `\`${part}\` is declared differently.`, 'Leave it as it was.')],
  )
}
