/** Finds what is wrong with the versions that a service declares: their names, and when they come and go. Part 9, versions. */
import { labelsOf, type Versions } from '../resources/change.ts'
import { operations } from '../resources/declaration.ts'
import { date, timestamp } from '../resources/time.ts'
import { isObject } from '../resources/values.ts'
import { type Given, guessed, has, shown } from './bounds.ts'
import { checkKeys } from './profile.ts'
import { type Ground, note, type Path } from './soundness.ts'

const keys = ['released', 'deprecated', 'sunset', 'guide', 'policy', 'format', 'retired']

/** R187 to R204. */
export function checkVersions(given: unknown, ground: Ground): void {
  const all = isObject(given) ? given : {}
  if (given !== undefined && (!isObject(given) || Object.keys(all).length === 0))
    note(ground, ['versions'], `\`versions\` is ${isObject(given) ? 'empty' : shown(given)}.`, written)
  for (const [label, one] of Object.entries(all)) checkVersion(label, one, ground)
  const labels = Object.keys(all).every((label) => isLabel(label)) ? labelsOf({ versions: all as Versions }) : []
  const served = labels.filter((label) => !isObject(all[label]) || all[label].retired === undefined)
  const newest = labels.at(-1)
  if (newest !== undefined && given !== undefined && !served.includes(newest))
    note(ground, ['versions', newest, 'retired'], 'The newest version cannot be retired.', 'Leave `retired` out.')
  checkOrder(labels, all, ground)
  const { default: usual } = ground.settings.versions
  if (labels.length > 0 && isLabel(usual) && !served.includes(usual))
    note(
      ground,
      ['settings', 'versions', 'default'],
      `The version ${shown(usual)} is not served.`,
      `Write one of ${served.join(', ')}, 'latest' or 'required'.`,
    )
}

const written = "Write them as versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-11-20' } }."

/** R189. */
const isLabel = (label: string): boolean => /^v[1-9][0-9]{0,3}$/.test(label)

function checkVersion(label: string, given: unknown, ground: Ground): void {
  const path = ['versions', label]
  if (!isLabel(label)) note(ground, path, 'The name is not one of a version.', 'Write v and a number, as `v2`.')
  if (!isObject(given)) {
    note(ground, path, `It is ${shown(given)}.`, "Write when it came, as { released: '2026-01-15' }.")
    return
  }
  checkKeys(path, given, keys, [], ground)
  if (given.released === undefined)
    note(ground, path, 'It is not said when the version came.', "Write released: '2026-01-15'.")
  checkWays(path, given, ground)
  if (given.format !== undefined && given.format !== 'true' && given.format !== 'rfc9745')
    note(ground, [...path, 'format'], `It is ${shown(given.format)}.`, "Write 'true' or 'rfc9745'.")
  if (given.retired !== undefined && given.retired !== true && !isReason(given.retired))
    note(ground, [...path, 'retired'], `It is ${shown(given.retired)}.`, 'Write true, or the reason as a text.')
  checkTimes(path, given, ground)
}

/** Operations that go while their version stays. R198. */
export function checkDeprecations(path: Path, { deprecations, methods }: Given, ground: Ground): void {
  if (deprecations === undefined) return
  if (!isObject(deprecations)) {
    note(ground, path, `It is ${shown(deprecations)}.`, "Write it as { remove: { deprecated: '2026-12-01' } }.")
    return
  }
  const offered = Array.isArray(methods) ? operations.filter((one) => methods.includes(one)) : operations
  for (const [operation, given] of Object.entries(deprecations)) {
    const own = [...path, operation]
    if (!offered.some((one) => one === operation))
      note(ground, own, `${shown(operation)} is not offered.`, guessed(operation, offered))
    if (!isObject(given)) {
      note(ground, own, `It is ${shown(given)}.`, "Write from when on, as { deprecated: '2026-12-01' }.")
      continue
    }
    checkKeys(own, given, ['deprecated', 'sunset', 'guide', 'policy', 'successor'], [], ground)
    if (given.deprecated === undefined)
      note(ground, own, 'It is not said from when on it is deprecated.', "Write deprecated: '2026-12-01'.")
    checkWays(own, given, ground)
    checkTimes(own, given, ground)
  }
}

/** When something comes and goes, and where that is described. */
function checkWays(path: Path, given: Given, ground: Ground): void {
  for (const name of ['released', 'deprecated', 'sunset'])
    if (given[name] !== undefined && Number.isNaN(momentOf(given[name])))
      note(ground, [...path, name], `It is ${shown(given[name])}.`, `Write a date, as ${name}: '2026-12-01'.`)
  for (const name of ['guide', 'policy', 'successor']) {
    const url = given[name]
    if (url !== undefined && !(typeof url === 'string' && /^(https?:\/)?\/[^\s<>"\\^`{|}]+$/.test(url)))
      note(
        ground,
        [...path, name],
        `It is ${shown(url)}.`,
        'Write an absolute URL, or a path that begins with a slash.',
      )
  }
}

const isReason = (given: unknown): boolean => typeof given === 'string' && given.trim() !== ''

/** The moment that is declared, in milliseconds: of a date its first one. */
function momentOf(given: unknown): number {
  const known = typeof given === 'string' && (date(given) ?? timestamp(given, false))
  return known ? Date.parse(known) : Number.NaN
}

/** R200: nothing ends before it is told to. */
function checkTimes(path: Path, given: Given, ground: Ground): void {
  const [released, deprecated, sunset] = ['released', 'deprecated', 'sunset'].map((name) => momentOf(given[name])) as [
    number,
    number,
    number,
  ]
  if (deprecated < released)
    note(ground, [...path, 'deprecated'], 'It would be deprecated before it was released.', 'Write a later date.')
  if (sunset < deprecated || sunset < released)
    note(
      ground,
      [...path, 'sunset'],
      `It would end before it is ${sunset < deprecated ? 'deprecated' : 'released'}.`,
      'Write a later date.',
    )
}

/** A version with a higher number is a later one. */
function checkOrder(labels: readonly string[], all: Given, ground: Ground): void {
  for (const [i, label] of labels.entries()) {
    const former = labels[i - 1]
    if (former === undefined || !has(all, former)) continue
    const [own, last] = [all[label], all[former]].map((one) => (isObject(one) ? momentOf(one.released) : Number.NaN))
    if ((own as number) < (last as number))
      note(
        ground,
        ['versions', label, 'released'],
        `It would have come before ${former}.`,
        'Give the later version the higher number.',
      )
  }
}
