// long because: the declaration, the requests and the model belong together
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import fc from 'fast-check'
import { type Door, doors, spec } from '../help/door.ts'
import { runsOf } from '../help/runs.ts'
import { type Filter, matching, type Row, sorted } from '../lists/model.ts'

/** Split and joined fields, and other countries, words and bounds, all declared only by `request` and `response`. */
const parts = service({
  name: 'parts',
  versions: {
    v1: { released: '2023-01-01' },
    v2: { released: '2024-01-01' },
    v3: { released: '2025-01-01' },
    v4: { released: '2026-01-01' },
  },
  settings: { resource: { id: 'client' } },
  resources: {
    lands: {
      prefix: 'lnd',
      fields: { code: f.text({ max: 9, default: 'none', filter: ['like', 'range'], sort: true }) },
      access: 'public',
    },
    people: {
      prefix: 'per',
      fields: {
        fullName: f.text({ max: 200, optional: true }),
        mail: f.text({ max: 50, default: '', filter: true, sort: true }),
        street: f.text({ max: 60 }),
        city: f.text({ max: 60, optional: true }),
        state: f.enum(['idle', 'busy', 'gone'], { default: 'idle', filter: ['ne'], sort: true }),
        points: f.integer({ min: -1000, max: 1000 }),
        landId: f.ref('lands', { optional: true }),
        secret: f.text({ writeOnly: true, optional: true }),
      },
      access: 'public',
    },
  },
})
  .change('v4', 'people', {
    about: '`name` is `fullName`, and points have another sign and less room.',
    renamed: { name: 'fullName' },
    retyped: { points: f.decimal({ precision: 6, scale: 1, filter: ['range', 'ne'], sort: true }) },
    request: ({ points }) => ({ points: -Math.trunc(Number(points) * 10) }),
    response: ({ points }) => ({ points: (-points / 10 || 0).toFixed(1) }),
  })
  .change('v3', 'people', {
    about: 'A person has the code of its land, states have other words, and an address has two parts.',
    moved: { code: { by: 'landId', to: 'code' } },
    mapped: { state: { zzz: 'idle', mmm: 'busy' } },
    shown: { state: { gone: 'mmm' } },
    removed: { address: f.text({ max: 130, filter: 'like', sort: true }) },
    added: ['street', 'city'],
    request: ({ address }) => {
      const [street = '', city] = address.split(', ')
      return { street: street.slice(0, 60), city: city === undefined ? null : city.slice(0, 60) }
    },
    response: ({ street, city }) => ({ address: city === null ? street : `${street}, ${city}` }),
  })
  .change('v2', 'people', {
    about: '`name` replaces `first` and `last`, and how it is written.',
    removed: {
      first: f.text({ max: 100, filter: ['like', 'range', 'ne'], sort: true }),
      last: f.text({ max: 100, optional: true, filter: ['like', 'range', 'ne'], sort: true, fold: true }),
      word: f.object({
        flag: f.boolean({ filter: 'ne', sort: true }),
        count: f.integer({ filter: 'range', sort: true }),
      }),
    },
    added: ['name'],
    request: ({ first, last }) => ({ name: last === null ? first : `${first} ${last}` }),
    response: ({ name }) => {
      if (name === 'thrown') throw new Error('No such name.')
      if (name === 'zero') return { first: '\u0000', last: '😀'.slice(1), word: { flag: true, count: 2 ** 60 } }
      const [first = '', ...rest] = (name ?? '').split(' ')
      const last = rest.length === 0 ? null : rest.join(' ')
      return { first, last, word: { flag: last !== null, count: [...(name ?? '')].length } }
    },
  })

const names = ['Ann Lee', 'ann LEE', 'Ann', 'Zoë van der Berg', ' x', '%_ \\', '漢字 😀', 'Bob Lee', null]
const people = {
  fullName: fc.constantFrom(...names),
  mail: fc.constantFrom('', 'a', 'b'),
  street: fc.constantFrom('Main 1', 'Main 2', 'a, b', ''),
  city: fc.constantFrom('Rome', 'Oslo', '', null),
  state: fc.constantFrom('idle', 'busy', 'gone'),
  points: fc.constantFrom(0, 1, -1, 10, 999, -1000),
  landId: fc.constantFrom('lnd_1', 'lnd_2', null),
}
const person = fc.record(people)
const patch = fc.record(people, { requiredKeys: [] })

