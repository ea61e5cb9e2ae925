/** How long revisions are kept: by the setting of the service, unless a resource says so itself. R237. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { places } from '../help/places.ts'

const fields = { text: f.text() }
const read = 'public'
const api = service({
  name: 'texts',
  settings: { history: { retention: 'P10D' } },
  resources: {
    notes: { prefix: 'not', fields, access: 'public', history: { read } },
    drafts: { prefix: 'dra', fields, access: 'public', history: { read, retention: 'P20D' } },
    letters: { prefix: 'let', fields, access: 'public', history: { read, retention: 'forever' } },
  },
})

for (const [name, place] of places)
  test(`R237: the setting is the retention of resources that have none of their own, on ${name}`, async (t) => {
    const { call, pass, close } = testing(api, { database: (await place(t)).url })
    t.after(close)
    const revisions = ['notes', 'drafts', 'letters'].map(async (resource) => {
      const made = await call(`/${resource}`, { method: 'POST', json: { text: 'a' } })
      return `/${resource}/${((await made.json()) as { id: string }).id}/revisions`
    })
    const counts = async () => {
      const lists = await Promise.all(revisions.map(async (path) => (await call(await path)).json()))
      return (lists as { data: unknown[] }[]).map(({ data }) => data.length)
    }
    assert.deepEqual(await counts(), [1, 1, 1])
    await pass('P11D')
    assert.deepEqual(await counts(), [0, 1, 1])
    await pass('P10D')
    assert.deepEqual(await counts(), [0, 0, 1])
  })
