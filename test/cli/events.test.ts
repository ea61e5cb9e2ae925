/** `bylaw events`, which shows events, and repeats or skips those that a reaction could not handle. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
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