type Values = Readonly<Record<string, readonly (string | number | boolean)[]>>
const text = ['', 'Ann', 'ann', 'Lee', 'lee', 'van der Berg', 'A', '_', '\\', '😀', 'thrown']
const asked: Readonly<Record<string, Values>> = {
  v1: {
    first: text,
    last: text,
    'word.flag': [true, false],
    'word.count': [0, 3, 7],
    address: ['Main 1', 'Main 1, Rome', 'a, b, Oslo', ''],
    state: ['zzz', 'mmm'],
    cost: [],
    code: ['none', 'it', 'no'],
    points: ['0.0', '-0.1', '100.0', '1.0'],
    mail: ['', 'a'],
  },
  v2: { address: ['Main 1', 'Main 1, Rome', ''], points: ['0.1', '-99.9'], state: ['zzz'], code: ['none', 'it'] },
  v3: { points: ['0.0', '0.1', '-99.9', '100.0'], mail: ['a'] },
}
const forms: Readonly<Record<string, readonly string[]>> = {
  first: ['eq', 'ne', 'gte', 'lte', 'like', 'in', 'null'],
  last: ['eq', 'ne', 'gte', 'lte', 'like', 'in', 'null'],
  'word.flag': ['eq', 'ne', 'null'],
  'word.count': ['eq', 'gte', 'lte', 'in'],
  address: ['eq', 'like', 'in'],
  state: ['eq', 'ne', 'in', 'null'],
  code: ['eq', 'gte', 'like', 'in', 'null'],
  points: ['eq', 'ne', 'gte', 'lte', 'in', 'null'],
  mail: ['eq'],
}

const filterIn = (label: string): fc.Arbitrary<Filter> =>
  fc.constantFrom(...Object.keys(asked[label] as Values).filter((name) => name !== 'cost')).chain((field) =>
    fc.constantFrom(...(forms[field] as readonly string[])).chain((form): fc.Arbitrary<Filter> => {
      const value = fc.constantFrom(...((asked[label] as Values)[field] as readonly string[])).map(String)
      if (form === 'null') return fc.boolean().map((is) => [field, form, String(is)] as const)
      if (form === 'in')
        return fc.array(value, { minLength: 1, maxLength: 3 }).map((all) => [field, form, all] as const)
      if (form === 'like')
        return value.map((one) => [field, form, `${one.slice(0, 2).replace(/[%\\]/g, '\\$&')}%`] as const)
      return value.map((one) => [field, form, one] as const)
    }),
  )

interface Ask {
  readonly label: string
  readonly filters: readonly Filter[]
  readonly sort: string
  readonly order: 'asc' | 'desc'
  readonly nulls: 'first' | 'last'
}

const ask: fc.Arbitrary<Ask> = fc.constantFrom('v1', 'v1', 'v2', 'v3').chain((label) =>
  fc.record({
    label: fc.constant(label),
    filters: fc.uniqueArray(filterIn(label), { maxLength: 2, selector: ([field, form]) => `${field} ${form}` }),
    sort: fc.constantFrom(...Object.keys(asked[label] as Values).filter((name) => name !== 'cost')),
    order: fc.constantFrom('asc' as const, 'desc' as const),
    nulls: fc.constantFrom('first' as const, 'last' as const),
  }),
)

/** The names of fields in the model, which decide how values are compared. */
const known: Readonly<Record<string, string>> = {
  'word.flag': 'flag',
  'word.count': 'count',
  last: 'soft',
  points: 'cost',
}
const kindOf = (field: string): string => known[field] ?? field
// biome-ignore lint/suspicious/noExplicitAny: items of any version
const modelled = (item: any): Row => ({
  ...item,
  flag: item.word?.flag ?? null,
  count: item.word?.count ?? null,
  soft: item.last ?? null,
  cost: item.points,
})

