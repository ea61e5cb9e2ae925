/** Part 4 of the contract, methods: answers with entity tags, and the settings of tags. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text(), note: f.text({ optional: true }) }

const archive = service({
  name: 'archive',
  resources: {
    files: { prefix: 'fil', fields, access: 'public' },
    notes: { prefix: 'not', parent: 'files', fields, access: 'public' },
    weak: { prefix: 'wea', plural: true, fields, access: 'public', settings: { etag: { mode: 'weak' } } },
    bare: { prefix: 'bar', plural: true, fields, access: 'public', settings: { etag: { mode: 'off' } } },
    careful: { prefix: 'car', plural: true, fields, access: 'public', settings: { concurrency: { required: 'on' } } },
    marks: { key: 'code', fields: { code: f.text(), name: f.text() }, access: 'public' },
  },
})

type Headers = Record<string, string>
const past = 'Thu, 01 Jan 1970 00:00:00 GMT'

/** How far the clock of the service is ahead: dates only count after their second has passed. */
let ahead = 0
const now = (): number => Date.now() + ahead
const dateOf = (time: number): string => new Date(time).toUTCString()

/** An item in some state, with values for conditions. */
interface Target {
  readonly path: string
  readonly current: string
  readonly stale: string
  /** A past date after the change. */
  readonly later: string
}

async function there(door: Door, collection = 'files'): Promise<Target> {
  const made = await door.send('POST', `/${collection}`, { json: { name: 'A' } })
  const path = made.headers.location as string
  ahead += 10_000
  const headers = { 'if-unmodified-since': dateOf(now() - 5000) } // if a condition is required, this one suffices
  const patched = await door.send('PATCH', path, { json: { note: 'x' }, headers })
  assert.equal(patched.status, 200)
  ahead += 10_000
  return {
    path,
    current: patched.headers.etag ?? '',
    stale: made.headers.etag ?? '',
    later: dateOf(now() - 5000),
  }
}

const bodies: Record<string, object> = { PUT: { name: 'B' }, PATCH: { name: 'B' } }

function ask(door: Door, method: string, path: string, headers: Headers, json = bodies[method]): Promise<Answer> {
  return door.send(method, path, json === undefined ? { headers } : { json, headers })
}

doors(
  'conditions by settings',
  archive,
  (door) => {
    spec('R121 R124', 'with weak tags If-Match never holds, except for *', async () => {
      const { path, current } = await there(door, 'weak')
      assert.match(current, /^W\/"[^"]+"$/)
      const strong = current.slice(2)
      for (const tag of [current, strong]) {
        assert.equal((await ask(door, 'PATCH', path, { 'if-match': tag }, {})).status, 412)
        assert.equal((await ask(door, 'GET', path, { 'if-match': tag })).status, 412)
        const known = await ask(door, 'GET', path, { 'if-none-match': tag })
        assert.deepEqual([known.status, known.headers.etag], [304, current])
        assert.equal((await ask(door, 'PUT', path, { 'if-none-match': tag })).status, 412)
      }
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': '*' }, {})).status, 200)
      assert.match((await door.send('GET', '/weak')).headers.etag as string, /^W\//)
    })

    spec('R121', 'with tags off, no tag is sent, and conditions use existence and time', async () => {
      const { path } = await there(door, 'bare')
      for (const answer of [
        await door.send('GET', path),
        await door.send('GET', '/bare'),
        await ask(door, 'PUT', path, {}),
        await ask(door, 'PATCH', path, {}),
      ])
        assert.deepEqual([answer.status, answer.headers.etag], [200, undefined])
      const refused = await ask(door, 'PATCH', path, { 'if-match': '"1-1-abcdef"' }, {})
      assert.deepEqual([refused.status, refused.headers.etag], [412, undefined])
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': '*' }, {})).status, 200)
      assert.equal((await ask(door, 'PUT', path, { 'if-none-match': '*' })).status, 412)
      assert.equal((await ask(door, 'PATCH', path, { 'if-none-match': '"x"' }, {})).status, 200)
      assert.equal((await ask(door, 'GET', path, { 'if-none-match': '"x"' })).status, 200)
      ahead += 10_000
      const same = await ask(door, 'GET', path, { 'if-modified-since': dateOf(now() - 5000) })
      assert.deepEqual(
        [same.status, same.headers.etag, same.headers['last-modified'] !== undefined],
        [304, undefined, true],
      )
      assert.equal((await ask(door, 'GET', path, { 'if-none-match': '*' })).status, 304)
    })

    spec('R129', 'if a condition is required, a write to an existing item without one answers 428', async () => {
      const { path, current, later } = await there(door, 'careful')
      for (const method of ['PUT', 'PATCH', 'DELETE'])
        for (const headers of [
          {},
          { 'if-unmodified-since': 'yesterday' },
          { 'if-modified-since': past },
        ] as Headers[]) {
          const answer = await ask(door, method, path, headers)
          assert.deepEqual([answer.status, answer.json.type], [428, 'precondition-required'])
          assert.match(answer.json.message, /If-Match/)
          assert.equal(answer.headers['cache-control'], 'no-store')
        }
      assert.equal((await ask(door, 'PATCH', path, {}, { nome: 1 })).status, 428)
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': 'x' })).status, 400)
      assert.equal((await ask(door, 'PATCH', path, { 'if-unmodified-since': later }, {})).status, 200)
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': '*' }, {})).status, 200)
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': '"x"' }, {})).status, 412)
      const put = await ask(door, 'PUT', path, { 'if-match': current })
      assert.equal(put.status, 200)
      assert.equal((await ask(door, 'DELETE', path, { 'if-match': current })).status, 412)
      assert.equal((await ask(door, 'DELETE', path, { 'if-match': put.headers.etag as string })).status, 204)
      assert.equal((await ask(door, 'DELETE', path, {})).status, 204)
      assert.equal((await ask(door, 'PATCH', path, {})).status, 410)
      assert.equal((await ask(door, 'PUT', '/careful/car_00000000000000000000000000', {})).status, 201)
      assert.equal((await ask(door, 'PATCH', '/careful/car_00000000000000000000000001', {})).status, 404)
    })

    spec('R121', 'every answer that carries a resource or a list has a strong tag', async () => {
      const { path } = await there(door)
      for (const answer of [
        await door.send('GET', path),
        await door.send('HEAD', path),
        await door.send('GET', '/files'),
        await door.send('HEAD', '/files'),
        await door.send('GET', `${path}/notes`),
        await door.send('POST', '/files', { json: { name: 'A' } }),
        await door.send('POST', `${path}/notes`, { json: { name: 'A' } }),
        await ask(door, 'PUT', path, {}),
        await ask(door, 'PATCH', path, {}),
        await ask(door, 'PUT', '/marks/x', {}),
      ])
        assert.match(answer.headers.etag ?? '', /^"[\x21\x23-\x7e]+"$/)
    })

    spec('R127', 'of two writes with one condition only the first is done', async () => {
      const { path, current } = await there(door)
      const both = await Promise.all(
        ['x1', 'x2'].map((name) => ask(door, 'PATCH', path, { 'if-match': current }, { name })),
      )
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412])
      const place = '/files/fil_00000000000000000000000001'
      const puts = await Promise.all(
        ['x1', 'x2'].map((name) => ask(door, 'PUT', place, { 'if-none-match': '*' }, { name })),
      )
      assert.deepEqual(puts.map(({ status }) => status).sort(), [201, 412])
      const won = puts.find(({ status }) => status === 201) as Answer
      assert.equal((await door.send('GET', place)).text, won.text)
    })
  },
  { now },
)
