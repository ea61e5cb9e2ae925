/** `bylaw events`, which shows events, and repeats or skips those that a reaction could not handle. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { testing } from 'bylaw/testing'
import { loadService } from '../../src/terminal/load.ts'
import { folder, run } from '../help/command.ts'

const files = {
  'api.ts': `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  events: true,
  resources: { orders: { prefix: 'ord', fields: { note: f.text() }, access: 'public' } },
})
`,
  'handlers.ts': `import api from './api.ts'

export default api.handlers({
  reactions: {
    copies: {
      on: ['order.created'],
      from: 'start',
      run({ event }) {
        if (event.data.note === 'bad') throw new Error('It is bad.')
      },
    },
  },
})
`,
  'plain.ts': `import { f, service } from 'bylaw'

export default service({ name: 'shop', resources: { orders: { fields: { note: f.text() }, access: 'public' } } })
`,
}

test('events are listed and shown, and failed ones are retried or skipped', async () => {
  const cwd = folder(files)
  const handlers = await loadService(join(cwd, 'handlers.ts'))
  const { call, pass, close } = testing(handlers, { database: `sqlite:${join(cwd, 'shop.db')}` })
  for (const note of ['good', 'bad']) await call('/orders', { method: 'POST', json: { note } })
  await pass('PT0.1S')
  await close()
  const events = async (...words: string[]) =>
    (await run(['events', ...words, '--database', 'sqlite:./shop.db'], { cwd })).stdout
  const listed = JSON.parse(await events('list', 'api.ts', '--json'))
  assert.deepEqual(
    listed.map(({ type, sequence }: { type: string; sequence: number }) => `${type} ${sequence}`),
    ['order.created 1', 'order.created 1'],
  )
  assert.match(await events('list', 'api.ts'), /order\.created +ord_\w+ +1 +evt_\w+/)
  assert.equal(JSON.parse(await events('show', 'api.ts', listed[1].id)).data.note, 'bad')
  assert.match(await events('parked', 'handlers.ts'), /copies +evt_\w+ +order\.created +waiting +1 .*It is bad\./)
  assert.equal((await events('retry', 'handlers.ts')).trim(), '1 event was retried.')
  assert.match(await events('parked', 'handlers.ts'), /copies +evt_\w+ +order\.created +waiting +0 .*It is bad\./)
  assert.equal(
    (await events('skip', 'handlers.ts', listed[1].id, '--reaction', 'copies')).trim(),
    '1 event was skipped.',
  )
  assert.equal((await events('parked', 'handlers.ts')).trim(), 'No reaction has failed.')
  const odd = await run(['events', 'gone', 'api.ts'], { cwd })
  assert.match(odd.stderr, /There is no action "gone"/)
  const plain = await run(['events', 'list', 'plain.ts'], { cwd })
  assert.match(plain.stderr, /The service has no events/)
})

test('all failures are found, however many there are, and unknown names and ids are refused', async () => {
  const cwd = folder(files)
  const handlers = await loadService(join(cwd, 'handlers.ts'))
  const file = join(cwd, 'shop.db')
  await testing(handlers, { database: `sqlite:${file}` }).close()
  const database = new DatabaseSync(file)
  database.exec(`INSERT INTO bylaw_reactions VALUES ('archives', 0, 0, '');
    INSERT INTO bylaw_reaction_failures (reaction, event, position, item, state, due, tries, failure)
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1100)
        SELECT 'archives', 'evt_' || n, n, 'ord_' || n, 'parked', 0, 7, 'It is bad.' FROM numbers;
    INSERT INTO bylaw_reaction_failures (reaction, event, position, item, state, due, tries, failure)
      VALUES ('copies', 'evt_1', 1, 'ord_1', 'parked', 0, 7, 'It is bad.'),
        ('copies', 'evt_2', 2, 'ord_1', 'waiting', 0, 0, NULL);`)
  database.close()
  const events = (...words: string[]) => run(['events', ...words, '--database', 'sqlite:./shop.db'], { cwd })
  const parked = JSON.parse((await events('parked', 'handlers.ts', '--reaction', 'copies', '--json')).stdout)
  assert.deepEqual(
    parked.map(({ event, state }: { event: string; state: string }) => `${event} ${state}`),
    ['evt_1 parked', 'evt_2 behind'],
  )
  assert.equal((await events('retry', 'handlers.ts')).stdout.trim(), '1101 events were retried.')

  const refused = async (...words: string[]) => {
    const { code, stderr } = await events(...words)
    assert.equal(code, 1, words.join(' '))
    return stderr
  }
  assert.match(
    await refused('parked', 'handlers.ts', '--reaction', 'copys'),
    /no reaction "copys".*\n.*Did you mean copies\?/,
  )
  assert.match(
    await refused('retry', 'handlers.ts', '--reaction', 'mails'),
    /no reaction "mails".*\n.*archives and copies/,
  )
  assert.match(
    await refused('skip', 'handlers.ts', 'evt_9999'),
    /No reaction has failed at the event evt_9999.*\n.*events parked/,
  )
  assert.match(
    await refused('retry', 'handlers.ts', 'evt_3', '--reaction', 'copies'),
    /copies has not failed at the event evt_3/,
  )
  assert.match(
    await refused('retry', 'handlers.ts', 'evt_2', '--reaction', 'copies'),
    /evt_2 waits for an earlier event of its item.*\n.*Retry or skip that one/,
  )
  assert.match(await refused('list', 'handlers.ts', 'evt_2'), /list takes no event/)
  assert.equal(
    (await events('skip', 'handlers.ts', 'evt_2', '--reaction', 'copies')).stdout.trim(),
    '1 event was skipped.',
  )
})
