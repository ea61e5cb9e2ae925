/** Handlers of transitions by the clock: one that fails is put off, and keeps back no other item. R223, R227. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'

const tasks = service({
  name: 'tasks',
  resources: {
    tasks: {
      prefix: 'tsk',
      fields: { text: f.text() },
      states: {
        field: 'status',
        initial: 'open',
        transitions: { expiries: { from: ['open'], to: 'closed', after: 'P1D' } },
      },
      access: 'public',
    },
  },
})

test('R223 R227: a handler that throws delays only the transition of its own item', async () => {
  let broken = true
  const handlers = tasks.handlers({
    tasks: {
      expiries({ item }) {
        if (broken && item.text === 'first') throw new Error('The printer is on fire.')
      },
    },
  })
  const { call, pass, close, logged } = testing(handlers)
  const ids: string[] = []
  for (const text of ['first', 'second', 'third']) {
    const made = await call('/tasks', { method: 'POST', json: { text } })
    ids.push(((await made.json()) as { id: string }).id)
  }
  const states = () =>
    Promise.all(ids.map(async (id) => ((await (await call(`/tasks/${id}`)).json()) as { status: string }).status))
  await pass('P1D')
  assert.deepEqual(await states(), ['open', 'closed', 'closed'])
  assert.ok(logged.some(({ about }) => String((about.err as Error)?.message).includes('The printer is on fire.')))
  broken = false
  await pass('PT1H')
  assert.deepEqual(await states(), ['closed', 'closed', 'closed'])
  await close()
})

test('R228: an operation that a transition by the clock starts belongs to the account of its item', async () => {
  const ran: unknown[] = []
  const owned = service({
    name: 'owned',
    scopes: { tasks: 'Everything' },
    resources: {
      tasks: {
        prefix: 'tsk',
        owner: 'teamId',
        fields: { text: f.text() },
        states: {
          field: 'status',
          initial: 'open',
          transitions: { expiries: { from: ['open'], to: 'closed', after: 'P1D' } },
        },
        operations: { notices: { at: 'item', asynchronous: true } },
        access: 'tasks',
      },
    },
  }).handlers({
    tasks: {
      expiries: ({ item, later }) => void later('tasks.notices', {}, { id: item.id }),
      notices: ({ item, caller }) => void ran.push([item.text, caller.account]),
    },
  })
  const { call, pass, close } = testing(owned)
  const as = { account: 'one', scopes: ['tasks'] }
  assert.equal((await call('/tasks', { method: 'POST', json: { text: 'first' }, as })).status, 201)
  await pass('P1D')
  await pass('PT1M')
  assert.deepEqual(ran, [['first', 'one']])
  await close()
})
