/** On a database sharded like Citus, asynchronous operations outlast kills, lost connections and conflicts. R228. The store. */
import { test } from 'node:test'
import { bank } from '../help/job-node.ts'
import { outlastsCuts, outlastsFailures, outlastsKills, sharesWork } from '../help/job-trials.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import { spreadPlace } from '../help/spread.ts'

const trials = {
  "a killed worker's operation is run again, and no step twice": outlastsKills,
  'two workers do each step once': sharesWork,
  'a step that the store refuses is tried again at once, and one whose commit seemed to fail is not': outlastsFailures,
  'steps are done once while the connections of the nodes are cut': outlastsCuts,
}
for (const [name, trial] of Object.entries(trials))
  test(`R228: ${name}, sharded`, async (t) => trial(t, await spreadPlace(t, bank)))

test('R228: steps are done once while the connections of the nodes are cut', async (t) => {
  const { url, drop } = await freshPostgres()
  t.after(drop)
  await outlastsCuts(t, { url, rows: (text) => sql(url, text), now: '' })
})
