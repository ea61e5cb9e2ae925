/** An erasure while consumers of its item run: they store nothing of what they have read before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { erased, tablesWith } from '../help/erasing.ts'
import { places } from '../help/places.ts'
import { until } from '../help/until.ts'

for (const [name, place] of places)
  for (const kind of ['reaction', 'transition by the clock'] as const)
    test(`the reason of a ${kind} that runs during the erasure is not stored, and it is tried again, on ${name}`, async (t) => {
      const at = await place(t)
      const tasks = service({
        name: 'tasks',
        events: true,
        errors: { 'not-now': { parents: ['conflict'], status: 409 } },
        resources: {
          tasks: {
            fields: { text: f.text({ optional: true, personal: true }) },
            states: {
              field: 'status',
              initial: 'open',
              transitions: { endings: { from: ['open'], to: 'done', after: kind === 'reaction' ? 'P9D' : 'PT0.1S' } },
            },
            access: 'public',
          },
        },
      })
      const texts: (string | null)[] = []
      const erasing = Promise.withResolvers<void>()
      const isRefused = async (text: string | null) => {
        texts.push(text)
        if (texts.length === 2) await erasing.promise
        return text !== null
      }
      const { call, pass, close } = testing(
        kind === 'reaction'
          ? tasks.handlers({
              reactions: {
                copies: {
                  on: ['task.created'],
                  async run({ event: { data } }) {
                    if (await isRefused(data.text ?? null)) throw new Error(`${data.text} is refused.`)
                  },
                },
              },
            })
          : tasks.handlers({
              tasks: {
                async endings({ item, refuse }) {
                  if (await isRefused(item.text)) throw refuse('not-now', { message: `${item.text} is refused.` })
                },
              },
            }),
        { database: at.url },
      )
      t.after(close)
      const { id } = (await (await call('/tasks', { method: 'POST', json: { text: 'marked' } })).json()) as {
        id: string
      }
      await pass('PT0.2S')
      assert.deepEqual(texts, ['marked'])
      const passed = pass('PT100S')
      await until(() => texts.length === 2)
      const { counts } = await erased(tasks as unknown as Service, at, 'tasks', { id })
      assert.deepEqual(counts, { tasks: { items: 1, events: 1, reasons: 1 } })
      erasing.resolve()
      await passed
      assert.deepEqual(await tablesWith('marked', at), [])
      await pass('PT1H')
      assert.deepEqual([texts.slice(0, 2), texts.at(-1)], [['marked', 'marked'], null])
    })
