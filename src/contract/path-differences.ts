/** Path differences: compares paths of a resource, their access rules, their deprecation, and the embeds and history of the resource. Part 9, versioning. */
import { importSegment } from '../resources/own-operations.ts'
import { type DeprecationDates, isSameValue, type ResourceContract } from './contract.ts'
import { compareMembers, type Difference, makeDifference } from './difference.ts'

type Paths = ResourceContract['paths']

/** Removes the names in braces, as they are not part of a URL. */
const withoutParameterNames = (all: Paths): Paths =>
  Object.fromEntries(Object.entries(all).map(([path, methods]) => [path.replace(/\{[^}]*\}/g, '{}'), methods]))

export function pathDifferences(place: string, before: ResourceContract, after: ResourceContract): Difference[] {
  const [was, is] = [withoutParameterNames(before.paths), withoutParameterNames(after.paths)]
  return compareMembers(was, is, (path, had = {}, has = {}) =>
    compareMembers(had, has, (method, was, is) => {
      const at = `${place}.methods`
      if (was === undefined) return [makeDifference(at, 'additive', `${method} ${path} is new.`)]
      const action = path.slice(path.lastIndexOf('/') + 1)
      if (is === undefined && Object.hasOwn(before.states?.transitions ?? {}, action))
        return [lostTransition(place, action)]
      if (is === undefined && Object.hasOwn(before.calls ?? {}, action)) return [lostOperation(place, action)]
      if (is === undefined && path.endsWith(`/summaries/${action}`) && before.summaries?.[action])
        return [lostSummary(place, action)]
      if (is === undefined && isImport(path, before)) return [lostImports(place)]
      if (is === undefined && /\/revisions(\/\{\})?$/.test(path) && before.history && !after.history)
        return path.endsWith('}') ? [] : [lostHistory(place)]
      if (is === undefined)
        return [
          makeDifference(at, 'breaking', `${method} ${path} is gone.`, 'Keep it among `methods`.', 'method-removed'),
        ]
      if (was === is) return []
      const says = `${method} ${path} is for ${ruleText(is)} instead of ${ruleText(was)}.`
      return [
        makeDifference(
          `${place}.${path.includes('/revisions') && after.history ? 'history' : 'access'}`,
          isWiderRule(was, is) ? 'additive' : 'breaking',
          says,
          `Leave it to ${ruleText(was)}.`,
          'fixed',
        ),
      ]
    }),
  )
}

const lostTransition = (place: string, name: string): Difference =>
  makeDifference(
    `${place}.states.transitions.${name}`,
    'breaking',
    `The transition \`${name}\` is gone. Consumers request it.`,
    `Keep it; if it was only renamed, declare that in a change of the next version: transitions: { renamed: { '${name}': '…' } }.`,
    'actions-changed',
  )

const lostOperation = (place: string, name: string): Difference =>
  makeDifference(
    `${place}.operations.${name}`,
    'breaking',
    `The operation \`${name}\` is gone. Consumers request it.`,
    `Keep it, where it was; if it was only renamed, declare that in a change of the next version: operations: { renamed: { '${name}': '…' } }.`,
    'actions-changed',
  )

const lostSummary = (place: string, name: string): Difference =>
  makeDifference(
    `${place}.summaries.${name}`,
    'breaking',
    `The summary \`${name}\` is gone. Consumers request it.`,
    'Keep it, with fields that are not `retyped`.',
    'fixed',
  )

/** Whether a path is that of imports, below that of single creations; a resource can have this name too. */
const isImport = (path: string, { paths }: ResourceContract): boolean =>
  path.endsWith(`/${importSegment}`) &&
  Object.hasOwn(withoutParameterNames(paths), path.slice(0, -importSegment.length - 1))

const lostImports = (place: string): Difference =>
  makeDifference(
    `${place}.imports`,
    'breaking',
    'Items cannot be imported any more.',
    'Leave `imports: true`.',
    'fixed',
  )

const lostHistory = (place: string): Difference =>
  makeDifference(
    `${place}.history`,
    'breaking',
    'Revisions of items are gone. Consumers request them.',
    'Keep `history`.',
    'fixed',
  )

/** A shorter retention takes revisions away from consumers. R237. */
function historyDifferences(
  place: string,
  { history: before }: ResourceContract,
  { history: after }: ResourceContract,
): Difference[] {
  if (!before || !after || before.retention === after.retention) return []
  const [was, is] = [before.retention ?? Number.POSITIVE_INFINITY, after.retention ?? Number.POSITIVE_INFINITY]
  const at = `${place}.history`
  if (is > was) return [makeDifference(at, 'additive', 'Revisions are kept for a longer time.')]
  return [
    makeDifference(at, 'breaking', 'Revisions are kept for a shorter time.', 'Leave `retention` as it was.', 'fixed'),
  ]
}

/** Deprecating an operation breaks nothing; its announced end may be postponed, but not moved to an earlier date. */
export function deprecationDifferences(place: string, before: ResourceContract, after: ResourceContract): Difference[] {
  const [was, is] = [before.deprecations ?? {}, after.deprecations ?? {}]
  return compareMembers(was, is, (operation, had, has) => {
    const at = `${place}.deprecations.${operation}`
    if (isSameValue(had, has)) return []
    if (!has) return [makeDifference(at, 'additive', `\`${operation}\` is not deprecated any more.`)]
    const says = `\`${operation}\` ${deprecationText(has)}${had ? `, and not ${deprecationText(had)}` : ''}.`
    const sooner = had?.sunset && has.sunset && has.sunset < had.sunset
    return [
      makeDifference(
        at,
        sooner ? 'breaking' : 'additive',
        says,
        `Leave its end at ${dayText(had?.sunset ?? '')}, or put it off.`,
      ),
    ]
  })
}

/** The dates of a deprecation in words. */
export const deprecationText = ({ deprecated, sunset }: DeprecationDates): string =>
  `is deprecated from ${dayText(deprecated)} on${sunset === null ? '' : ` and planned to end on ${dayText(sunset)}`}`

/** A time as it is usually declared: midnight UTC as a date. */
export const dayText = (moment: string): string => moment.replace('T00:00:00.000Z', '')

const ruleBreadth = (rule: string): number => ['authenticated', 'public'].indexOf(rule) + 1

/** Whether the new rule admits all callers that the old one admitted, and more. Rules on items are compared by their alternatives. */
const isWiderRule = (was: string, is: string): boolean =>
  ruleBreadth(is) > ruleBreadth(was) || was.split(' or ').every((one) => is.split(' or ').includes(one))

function ruleText(rule: string): string {
  if (rule.includes('items where ')) return `known callers, as far as they have ${rule}`
  if (rule === 'public') return 'everybody'
  return rule === 'authenticated' ? 'known callers' : `callers with ${rule}`
}

/** Consumers send these names in `embed`: a lost name breaks, a new one adds. R232. */
function embedDifferences(place: string, before: ResourceContract, after: ResourceContract): Difference[] {
  const [had, has] = [before.embeds ?? [], after.embeds ?? []]
  const at = `${place}.embed`
  const lost = had.filter((name) => !has.includes(name))
  const added = has.filter((name) => !had.includes(name))
  return [
    ...lost.map((name) => makeDifference(at, 'breaking', `embed=${name} is gone.`, 'Keep it.', 'fixed')),
    ...added.map((name) => makeDifference(at, 'additive', `embed=${name} is new.`)),
  ]
}

/** Compares what a resource offers at paths that both declarations have. */
export const belowPathDifferences = [embedDifferences, historyDifferences]
