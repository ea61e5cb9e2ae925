/** A change whose `response` throws for one row: the row fails alone, and all others stay readable. Part 9, versions. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } }
const fields = { name: f.text({ max: 50, sort: true }), rank: f.integer({ default: 0, sort: true }) }
const split = ({ name }: { name: string }) => {
  if (name.startsWith('BROKEN')) throw new Error(`cannot split ${name}`)
  return { first: name.split(' ')[0] as string }
}
const change = {
  about: '`name` replaces `first`.',
  removed: { first: f.text({ max: 50 }) },
  added: ['name'],
  request: ({ first }: { first: string }) => ({ name: first }),
  response: split,
} as const

const club = (styles: ('page' | 'offset' | 'cursor')[]) =>
  service({
    name: 'club',
    versions,
    settings: { list: { pagination: { styles } } },
    resources: {
      members: { prefix: 'mem', fields, access: 'public', order: ['name'] },
      seats: { key: 'number', fields: { number: f.integer({ min: 1 }), ...fields }, access: 'public' },
    },
  })
    .change('v2', 'members', change)
    .change('v2', 'seats', change)

const names = ['a', 'b', 'BROKEN 1', 'c', 'd', 'BROKEN 2', 'e']

async function failed(door: Door, method: string, path: string, json?: object): Promise<Answer> {
  const answer = await door.send(method, path, json ? { json } : {})
  assert.equal(answer.status, 500, answer.text)
  assert.deepEqual(answer.json.types, ['version-conversion-failed', 'internal-error', 'server-error', 'error'])
  assert.doesNotMatch(answer.text, /cannot split/)
  return answer
}

const linkIn = ({ headers }: Answer, rel: string): string | undefined =>
  new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.link ?? '')?.[1]

/** Every item that can be reached from a page by the links of answers and of refusals. */
async function reached(door: Door, start: string): Promise<string[]> {
  const found = new Set<string>()
  const waiting = [start]
  const seen = new Set<string>()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    const answer = await door.send('GET', path)
    assert.ok(answer.status === 200 || answer.json.type === 'version-conversion-failed', answer.text)
    for (const { first } of answer.json.data ?? []) found.add(first)
    for (const rel of ['prev', 'next']) waiting.push(...[linkIn(answer, rel) ?? []].flat())
  }
  return [...found].toSorted()
}

for (const styles of [['page', 'offset', 'cursor'], ['offset'], ['page'], ['cursor']] as const)
  doors(
    `a row that an older version cannot show, with pages by ${styles.join(', ')}`,
    club([...styles]),
    (door) => {
      const ids = new Map<string, string>()
      before(async () => {
        for (const [i, name] of names.entries()) {
          const made = await door.send('POST', '/v2/members', { json: { name, rank: i % 3 } })
          ids.set(name, made.json.id)
          await door.send('PUT', `/v2/seats/${i + 1}`, { json: { name, rank: i % 3 } })
        }
      })

      spec('R157', 'the item alone fails, with a type of its own; the newest version shows it', async () => {
        await failed(door, 'GET', `/v1/members/${ids.get('BROKEN 1')}`)
        await failed(door, 'PATCH', `/v1/members/${ids.get('BROKEN 1')}`, { rank: 5 })
        await failed(door, 'GET', '/v1/seats/3')
        assert.equal((await door.send('GET', `/v1/members/${ids.get('a')}`)).json.first, 'a')
        assert.equal((await door.send('GET', `/v2/members/${ids.get('BROKEN 1')}`)).json.name, 'BROKEN 1')
      })

      spec('R157', 'a page that holds it names its place and leads to all other items', async () => {
        for (const path of ['/v1/members', '/v1/members?sort=rank', '/v1/seats']) {
          const { json, headers } = await failed(door, 'GET', path)
          assert.match(json.pointer, /^\/data\/\d$/)
          assert.match(headers.link ?? '', /rel="next"/)
          const all = await reached(door, path)
          assert.deepEqual(all, ['a', 'b', 'c', 'd', 'e'])
        }
        const size = styles[0] === 'page' ? 'page_size' : 'limit'
        assert.equal((await failed(door, 'GET', `/v1/members?${size}=3`)).json.pointer, '/data/2')
        assert.equal((await door.send('GET', '/v2/members')).json.data.length, 7)
      })

      spec('R157', 'the log names the row, the version and the cause, once a minute for each row', async () => {
        const lines = () => door.errors.filter((one) => (one as { id?: string }).id === ids.get('BROKEN 2'))
        for (let i = 0; i < 3; i++) await failed(door, 'GET', `/v1/members/${ids.get('BROKEN 2')}`)
        const [line, ...more] = lines() as { version: string; resource: string; err: Error }[]
        assert.deepEqual([line?.version, line?.resource, more.length], ['v1', 'members', 0])
        assert.match(String(line?.err), /cannot split BROKEN 2/)
      })
    },
    {},
  )

