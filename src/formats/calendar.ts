/** Calendar: the times of cron patterns in a time zone. Part 4, methods. */
import { Cron } from 'croner'

/** When something is due: the minutes, hours and days of a cron pattern, in a time zone. */
export interface Calendar {
  readonly cron: string
  readonly zone: string
}

/** The first time after another one, in milliseconds; null if there is none. Throws if the pattern or the zone is wrong. */
export function nextTime({ cron, zone }: Calendar, after: number): number | null {
  const next = new Cron(cron, { timezone: zone, mode: '5-part', paused: true }).nextRun(new Date(after))
  return next === null ? null : next.getTime()
}
