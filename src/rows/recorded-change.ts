/** Recorded change: the identity and the time of the event that records a change of a row. Part 6. R206. */
import { hash } from 'node:crypto'
import { idAt } from '../formats/id.ts'

/** The time of the last change is always the last member, so it can be read and replaced without parsing. */
export const updatedAtIn = (doc: string): string => doc.slice(-26, -2)
export const withUpdatedAt = (doc: string, time: string): string => `${doc.slice(0, -26)}${time}"}`

/**
 * The id of the event of a change, a digest of the given values: the same change has the same id in every try. The hash is a
 * text
 * of single bytes, as Node takes three times as long to make a buffer of it.
 */
export const eventIdOf = (at: number, change: readonly (string | number | null)[]): string =>
  idAt('evt', at, hash('sha256', JSON.stringify(change), 'latin1'))

/** When a row was changed: as its document says, or at a later time. In milliseconds. */
export const changeTime = (doc: string, time: number): number => Math.max(Date.parse(updatedAtIn(doc)) || 0, time)