const moments = service({
  name: 'moments',
  versions,
  settings: { resource: { putCreates: true }, idempotency: { mode: 'replay', methods: ['POST', 'PATCH'] } },
  resources: {
    members: { prefix: 'mem', fields, access: 'public' },
    seats: { key: 'number', fields: { number: f.integer({ min: 1 }), ...fields }, access: 'public' },
  },
})
  .change('v2', 'members', {
    ...change,
    response: (now: { name: string; createdAt?: string }) => ({
      first: `${split(now).first} ${now.createdAt?.slice(0, 4)}`,
    }),
  })
  .change('v2', 'seats', change)

doors('a write of an older version that this version cannot show', moments, (door) => {
  const count = async (resource: string): Promise<number> =>
    (await door.send('GET', `/v2/${resource}`)).json.data.length

  spec('R157', 'a POST stores nothing, and its idempotency key stays unused', async () => {
    const headers = { 'Idempotency-Key': 'first-of-a-broken-one' }
    for (let i = 0; i < 2; i++) {
      const answer = await door.send('POST', '/v1/members', { json: { first: 'BROKEN' }, headers })
      assert.equal(answer.json.type, 'version-conversion-failed')
    }
    assert.equal(await count('members'), 0)
    const made = await door.send('POST', '/v1/members', { json: { first: 'a' }, headers })
    assert.equal(made.status, 201)
    assert.match(made.json.first, /^a \d{4}$/)
    const again = await door.send('POST', '/v1/members', { json: { first: 'a' }, headers })
    assert.deepEqual([again.status, again.text], [201, made.text])
    assert.equal(await count('members'), 1)
  })

  spec('R157', 'a PUT and a PATCH store nothing', async () => {
    await failed(door, 'PUT', '/v1/seats/1', { first: 'BROKEN' })
    assert.equal(await count('seats'), 0)
    assert.equal((await door.send('PUT', '/v1/seats/1', { json: { first: 'a' } })).status, 201)
    await failed(door, 'PUT', '/v1/seats/1', { first: 'BROKEN' })
    await failed(door, 'PATCH', '/v1/seats/1', { first: 'BROKEN' })
    const { json } = await door.send('GET', '/v2/seats/1')
    assert.equal(json.name, 'a')
    const headers = { Prefer: 'return=minimal' }
    const minimal = await door.send('PATCH', '/v1/seats/1', { json: { first: 'BROKEN' }, headers })
    assert.equal(minimal.status, 500)
    assert.equal((await door.send('GET', '/v2/seats/1')).json.name, 'a')
    assert.equal((await door.send('PATCH', '/v1/seats/1', { json: { first: 'b' } })).status, 200)
  })
})

const people = service({
  name: 'people',
  versions,
  resources: {
    people: {
      prefix: 'ppl',
      fields: {
        name: f.text({ max: 12 }),
        age: f.integer({ max: 10 }),
        zip: f.text({ max: 3 }),
        code: f.text({ max: 5 }),
      },
      access: 'public',
    },
  },
}).change('v2', 'people', {
  about: '`name` replaces `first` and `last`, `age` is a number, and `zip` has a code.',
  removed: { first: f.text(), last: f.text() },
  added: ['name', 'code'],
  retyped: { age: f.text() },
  renamed: { plz: 'zip' },
  request: ({ first, last, age, plz }) => ({ name: `${first} ${last}`, age: Number(age), code: plz.repeat(3) }),
  response: ({ name, age }) => ({ first: name.split(' ')[0] ?? '', last: name, age: String(age) }),
})

