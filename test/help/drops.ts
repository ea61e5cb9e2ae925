/** Helpers for tests of dropped fields: refused starts, starts that may drop values, and the stored copies of dropped values. */
import assert from 'node:assert/strict'
import type { Field, Service } from 'bylaw'
import { openMigration } from '../../src/terminal/open.ts'
import { things } from './file.ts'
import { nodeOn, type Place } from './places.ts'

export type Fields = Record<string, Field>
type Ask = ReturnType<typeof nodeOn>['ask']

/** Runs a service while `act` sends requests to it. */
export async function during<T>(
  place: Place,
  api: Service,
  act: (ask: Ask) => Promise<T>,
  allowLoss?: string[],
): Promise<T> {
  const node = nodeOn(place, api, allowLoss)
  try {
    return await act(node.ask)
  } finally {
    await node.close()
  }
}

export const add = (place: Place, api: Service, ...rows: object[]) =>
  during(place, api, async (ask) => {
    const ids: string[] = []
    for (const row of rows) ids.push((await ask('POST', '/things', row)).json.id)
    return ids
  })

/** The message of a start that is refused. */
export async function refusal(place: Place, api: Service, allowLoss?: string[]): Promise<string> {
  try {
    await during(place, api, (ask) => ask('GET', '/things'), allowLoss)
  } catch (error) {
    return (error as Error).message
  }
  return assert.fail('it started')
}

export const drop = (place: Place, fields: Fields, ...names: string[]) =>
  during(place, things(fields), (ask) => ask('GET', '/things'), names)

export async function undrop({ url }: Place, api: Service) {
  const migration = await openMigration(api, url)
  try {
    return (await migration.undrop()).map(({ field, because }) => `${field}: ${because ?? 'put back'}`).sort()
  } finally {
    migration.close()
  }
}

export const copies = async (place: Place) =>
  (await place.rows('SELECT field, value FROM bylaw_dropped ORDER BY field, value')).map(
    ({ field, value }) => `${field} ${value}`,
  )
