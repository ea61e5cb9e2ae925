/** Tiers: checks declared tiers and their quotas. Part 8, request counts. */

import { isObject, valueInWords } from '../fields/value-check.ts'
import { isKebab, listInWords, toKebab } from '../formats/naming.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import { partitions } from '../resources/declaration.ts'
import { type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { checkKnownKeys } from './resource-check.ts'

const mostQuota = 1_000_000_000_000
const day = 86_400_000
const wholeNumberMend = 'Write a whole number of requests from 1, as'

/** Checks all tiers. R181. */
export function checkTiers(tiers: unknown, context: DeclarationCheck): void {
  if (!isObject(tiers)) return
  for (const [name, tier] of Object.entries(tiers)) {
    const path = ['tiers', name]
    checkKebabName(path, context)
    if (!isObject(tier) || Object.keys(tier).every((key) => key === 'features')) {
      const reason = isObject(tier) ? 'The tier has no quota.' : `It is ${valueInWords(tier)}.`
      report(context, path, reason, 'Write an object of quotas, as { hourly: 1000 }.')
      continue
    }
    for (const [policy, quota] of Object.entries(tier))
      if (policy === 'features') checkFeatures([...path, policy], quota, context)
      else checkQuota([...path, policy], quota, context)
  }
}

/** Checks the features of a tier. R191. */
function checkFeatures(path: DeclarationPath, features: unknown, context: DeclarationCheck): void {
  if (Array.isArray(features) && features.every((one) => typeof one === 'string' && one !== '')) return
  report(context, path, `\`features\` is ${valueInWords(features)}.`, "Write a list of names, as features: ['v2'].")
}

/** Names of tiers, quotas and error types appear in headers and errors, so they must be in kebab-case. */
export function checkKebabName(path: DeclarationPath, context: DeclarationCheck): void {
  const name = path.at(-1) as string
  const better = toKebab(name)
  const mend = isKebab(better) ? `Write \`${better}\`.` : 'Write lowercase letters, digits and dashes.'
  if (!isKebab(name)) report(context, path, 'The name is not in kebab-case.', mend)
}

function checkQuota(path: DeclarationPath, quota: unknown, context: DeclarationCheck): void {
  checkKebabName(path, context)
  const name = path.at(-1) as string
  if (typeof quota === 'number' && name === 'hourly') {
    if (!isQuota(quota)) report(context, path, `The quota is ${quota}.`, `${wholeNumberMend} hourly: 1000.`)
  } else if (isObject(quota)) checkQuotaParts(path, quota, context)
  else
    report(
      context,
      path,
      typeof quota === 'number' ? 'The quota has no window.' : `It is ${valueInWords(quota)}.`,
      `Write ${name}: { quota: ${isQuota(quota) ? quota : 20}, window: 'PT1M' }; only \`hourly\` may be a number alone.`,
    )
}

const isQuota = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= mostQuota

function checkQuotaParts(
  path: DeclarationPath,
  declared: Readonly<Record<string, unknown>>,
  context: DeclarationCheck,
): void {
  const [, tier, name] = path
  checkKnownKeys(path, declared, ['quota', 'window', 'partition'], [], context)
  const { quota, window, partition } = declared
  if (!isQuota(quota))
    report(context, [...path, 'quota'], `The quota is ${valueInWords(quota)}.`, `${wholeNumberMend} quota: 1000.`)
  const time = typeof window === 'string' ? durationMilliseconds(window) : undefined
  if (name !== 'hourly' && window === undefined)
    report(context, path, 'The quota has no window.', "Write window: 'PT1M', or call the quota `hourly`.")
  if (window !== undefined && (time === undefined || time < 1000 || time % 1000 !== 0 || time > 366 * day))
    report(
      context,
      [...path, 'window'],
      `The window is ${valueInWords(window)}.`,
      "Write an ISO 8601 duration of whole seconds up to 366 days, as 'PT1S', 'PT1H' or 'P1D'.",
    )
  if (name === 'hourly' && time !== undefined && time !== 3_600_000)
    report(context, [...path, 'window'], 'The window of `hourly` is one hour.', 'Leave it out, or rename the quota.')
  if (partition !== undefined && !partitions.some((one) => one === partition))
    report(
      context,
      [...path, 'partition'],
      `The partition is ${valueInWords(partition)}.`,
      `Write ${listInWords(partitions.map((one) => `'${one}'`))}.`,
    )
  if (partition === 'caller' && tier === 'anonymous')
    report(
      context,
      [...path, 'partition'],
      'Anonymous callers have no identity to count by.',
      "Write partition: 'address', the default, or 'tier' to count all of them together.",
    )
}