doors('values of older clients that a change converts to invalid ones', people, (door) => {
  const wrong = async (json: object): Promise<string[]> => {
    const answer = await door.send('POST', '/v1/people', { json })
    assert.equal(answer.status, 400, answer.text)
    return answer.json.errors.map(({ pointer, message }: Record<string, string>) => `${pointer} ${message}`)
  }
  spec('R155 R194', 'is refused in the names of the version of the client', async () => {
    const fits = { first: 'Ann', last: 'Lee', age: '7', plz: '1' }
    assert.equal((await door.send('POST', '/v1/people', { json: fits })).status, 201)
    const both = 'first and last cannot be accepted: the value computed from them must be at most 12 characters long.'
    assert.deepEqual(await wrong({ ...fits, last: 'Magdalena Ray' }), [`/first ${both}`, `/last ${both}`])
    const age = '/age age cannot be accepted: the value computed from it must be at most 10.'
    assert.deepEqual(await wrong({ ...fits, age: '77' }), [age])
    assert.deepEqual(await wrong({ ...fits, plz: '1234' }), ['/plz plz must be at most 3 characters long.'])
    for (const text of await wrong({ ...fits, plz: '123' })) assert.doesNotMatch(text, /code|name/)
  })
})

const archive = service({
  name: 'archive',
  versions,
  resources: { members: { prefix: 'mem', fields, access: 'public', history: { read: 'public' } } },
}).change('v2', 'members', change)

doors('a revision that an older version cannot show', archive, (door) => {
  let path = ''
  before(async () => {
    const { id } = (await door.send('POST', '/v2/members', { json: { name: 'a' } })).json
    for (const name of ['b', 'c', 'BROKEN 1', 'BROKEN 2', 'd', 'e'])
      await door.send('PATCH', `/v2/members/${id}`, { json: { name } })
    path = `members/${id}/revisions`
  })

  spec('R157 R237', 'is refused alone, and links lead around the entries that need it', async () => {
    const all = (await door.send('GET', `/v2/${path}?limit=50`)).json.data as { id: string }[]
    assert.equal(all.length, 7)
    const answers = [await failed(door, 'GET', `/v1/${path}?limit=50`)]
    assert.equal(answers[0]?.json.pointer, '/data/1') // its merge patch is from a broken one
    const shown = new Set<string>()
    for (let next = linkIn(answers[0] as Answer, 'next'); next !== undefined; ) {
      const answer = await door.send('GET', next)
      for (const { id } of answer.json.data ?? []) shown.add(id)
      next = answer.status === 200 ? undefined : linkIn(answer, 'next')
      if (answer.status !== 200) answers.push(answer)
    }
    assert.deepEqual(
      answers.map(({ json }) => json.pointer),
      ['/data/1', '/data/0', '/data/0'],
    )
    const before = await door.send('GET', linkIn(answers[0] as Answer, 'prev') as string)
    assert.deepEqual(
      before.json.data.map((one: { id: string }) => one.id),
      [all[0]?.id],
    )
    assert.equal(before.json.data[0].changes.first, 'e')
    assert.deepEqual(
      [...shown],
      all.slice(4).map(({ id }) => id),
    )
    assert.equal(linkIn(answers[1] as Answer, 'prev'), undefined)
  })

  spec('R157 R237', 'is refused itself, and others are read', async () => {
    const all = (await door.send('GET', `/v2/${path}`)).json.data as { id: string }[]
    await failed(door, 'GET', `/v1/${path}/${all[2]?.id}`)
    await failed(door, 'GET', `/v1/${path}/${all[0]?.id}?against=${all[2]?.id}`)
    const last = await door.send('GET', `/v1/${path}/${all[0]?.id}?against=${all[4]?.id}`)
    assert.equal(last.json.first, 'e')
  })
})