function expected(rows: readonly Row[], { filters, sort, order, nulls }: Ask): string[] {
  const all = filters.map(([field, form, value]): Filter => [kindOf(field), form, value])
  const terms = [{ field: kindOf(sort), descending: order === 'desc', nulls }]
  return sorted(matching(rows, { filters: all, any: null, search: null }), terms, null).map(({ id }) => id)
}

function pathOf({ label, filters, sort, order, nulls }: Ask, limit: number): string {
  const query = new URLSearchParams()
  for (const [field, form, value] of filters)
    if (form === 'in')
      query.set(field, `in:(${(value as string[]).map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(',')})`)
    else query.set(`${field}[${form}]`, value as string)
  for (const [name, value] of Object.entries({ sort, order, nulls, cursor: '', limit })) query.set(name, String(value))
  return `/${label}/people?${query}`
}

const nextOf = (link: string | undefined): string | undefined => /<([^>]*)>; rel="next"/.exec(link ?? '')?.[1]

/** All rows as a version shows them. */
async function shown({ send }: Door, label: string): Promise<Row[]> {
  const { json, text } = await send('GET', `/${label}/people?limit=100`)
  assert.ok(json.data, text)
  return json.data.map(modelled)
}

/** The ids of all pages; `between` runs between pages. */
async function walked({ send }: Door, from: Ask, limit: number, between?: () => Promise<void>): Promise<string[]> {
  const found: string[] = []
  for (let path: string | undefined = pathOf(from, limit); path; ) {
    const { status, json, text, headers } = await send('GET', path)
    assert.equal(status, 200, `${path} ${text}`)
    found.push(...json.data.map(({ id }: Row) => id))
    path = nextOf(headers.link)
    if (path) await between?.()
  }
  return found
}

