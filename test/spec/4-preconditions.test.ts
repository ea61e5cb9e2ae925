/** Part 4 of the contract, methods: entity tags, and the syntax and effect of conditions. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text(), note: f.text({ optional: true }) }

const archive = service({
  name: 'archive',
  resources: {
    files: { prefix: 'fil', fields, access: 'public' },
  },
})

type Headers = Record<string, string>
const past = 'Thu, 01 Jan 1970 00:00:00 GMT'
const future = 'Fri, 01 Jan 2077 00:00:00 GMT'

/** How far the clock of the service is ahead: dates only count after their second has passed. */
let ahead = 0
const now = (): number => Date.now() + ahead
const dateOf = (time: number): string => new Date(time).toUTCString()

/** An item in some state, with values for conditions. */
interface Target {
  readonly path: string
  readonly current: string
  readonly stale: string
  readonly changed: string
  /** A past date after the change. */
  readonly later: string
}

async function there(door: Door): Promise<Target> {
  const made = await door.send('POST', '/files', { json: { name: 'A' } })
  const path = made.headers.location as string
  const patched = await door.send('PATCH', path, { json: { note: 'x' } })
  assert.equal(patched.status, 200)
  ahead += 10_000
  return {
    path,
    current: patched.headers.etag ?? '',
    stale: made.headers.etag ?? '',
    changed: (await door.send('GET', path)).headers['last-modified'] as string,
    later: dateOf(now() - 5000),
  }
}

let used = 0
const unused = async (): Promise<Target> => {
  const path = `/files/fil_${String(++used).padStart(26, '0')}`
  return { path, current: '"1-1-abcdef"', stale: '"2-1-abcdef"', changed: past, later: past }
}

const bodies: Record<string, object> = { PUT: { name: 'B' }, PATCH: { name: 'B' } }

function ask(door: Door, method: string, path: string, headers: Headers, json = bodies[method]): Promise<Answer> {
  return door.send(method, path, json === undefined ? { headers } : { json, headers })
}

