/** How often a store is asked for lists that are repeated, and what a list costs that is not. The store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import pg from 'pg'
import type { Store } from '../../src/flow/store.ts'
import { doors } from '../help/door.ts'

const library = service({
  name: 'library',
  resources: {
    books: {
      prefix: 'boo',
      fields: { title: f.text({ search: true }), year: f.integer({ sort: true, filter: true }) },
      access: 'public',
    },
  },
})

const asked = { lists: 0, states: 0 }
/** The state that the database says it has: its own changes with every commit of other tests. */
let state = 'one'
const watched = (store: Store): Store => {
  const { execute } = store
  return {
    ...store,
    execute: (plan, follows) => {
      if (plan.do === 'list') asked.lists++
      return execute(plan, follows)
    },
    ...(store.fetchMark && {
      fetchMark: async () => {
        asked.states++
        return state
      },
    }),
  }
}
const caches = process.env.BYLAW_REMEMBER !== 'off'

doors(
  'repeated lists',
  library,
  (door) => {
    if (door.store !== 'PostgreSQL') return // SQLite knows its state without a query
    const list = async (query: string) => {
      Object.assign(asked, { lists: 0, states: 0 })
      const { json } = await door.send('GET', `/books${query}`)
      return { found: json.data.length, ...asked }
    }
    const states = caches ? 1 : 0

    test('the state of the database is fetched for a list that comes again, which is cached then', async () => {
      await door.send('POST', '/books', { json: { title: 'One', year: 1 } })
      assert.deepEqual(await list('?year=1'), { found: 1, lists: 1, states: 0 })
      assert.deepEqual(await list('?year=1'), { found: 1, lists: 1, states })
      assert.deepEqual(await list('?year=1'), { found: 1, lists: caches ? 0 : 1, states })
      await door.send('POST', '/books', { json: { title: 'Two', year: 1 } })
      state = 'two'
      assert.deepEqual(await list('?year=1'), { found: 2, lists: 1, states })
    })
    test('lists that differ are read without the state', async () => {
      for (let year = 10; year < 20; year++) assert.equal((await list(`?year=${year}`)).states, 0)
    })
    test('a search is one statement on PostgreSQL, without a transaction around it', async (t) => {
      const { prototype } = (pg as unknown as { Connection: { prototype: Record<string, (sent: never) => void> } })
        .Connection
      await door.send('POST', '/books', { json: { title: 'Three', year: 3 } })
      const texts: string[] = []
      const record = (name: string, textOf: (sent: never) => string) => {
        const send = prototype[name] as (sent: never) => void
        t.mock.method(prototype, name, function (this: unknown, sent: never) {
          texts.push(textOf(sent))
          return send.call(this, sent)
        })
      }
      record('query', (text) => text)
      record('parse', ({ text }) => text)
      assert.equal((await list('?search=three&cursor=&limit=10')).found, 1)
      const about = (words: string) => texts.filter((text) => text.includes(words))
      assert.deepEqual([about('tsquery').length, about('REPEATABLE READ')], [1, []])
    })
  },
  { store: watched },
)
