/** Judges tiers and their quotas. Part 8, request counts. */
import { partitions } from '../resources/declaration.ts'
import { isKebab, kebab, oneOf } from '../resources/naming.ts'
import { milliseconds } from '../resources/time.ts'
import { isObject } from '../resources/values.ts'
import { shown } from './bounds.ts'
import { checkKeys } from './profile.ts'
import { type Ground, note, type Path } from './soundness.ts'

const mostQuota = 1_000_000_000_000
const day = 86_400_000
const whole = 'Write a whole number of requests from 1, as'

/** R181. */
export function checkTiers(given: unknown, ground: Ground): void {
  if (!isObject(given)) return
  for (const [name, tier] of Object.entries(given)) {
    const path = ['tiers', name]
    checkName(path, ground)
    if (!isObject(tier) || Object.keys(tier).every((key) => key === 'features')) {
      const reason = isObject(tier) ? 'The tier has no quota.' : `It is ${shown(tier)}.`
      note(ground, path, reason, 'Write an object of quotas, as { hourly: 1000 }.')
      continue
    }
    for (const [policy, quota] of Object.entries(tier))
      if (policy === 'features') checkFeatures([...path, policy], quota, ground)
      else checkQuota([...path, policy], quota, ground)
  }
}

/** What all callers of the tier have. R191. */
function checkFeatures(path: Path, given: unknown, ground: Ground): void {
  if (Array.isArray(given) && given.every((one) => typeof one === 'string' && one !== '')) return
  note(ground, path, `\`features\` is ${shown(given)}.`, "Write a list of names, as features: ['v2'].")
}

/** Names travel in headers and in errors. */
function checkName(path: Path, ground: Ground): void {
  const name = path.at(-1) as string
  const better = kebab(name)
  const mend = isKebab(better) ? `Write \`${better}\`.` : 'Write small letters, digits and dashes.'
  if (!isKebab(name)) note(ground, path, 'The name is not in kebab-case.', mend)
}

function checkQuota(path: Path, given: unknown, ground: Ground): void {
  checkName(path, ground)
  const name = path.at(-1) as string
  if (typeof given === 'number' && name === 'hourly') {
    if (!isQuota(given)) note(ground, path, `The quota is ${given}.`, `${whole} hourly: 1000.`)
  } else if (isObject(given)) checkParts(path, given, ground)
  else
    note(
      ground,
      path,
      typeof given === 'number' ? 'It is not said for which time.' : `It is ${shown(given)}.`,
      `Write ${name}: { quota: ${isQuota(given) ? given : 20}, window: 'PT1M' }; a number alone is for \`hourly\`.`,
    )
}

const isQuota = (given: unknown): given is number =>
  Number.isInteger(given) && Number(given) >= 1 && Number(given) <= mostQuota

function checkParts(path: Path, given: Readonly<Record<string, unknown>>, ground: Ground): void {
  const [, tier, name] = path
  checkKeys(path, given, ['quota', 'window', 'partition'], [], ground)
  const { quota, window, partition } = given
  if (!isQuota(quota)) note(ground, [...path, 'quota'], `The quota is ${shown(quota)}.`, `${whole} quota: 1000.`)
  const time = typeof window === 'string' ? milliseconds(window) : undefined
  if (name !== 'hourly' && window === undefined)
    note(ground, path, 'It is not said for which time.', "Write window: 'PT1M', or call the quota `hourly`.")
  if (window !== undefined && (time === undefined || time < 1000 || time % 1000 !== 0 || time > 366 * day))
    note(
      ground,
      [...path, 'window'],
      `The window is ${shown(window)}.`,
      "Write an ISO 8601 duration of whole seconds up to 366 days, as 'PT1S', 'PT1H' or 'P1D'.",
    )
  if (name === 'hourly' && time !== undefined && time !== 3_600_000)
    note(ground, [...path, 'window'], 'The quota is called `hourly`.', 'Leave `window` out, or write another name.')
  if (partition !== undefined && !partitions.some((one) => one === partition))
    note(
      ground,
      [...path, 'partition'],
      `The partition is ${shown(partition)}.`,
      `Write ${oneOf(partitions.map((one) => `'${one}'`))}.`,
    )
  if (partition === 'caller' && tier === 'anonymous')
    note(
      ground,
      [...path, 'partition'],
      'Anonymous callers cannot be told apart.',
      "Write partition: 'address', which is meant anyway, or 'tier' for all of them together.",
    )
}