doors('fields that only older versions have', parts, (door) => {
  const count = 14
  // On a sharded database, an order by a field of another row is refused.
  const admitted = (one: Ask): Ask => (door.store === 'Citus' && one.sort === 'code' ? { ...one, sort: 'points' } : one)
  const put = async (method: string, path: string, json: object) => {
    const answer = await door.send(method, path, { json })
    assert.ok(answer.status < 300, answer.text)
    return answer.json
  }
  before(async () => {
    await put('POST', '/v4/lands', { id: 'lnd_1', code: 'it' })
    await put('POST', '/v4/lands', { id: 'lnd_2', code: 'no' })
    const all = fc.sample(person, { numRuns: count, seed: 7 })
    for (const [i, one] of all.entries())
      await put('POST', '/v4/people', { id: `per_${i + 10}`, ...one, secret: 'Ann' })
  })

  spec(
    'R194 R61 R64',
    'are filtered and sorted by the values that the version shows, after any writes of the newest one',
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.nat(count - 1), patch), { maxLength: 3 }),
          fc.array(ask, { minLength: 1, maxLength: 4 }),
          async (deeds, asks) => {
            for (const [nth, change] of deeds) await put('PATCH', `/v4/people/per_${nth + 10}`, change)
            for (const one of asks.map(admitted))
              assert.deepEqual(await walked(door, one, 5), expected(await shown(door, one.label), one), pathOf(one, 5))
          },
        ),
        { numRuns: runsOf(40) },
      ),
  )

  spec('R79 R194', 'are listed by cursor while rows change: each remaining row comes once, in its order', () =>
    fc.assert(
      fc.asyncProperty(ask, fc.infiniteStream(fc.tuple(fc.nat(count - 1), patch)), async (given, deeds) => {
        const one = admitted(given)
        const start = expected(await shown(door, one.label), one)
        const touched = new Set<string>()
        const seen = await walked(door, one, 2, async () => {
          const [nth, change] = deeds.next().value
          touched.add(`per_${nth + 10}`)
          await put('PATCH', `/v4/people/per_${nth + 10}`, change)
        })
        const still = start.filter((id) => !touched.has(id))
        assert.deepEqual(
          seen.filter((id) => !touched.has(id)),
          still,
          pathOf(one, 2),
        )
      }),
      { numRuns: runsOf(25) },
    ),
  )

  spec('R194', 'are found after any write: created, replaced, patched, sent back, by any version', async () => {
    const found = async (query: string) =>
      (await door.send('GET', `/v1/people?id=per_x&${query}`)).json.data.map(({ first }: { first: string }) => first)
    const address = { address: 'Main 1' }
    const word = { flag: true, count: 1 }
    await put('POST', '/v1/people', { id: 'per_x', first: 'Eve', last: 'Low', word, points: '1.0', ...address })
    assert.deepEqual(await found('first=Eve&last=LOW&word.count=7&points=1.0&code=none'), ['Eve'])
    await put('PUT', '/v3/people/per_x', { name: 'Eva Hay', street: 's', city: null, points: '2.0' })
    assert.deepEqual([await found('first=Eve'), await found('first=Eva&points[gte]=2&address=s')], [[], ['Eva']])
    await put('PATCH', '/v2/people/per_x', { name: 'Ida' })
    assert.deepEqual([await found('last[null]=false'), await found('last[null]=true&word.flag=false')], [[], ['Ida']])
    await put('PATCH', '/v1/people/per_x', { last: 'Moe', code: 'no' })
    assert.deepEqual(await found('first=Ida&last[like]=m%25&code=no&code[null]=false'), ['Ida'])
    assert.equal((await door.send('DELETE', '/v4/people/per_x')).status, 204)
    assert.deepEqual(await found('first=Ida'), [])
  })

  spec('R194 R95', 'are found under concurrent writes, with keys too', async () => {
    const id = (i: number) => `per_p${i}`
    const many = Array.from({ length: 24 }, (_, i) => i)
    const made = await Promise.all(
      many.map((i) => {
        const headers = i % 2 === 0 ? { 'idempotency-key': `parts-${i}` } : {}
        const json = { id: id(i), fullName: `Many N${i}`, street: 's', points: i }
        return door.send('POST', '/v4/people', { json, headers })
      }),
    )
    assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]))
    await Promise.all(many.slice(0, 12).map((i) => put('PATCH', `/v4/people/${id(i)}`, { fullName: `More N${i}` })))
    const found = async (query: string) =>
      (await door.send('GET', `/v1/people?limit=50&${query}`)).json.data.map(({ id }: Row) => id)
    assert.deepEqual(await found('first=More&sort=last'), many.slice(0, 12).map(id).sort())
    assert.deepEqual(await found('first=Many&last[gte]=N2&sort=last&order=desc'), [23, 22, 21, 20].map(id))
    await Promise.all(many.map((i) => door.send('DELETE', `/v4/people/${id(i)}`)))
  })

  spec('R194', 'do not refuse writes if they cannot be computed, and are null then', async () => {
    await put('POST', '/v4/people', { id: 'per_y', fullName: 'thrown', street: 's', points: 0 })
    await put('POST', '/v4/people', { id: 'per_z', fullName: `${'a'.repeat(120)} b`, street: 's', points: 0 })
    await put('POST', '/v4/people', { id: 'per_0', fullName: 'zero', street: 's', points: 0 })
    const ids = async (query: string) =>
      (await door.send('GET', `/v2/people?${query}`)).json.data.map(({ id }: Row) => id)
    assert.deepEqual(await ids('id=in:(per_y,per_z)&points=0.0&address=s'), ['per_y', 'per_z'])
    const mismatch = 'the change gives what does not fit the fields that it declares'
    const long = await door.send('GET', '/v1/people?id=per_z&first[null]=true&last=b', { mismatch })
    assert.equal(long.json.data.length, 1, long.text)
    assert.equal((await door.send('GET', '/v1/people?id=per_y&first[null]=false')).json.data.length, 0)
    const none = 'first[null]=true&last[null]=true&word.flag[null]=true'
    const zero = await door.send('GET', `/v1/people?id=per_0&${none}`, { mismatch })
    assert.equal(zero.json.data.length, 1, zero.text)
    for (const id of ['per_0', 'per_y', 'per_z']) await door.send('DELETE', `/v4/people/${id}`)
  })

  spec('R169 R194', 'are not parameters of later versions, and do not contain write-only values', async () => {
    for (const query of ['first=Ann', 'first:v2=Ann', 'code@v3=it', 'secret=Ann', 'sort=first:v2', 'sort=code@v3'])
      assert.equal((await door.send('GET', `/v4/people?${query}`)).status, 400, query)
  })
})
