/** R238: an export is read from one state, in little memory, and breaks off where it cannot be completed. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'
import { until } from '../help/until.ts'

const shop = service({
  name: 'shop',
  resources: {
    notes: {
      prefix: 'not',
      fields: { rank: f.integer({ sort: true, filter: 'range', optional: true }), text: f.text() },
      exports: true,
      access: 'public',
    },
  },
})

const count = 350
const text = 'x'.repeat(8000)
const accept = { accept: 'application/x-ndjson' }

async function fill(door: Door): Promise<string[]> {
  const ids: string[] = []
  for (let rank = 0; rank < count; rank++)
    ids.push((await door.send('POST', '/notes', { json: { text, rank: rank % 3 === 0 ? null : rank } })).json.id)
  return ids
}

const ranks = (content: string): (number | null)[] =>
  content
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).rank)

doors(
  'exports of a changing list',
  shop,
  (door) => {
    spec('R238', 'all rows are those of one state, whatever is written meanwhile', async () => {
      const ids = await fill(door)
      for (const path of ['/notes', '/notes?sort=rank&nulls=first', '/notes?sort=rank&order=desc&nulls=last']) {
        const before = await door.send('GET', path, { headers: accept })
        const answer = await door.open(path, accept)
        const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
        const [bytes, decoder] = [await reader.read(), new TextDecoder()]
        let content = decoder.decode(bytes.value, { stream: true })
        const last = ids.at(-1)
        await door.send('PATCH', `/notes/${last}`, { json: { rank: 5 } })
        const fresh = await door.send('POST', '/notes', { json: { text: 'fresh', rank: 1 } })
        for (let next = await reader.read(); !next.done; next = await reader.read())
          content += decoder.decode(next.value, { stream: true })
        assert.equal(content, before.text)
        assert.equal(ranks(content).length, count)
        await door.send('DELETE', `/notes/${fresh.json.id}`)
        await door.send('PATCH', `/notes/${last}`, { json: { rank: count - 1 } })
      }
    })
    spec(
      'R238 R160',
      'a third export is refused until another one ends; an export ends when its client disconnects',
      async () => {
        if ((await door.send('GET', '/notes?page_size=1')).json.data.length === 0) await fill(door)
        const open = [await door.open('/notes', accept), await door.open('/notes', accept)]
        const readers = open.map((one) => (one.body as ReadableStream<Uint8Array>).getReader())
        for (const one of readers) await one.read()
        if (door.name === 'fetch') {
          // Over a socket the answers may have been sent already, into the buffers of the system.
          const refused = await door.send('GET', '/notes', { headers: accept })
          assert.deepEqual([refused.status, refused.json.type], [503, 'overloaded'])
          assert.equal((await door.send('GET', '/notes?page_size=1')).status, 200)
          assert.equal((await door.send('POST', '/notes', { json: { text } })).status, 201)
        }
        for (const one of readers) await one.cancel()
        await until(async () => (await door.send('GET', '/notes?rank=1', { headers: accept })).status === 200)
      },
    )
  },
  { onFile: true },
)
