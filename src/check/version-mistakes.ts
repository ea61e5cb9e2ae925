/** Version mistakes: names, release, deprecation and sunset of declared versions. Part 9, versions. */

import { isObject, valueInWords } from '../fields/value-check.ts'
import { dateText, timestampText } from '../formats/time-texts.ts'
import { versionLabels } from '../resources/change.ts'
import { operations, type Versions } from '../resources/declaration.ts'
import { type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys } from './resource-check.ts'

const versionKeys = ['released', 'deprecated', 'sunset', 'guide', 'policy', 'format', 'retired']

/** Checks the declared versions. R187 to R204. */
export function checkVersions(versions: unknown, context: DeclarationCheck): void {
  const all = isObject(versions) ? versions : {}
  if (versions !== undefined && (!isObject(versions) || Object.keys(all).length === 0))
    report(
      context,
      ['versions'],
      `\`versions\` is ${isObject(versions) ? 'empty' : valueInWords(versions)}.`,
      versionsMend,
    )
  for (const [label, one] of Object.entries(all)) checkVersion(label, one, context)
  const labels = Object.keys(all).every((label) => isLabel(label)) ? versionLabels({ versions: all as Versions }) : []
  const served = labels.filter((label) => !isObject(all[label]) || all[label].retired === undefined)
  const newest = labels.at(-1)
  if (newest !== undefined && versions !== undefined && !served.includes(newest))
    report(context, ['versions', newest, 'retired'], 'The newest version cannot be retired.', 'Leave `retired` out.')
  checkReleaseOrder(labels, all, context)
  const { default: usual } = context.settings.versions
  if (labels.length > 0 && isLabel(usual) && !served.includes(usual))
    report(
      context,
      ['settings', 'versions', 'default'],
      `The version ${valueInWords(usual)} is not served.`,
      `Write one of ${served.join(', ')}, 'latest' or 'required'.`,
    )
}

const versionsMend = "Write them as versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-11-20' } }."

/** Whether a text can name a version. R189. */
const isLabel = (label: string): boolean => /^v[1-9][0-9]{0,3}$/.test(label)

function checkVersion(label: string, version: unknown, context: DeclarationCheck): void {
  const path = ['versions', label]
  if (!isLabel(label)) report(context, path, 'The name is not that of a version.', 'Write v and a number, as `v2`.')
  if (!isObject(version)) {
    report(context, path, `It is ${valueInWords(version)}.`, "Write its release date, as { released: '2026-01-15' }.")
    return
  }
  checkKnownKeys(path, version, versionKeys, [], context)
  if (version.released === undefined) report(context, path, '`released` is missing.', "Write released: '2026-01-15'.")
  checkDatesAndUrls(path, version, context)
  if (version.format !== undefined && version.format !== 'true' && version.format !== 'rfc9745')
    report(context, [...path, 'format'], `It is ${valueInWords(version.format)}.`, "Write 'true' or 'rfc9745'.")
  if (version.retired !== undefined && version.retired !== true && !isReason(version.retired))
    report(
      context,
      [...path, 'retired'],
      `It is ${valueInWords(version.retired)}.`,
      'Write true, or the reason as a text.',
    )
  checkTimes(path, version, context)
}

/** Checks operations that are deprecated while their version stays. R198. */
export function checkDeprecations(
  path: DeclarationPath,
  { deprecations, methods }: UncheckedObject,
  context: DeclarationCheck,
): void {
  if (deprecations === undefined) return
  if (!isObject(deprecations)) {
    report(
      context,
      path,
      `It is ${valueInWords(deprecations)}.`,
      "Write it as { remove: { deprecated: '2026-12-01' } }.",
    )
    return
  }
  const offered = Array.isArray(methods) ? operations.filter((one) => methods.includes(one)) : operations
  for (const [operation, deprecation] of Object.entries(deprecations)) {
    const own = [...path, operation]
    if (!offered.some((one) => one === operation))
      report(context, own, `${valueInWords(operation)} is not offered.`, nameHint(operation, offered))
    if (!isObject(deprecation)) {
      report(context, own, `It is ${valueInWords(deprecation)}.`, "Write the date, as { deprecated: '2026-12-01' }.")
      continue
    }
    checkKnownKeys(own, deprecation, ['deprecated', 'sunset', 'guide', 'policy', 'successor'], [], context)
    if (deprecation.deprecated === undefined)
      report(context, own, '`deprecated` is missing.', "Write deprecated: '2026-12-01'.")
    checkDatesAndUrls(own, deprecation, context)
    checkTimes(own, deprecation, context)
  }
}

/** Checks dates of release, deprecation and sunset, and the URLs that describe them. */
function checkDatesAndUrls(path: DeclarationPath, dates: UncheckedObject, context: DeclarationCheck): void {
  for (const name of ['released', 'deprecated', 'sunset'])
    if (dates[name] !== undefined && Number.isNaN(momentOf(dates[name])))
      report(context, [...path, name], `It is ${valueInWords(dates[name])}.`, `Write a date, as ${name}: '2026-12-01'.`)
  for (const name of ['guide', 'policy', 'successor']) {
    const url = dates[name]
    if (url !== undefined && !(typeof url === 'string' && /^(https?:\/)?\/[^\s<>"\\^`{|}]+$/.test(url)))
      report(
        context,
        [...path, name],
        `It is ${valueInWords(url)}.`,
        'Write an absolute URL, or a path that begins with a slash.',
      )
  }
}

const isReason = (reason: unknown): boolean => typeof reason === 'string' && reason.trim() !== ''

/** A declared date or time in milliseconds; a date means its first moment. */
function momentOf(value: unknown): number {
  const text = typeof value === 'string' && (dateText(value) ?? timestampText(value, false))
  return text ? Date.parse(text) : Number.NaN
}

/** Release, deprecation and sunset must come in this order. R200. */
function checkTimes(path: DeclarationPath, dates: UncheckedObject, context: DeclarationCheck): void {
  const [released, deprecated, sunset] = ['released', 'deprecated', 'sunset'].map((name) => momentOf(dates[name])) as [
    number,
    number,
    number,
  ]
  if (deprecated < released)
    report(context, [...path, 'deprecated'], 'It would be deprecated before it was released.', 'Write a later date.')
  if (sunset < deprecated || sunset < released)
    report(
      context,
      [...path, 'sunset'],
      `It would end before it is ${sunset < deprecated ? 'deprecated' : 'released'}.`,
      'Write a later date.',
    )
}

/** A version with a higher number must be released later. */
function checkReleaseOrder(labels: readonly string[], all: UncheckedObject, context: DeclarationCheck): void {
  for (const [i, label] of labels.entries()) {
    const former = labels[i - 1]
    if (former === undefined || !hasMember(all, former)) continue
    const [own, last] = [all[label], all[former]].map((one) => (isObject(one) ? momentOf(one.released) : Number.NaN))
    if ((own as number) < (last as number))
      report(
        context,
        ['versions', label, 'released'],
        `It would be released before ${former}.`,
        'Give the later version the higher number.',
      )
  }
}
