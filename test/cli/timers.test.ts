/** `bylaw timers`, which lists transitions by the clock and repeats refused ones. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { loadService } from '../../src/terminal/load.ts'
import { folder, run } from '../help/command.ts'
import { asked } from '../help/file.ts'

const declared = (after: string) => `import { f, service } from 'bylaw'

export default service({
  name: 'tests',
  resources: {
    things: {
      prefix: 'thg',
      fields: { name: f.text() },
      states: { field: 'state', initial: 'open', transitions: { endings: { from: ['open'], to: 'ended'${after} } } },
      access: 'public',
    },
  },
})
`

test('the items that wait are listed, and retry says how many are due', async () => {
  const cwd = folder({ 'api.ts': declared(", after: 'P1D'"), 'plain.ts': declared('') })
  const api = await loadService(join(cwd, 'api.ts'))
  const database = ['--database', 'sqlite:./things.db']
  await run(['migrate', 'apply', 'api.ts', ...database], { cwd })
  const none = await run(['timers', 'list', 'api.ts', ...database], { cwd })
  assert.equal(none.stdout.trim(), 'No item waits for a transition by the clock.')
  const [made] = await asked(join(cwd, 'things.db'), api, ['POST', '/things', { name: 'a' }])
  const { stdout } = await run(['timers', 'list', 'api.ts', ...database, '--json'], { cwd })
  const [timer] = JSON.parse(stdout)
  assert.deepEqual([timer.id, timer.transition, timer.tries], [made?.json.id, 'endings', 0])
  assert.match((await run(['timers', 'list', 'api.ts', ...database], { cwd })).stdout, /things\/thg_\w+ +endings/)
  assert.equal((await run(['timers', 'retry', 'api.ts', ...database], { cwd })).stdout.trim(), '0 are due now.')
  const odd = await run(['timers', 'run', 'api.ts', ...database], { cwd })
  assert.deepEqual([odd.code, /There is no action "run"/.test(odd.stderr)], [1, true])
  const plain = await run(['timers', 'list', 'plain.ts', ...database], { cwd })
  assert.match(plain.stderr, /No transition takes place by the clock\./)
})

test('R223: a plan counts the items that are due as soon as a transition by the clock begins', async () => {
  const files = {
    'old.ts': declared(''),
    'later.ts': declared(", after: 'PT0.001S'"),
    'now.ts': declared(", after: 'PT0.001S', catchUp: true"),
  }
  const cwd = folder(files)
  const make = ['POST', '/things', { name: 'a' }] as const
  await asked(join(cwd, 'things.db'), await loadService(join(cwd, 'old.ts')), make, make)
  const planned = async (file: string) =>
    (await run(['migrate', 'plan', file, '--database', 'sqlite:./things.db'], { cwd })).stdout
  assert.match(await planned('now.ts'), /^-- due at once for endings of things: 2 items$/m)
  assert.doesNotMatch(await planned('later.ts'), /due at once/)
})

test('the refused ones are listed first, however many others are due before them', async () => {
  const cwd = folder({ 'api.ts': declared(", after: 'P1D'") })
  const database = ['--database', 'sqlite:./things.db']
  await run(['migrate', 'apply', 'api.ts', ...database], { cwd })
  const file = new DatabaseSync(join(cwd, 'things.db'))
  file.exec(`INSERT INTO bylaw_timers (collection, account, parent, id, transition, due, taken, tries, failure)
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200)
        SELECT 'things', '', '', 'thg_' || n, 'endings', n, 0, 0, NULL FROM numbers;
    INSERT INTO bylaw_timers (collection, account, parent, id, transition, due, taken, tries, failure)
      VALUES ('things', '', '', 'thg_late', 'endings', 5000, 0, 2, 'It is in use.')`)
  file.close()
  const listed = JSON.parse((await run(['timers', 'list', 'api.ts', '--json', ...database], { cwd })).stdout)
  const ids = listed.map(({ id }: { id: string }) => id)
  assert.deepEqual([ids.length, ids.slice(0, 3)], [100, ['thg_late', 'thg_1', 'thg_2']])
  const { stdout } = await run(['timers', 'list', 'api.ts', ...database], { cwd })
  assert.match(stdout, /thg_late +endings +refused 2 times: It is in use\./)
  assert.match(stdout, /thg_99 .*\nThese are the first 100\.\n$/)
})