doors(
  'conditions, one by one',
  archive,
  (door) => {
    spec('R124', 'one current tag in a list is enough, and no other is', async () => {
      const target = await there(door)
      const { current, stale } = target
      const passing = [
        `"old", ${current}`,
        `${current},"old"`,
        `,, "old" ,\t${current} ,`,
        `W/${current}, ${current}`,
        ` ${current} `,
        `"a,b", ${current}`,
        `"", ${current}`,
      ]
      for (const tags of passing) {
        assert.equal((await ask(door, 'PATCH', target.path, { 'if-match': tags }, {})).status, 200, tags)
        assert.equal((await ask(door, 'PUT', target.path, { 'if-none-match': tags })).status, 412, tags)
        assert.equal((await ask(door, 'GET', target.path, { 'if-none-match': tags })).status, 304, tags)
      }
      const inner = current.slice(1, -1)
      for (const tags of [
        '"old"',
        `"old", ${stale}`,
        `W/${current}`,
        `"x${inner}"`,
        `"${inner}x"`,
        `"${inner.toUpperCase()}X"`,
        '""',
        '"*"',
        `"${inner}-x"`,
        `"${inner.split('-')[0]}"`,
      ]) {
        assert.equal((await ask(door, 'PATCH', target.path, { 'if-match': tags }, {})).status, 412, tags)
        if (!tags.startsWith('W/'))
          assert.equal((await ask(door, 'GET', target.path, { 'if-none-match': tags })).status, 200, tags)
      }
    })

    spec('R122', 'If-Match takes the tag of any coding of the current state', async () => {
      const { path, current, stale } = await there(door)
      const coded = (tag: string, coding = 'gzip') => `${tag.slice(0, -1)}+${coding}"`
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': coded(stale) }, {})).status, 412)
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': coded(current, 'foo') }, {})).status, 412)
      assert.equal((await ask(door, 'PATCH', path, { 'if-match': coded(current) }, {})).status, 200)
      assert.equal((await ask(door, 'PUT', path, { 'if-match': coded(current) })).status, 200)
    })

    spec('R128', 'on a write a malformed list is refused, and on a read it is ignored', async () => {
      const { path, current } = await there(door)
      const inner = current.slice(1, -1)
      const malformed = [
        'abc',
        inner,
        `"${inner}`,
        `${inner}"`,
        `w/${current}`,
        `W/ ${current}`,
        `${current} ${current}`,
        `*, ${current}`,
        `${current}, *`,
        '**',
        `'${inner}'`,
        '',
        ',',
        ' , ',
        `${current};`,
        `W/"a" "b"`,
      ]
      for (const value of malformed) {
        for (const name of ['if-match', 'if-none-match']) {
          for (const method of ['PUT', 'PATCH', 'DELETE']) {
            const answer = await ask(door, method, path, { [name]: value })
            assert.deepEqual(
              [answer.status, answer.json.type],
              [400, 'invalid-precondition'],
              `${method} ${name}: ${value}`,
            )
            assert.match(answer.json.message, name === 'if-match' ? /If-Match/ : /If-None-Match/)
          }
          assert.equal((await ask(door, 'GET', path, { [name]: value })).status, 200, `GET ${name}: ${value}`)
        }
      }
      assert.equal((await door.send('GET', path)).headers.etag, current)
    })

    spec('R126', 'conditions are evaluated in order, and all of them have to hold', async () => {
      const { path, current, stale, later } = await there(door)
      for (const [headers, read, write] of [
        [{ 'if-match': current, 'if-none-match': current }, 304, 412],
        [{ 'if-match': stale, 'if-none-match': current }, 412, 412],
        [{ 'if-match': current, 'if-none-match': stale }, 200, 200],
        [{ 'if-match': current, 'if-unmodified-since': past }, 200, 200],
        [{ 'if-match': stale, 'if-unmodified-since': future }, 412, 412],
        [{ 'if-none-match': stale, 'if-modified-since': future }, 200, 200],
        [{ 'if-none-match': current, 'if-modified-since': past }, 304, 412],
        [{ 'if-unmodified-since': past, 'if-none-match': current }, 412, 412],
        [{ 'if-unmodified-since': later, 'if-none-match': current }, 304, 412],
        [{ 'if-unmodified-since': future, 'if-none-match': current }, 412, 412],
        [{ 'if-unmodified-since': later, 'if-modified-since': later }, 304, 200],
        [{ 'if-modified-since': later }, 304, 200],
        [{ 'if-modified-since': future }, 200, 200],
        [{ 'if-unmodified-since': future }, 412, 412],
        [{ 'if-modified-since': past }, 200, 200],
      ] as [Headers, number, number][]) {
        assert.equal((await ask(door, 'GET', path, headers)).status, read, `GET ${JSON.stringify(headers)}`)
        assert.equal((await ask(door, 'PATCH', path, headers, {})).status, write, `PATCH ${JSON.stringify(headers)}`)
      }
    })

    spec('R130', 'Last-Modified is sent, and If-Unmodified-Since honoured by PUT, PATCH and DELETE', async () => {
      const target = await there(door)
      assert.match(target.changed, /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/)
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const answer = await ask(door, method, target.path, { 'if-unmodified-since': past })
        assert.deepEqual(
          [answer.status, answer.json.type, answer.headers.etag],
          [412, 'precondition-failed', target.current],
        )
      }
      assert.equal((await ask(door, 'PATCH', target.path, { 'if-unmodified-since': target.changed }, {})).status, 200)
      assert.equal((await ask(door, 'GET', target.path, { 'if-unmodified-since': past })).status, 412)
      assert.equal((await ask(door, 'GET', target.path, { 'if-unmodified-since': target.changed })).status, 200)
      assert.equal((await ask(door, 'GET', target.path, { 'if-modified-since': target.changed })).status, 304)
      assert.equal((await ask(door, 'PUT', (await unused()).path, { 'if-unmodified-since': past })).status, 201)
      assert.equal((await ask(door, 'DELETE', target.path, { 'if-unmodified-since': target.changed })).status, 204)
    })

    spec('R130', 'all three forms of a date are read, and others are ignored', async () => {
      const { path } = await there(door)
      for (const old of [
        past,
        'Thursday, 01-Jan-70 00:00:00 GMT',
        'Thu Jan  1 00:00:00 1970',
        'Tue Feb 29 23:59:59 2000',
        'Sun, 06 Nov 1994 08:49:37 GMT',
      ])
        assert.equal((await ask(door, 'PATCH', path, { 'if-unmodified-since': old }, {})).status, 412, old)
      for (const none of [
        'yesterday',
        '0',
        '1970-01-01T00:00:00Z',
        'Thu, 01 Jan 1970 00:00:00 CET',
        'Thu, 32 Jan 1970 00:00:00 GMT',
        'Mon, 30 Feb 1970 00:00:00 GMT',
        'Thu, 01 Jan 1970 24:00:00 GMT',
        'Thu, 01 Jan 1970 00:00 GMT',
        'Thu, 1 Jan 1970 00:00:00 GMT',
        '01 Jan 1970 00:00:00 GMT',
        'Thu, 01 Foo 1970 00:00:00 GMT',
        `${past}, ${past}`,
        '',
      ])
        assert.equal((await ask(door, 'PATCH', path, { 'if-unmodified-since': none }, {})).status, 200, none)
      for (const none of ['tomorrow', '2077-01-01T00:00:00Z', 'Fri, 01 Jan 2077 25:00:00 GMT'])
        assert.equal((await ask(door, 'GET', path, { 'if-modified-since': none })).status, 200, none)
    })

    spec('R139', 'a list has a tag of its own that conditions compare with', async () => {
      const list = await door.send('GET', '/files')
      const etag = list.headers.etag as string
      assert.equal((await ask(door, 'GET', '/files', { 'if-none-match': etag })).status, 304)
      assert.equal((await ask(door, 'GET', '/files', { 'if-none-match': '"x"' })).status, 200)
      assert.equal((await ask(door, 'GET', '/files', { 'if-match': etag })).status, 200)
      assert.equal((await ask(door, 'GET', '/files', { 'if-match': '"x"' })).status, 412)
      await there(door)
      const later = await ask(door, 'GET', '/files', { 'if-none-match': etag })
      assert.equal(later.status, 200)
      assert.notEqual(later.headers.etag, etag)
    })
  },
  { now },
)
