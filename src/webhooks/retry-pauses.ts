/** Retry pauses: the pauses before a failed delivery or reaction is tried again, and what ends the tries. Part 6, webhooks. */
import { parseHttpDate } from '../formats/http-date.ts'

const [second, minute, hour] = [1000, 60_000, 3_600_000]
const deliveryPauses = [5 * second, 5 * minute, 30 * minute, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)]
const reactionPauses = [second, 10 * second, minute, 10 * minute, hour, 6 * hour, 24 * hour]
/** How much longer a pause may be at random, so that deliveries that failed together are not retried together. */
const mostJitter = 0.2
/** The longest pause that an endpoint can ask for. */
const mostWait = 24 * hour

interface FailedDelivery {
  /** How many attempts have failed, this one included. */
  readonly failures: number
  /** The header `Retry-After` of the answer. */
  readonly retryAfter: string | null
  /** The wall clock, in milliseconds. */
  readonly now: number
  /** A number from 0 to 1. */
  readonly random: number
}

/** The time until the next attempt of a delivery in milliseconds; null after the last one. `Retry-After` can only lengthen it. R210. */
export function deliveryPause({ failures, retryAfter, now, random }: FailedDelivery): number | null {
  const pause = deliveryPauses[failures - 1]
  if (pause === undefined) return null
  const wait = Math.min(retryAfterTime(retryAfter, now), mostWait)
  return Math.max(Math.round(pause * (1 + mostJitter * random)), wait)
}

/** The time until a reaction is tried again in milliseconds; null if its event is parked. R231. */
export const reactionPause = (failures: number): number | null => reactionPauses[failures - 1] ?? null

/** Whether an answer says that the endpoint is gone for good. R210. */
export const disablesEndpoint = (responseStatus: number | null): boolean => responseStatus === 410

/** The pause that `Retry-After` asks for, in seconds or up to a date; 0 if it is missing or malformed. */
function retryAfterTime(text: string | null, now: number): number {
  if (text === null) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text) * second
  const date = parseHttpDate(text)
  return date === null ? 0 : Math.max(0, date * second - now)
}
