/** Time texts: dates, date-times, durations and intervals of ISO 8601, checked as texts. Part 2, date and time. */

const timestampParts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/
const dateParts = /^(\d{4})-(\d\d)-(\d\d)$/
const weeksPattern = /^P\d{1,9}(?:\.\d{1,9})?W$/
const durationParts =
  /^P(?:(\d{1,9}(?:\.\d{1,9})?)Y)?(?:(\d{1,9}(?:\.\d{1,9})?)M)?(?:(\d{1,9}(?:\.\d{1,9})?)D)?(?:T(?:(\d{1,9}(?:\.\d{1,9})?)H)?(?:(\d{1,9}(?:\.\d{1,9})?)M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?$/

/** The accepted forms: as the service writes it (`written`), in UTC, or with any offset. */
type ZoneForm = 'written' | 'utc' | 'any'

const dateSource = String.raw`\d{4}-\d\d-\d\d`
const zoneSources = {
  written: String.raw`\.\d{3}Z`,
  utc: String.raw`(?:\.\d{1,9})?Z`,
  any: String.raw`(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)`,
}
const timestampSource = (zoned: ZoneForm): string => String.raw`${dateSource}T\d\d:\d\d:\d\d` + zoneSources[zoned]
const amountSource = String.raw`\d{1,9}(?:\.\d{1,9})?`
/** A part must follow each P and T, and only the last part may have a fraction. */
const durationSource = String.raw`P(?=\d|T\d)(?![^/]*\.\d+[A-Z]T?\d)(?:${amountSource}W|(?:${amountSource}Y)?(?:${amountSource}M)?(?:${amountSource}D)?(?:T(?=\d)(?:${amountSource}H)?(?:${amountSource}M)?(?:${amountSource}S)?)?)`

/** The patterns of accepted texts, for descriptions. */
export const timestampPattern = (zoned: ZoneForm): string => `^${timestampSource(zoned)}$`
export const durationPattern = `^${durationSource}$`
export function intervalPattern(zoned: ZoneForm): string {
  const moment = timestampSource(zoned)
  const point = `(?:${moment}|${dateSource})`
  return `^(?:${moment}/${moment}|${dateSource}/${dateSource}|${point}/${durationSource}|${durationSource}/${point})$`
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function isCalendarDay(year: string, month: string, dayOfMonth: string): boolean {
  const [m, d] = [Number(month), Number(dayOfMonth)]
  return m >= 1 && m <= 12 && d >= 1 && d <= daysIn(Number(year), m)
}

/** The text of a calendar date; undefined if it is invalid. R40. */
export function dateText(text: string): string | undefined {
  const [, year, month, dayOfMonth] = dateParts.exec(text) ?? []
  return year && isCalendarDay(year, month as string, dayOfMonth as string) ? text : undefined
}

/** A date-time as the service writes it, with three fraction digits (more are cut); undefined if it is invalid. R38, R39. */
export function timestampText(text: string, offsets = false): string | undefined {
  const [, year, month, dayOfMonth, hour, minute, second, fraction = '', zone] = timestampParts.exec(text) ?? []
  if (!year || !isCalendarDay(year, month as string, dayOfMonth as string)) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const local = `${text.slice(0, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
  if (zone === 'Z') return local
  return offsets ? inUtc(local, zone as string) : undefined
}

function inUtc(local: string, zone: string): string | undefined {
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))]
  if (hours > 23 || minutes > 59) return undefined
  const offset = (hours * 60 + minutes) * 60_000
  const utc = new Date(Date.parse(local) + (zone[0] === '+' ? -offset : offset)).toISOString()
  return utc.length === 24 ? utc : undefined // years before 0 or after 9999 have more digits
}

/** The text of a duration with at least one part, and a fraction only in the last one; undefined if it is invalid. R40. */
export function durationText(text: string): string | undefined {
  if (weeksPattern.test(text)) return text
  const parts = durationParts
    .exec(text)
    ?.slice(1)
    .filter((part) => part !== undefined)
  if (!parts || parts.length === 0 || text.endsWith('T')) return undefined
  return parts.slice(0, -1).some((part) => part.includes('.')) ? undefined : text
}

/** An interval (`start/end`, `start/duration` or `duration/end`) with date-times as the service writes them. R40. */
export function intervalText(text: string, offsets = false): string | undefined {
  const [left = '', right = '', ...more] = text.split('/')
  if (more.length > 0) return undefined
  const moment = (part: string) => timestampText(part, offsets) ?? dateText(part)
  const [start, end] = [moment(left), moment(right)]
  if (start && end) return start.length === end.length && start <= end ? `${start}/${end}` : undefined
  if (start && durationText(right)) return `${start}/${right}`
  return end && durationText(left) ? `${left}/${end}` : undefined
}

const unitMilliseconds: Record<string, number> = { W: 604_800_000, D: 86_400_000, H: 3_600_000, M: 60_000, S: 1000 }

/** A duration of a setting in milliseconds; months and years have no fixed length and are refused. */
export function durationMilliseconds(text: string): number | undefined {
  if (!durationText(text)) return undefined
  const [days = '', times = ''] = text.slice(1).split('T')
  if (/[YM]/.test(days)) return undefined
  let total = 0
  for (const [, amount, letter] of (days + times).matchAll(/([\d.]+)([WDHMS])/g))
    total += Number(amount) * (unitMilliseconds[letter as string] as number)
  return total
}

/** A time as documents have it. */
export const timestampOf = (time: number): string => new Date(time).toISOString()
