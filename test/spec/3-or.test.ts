/** Part 3 of the contract: `or`, filters of which one has to match. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const list = { or: true }
const shop = service({
  name: 'shop',
  scopes: { costs: 'See costs' },
  settings: { methods: { query: true } },
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'accountId',
      fields: {
        status: f.enum(['new', 'paid', 'lost'], { filter: ['ne'] }),
        total: f.integer({ filter: ['range', 'gt'], sort: true }),
        note: f.text({ max: 50, optional: true, filter: 'like', sort: true }),
        cost: f.integer({ default: 0, read: 'costs', filter: true }),
        day: f.date({ optional: true, filter: true }),
        plain: f.text({ optional: true }),
      },
      indexes: [['status', 'total']],
      access: 'authenticated',
      settings: { list },
    },
    lines: { prefix: 'lin', parent: 'orders', fields: { count: f.integer({ filter: true }) }, access: 'authenticated' },
  },
})
const holders = {
  ann: { account: 'a', scopes: [] },
  boss: { account: 'a', scopes: ['costs'] },
  eve: { account: 'b', scopes: ['costs'] },
}
const rows = [
  { status: 'paid', total: 1, note: 'a;b' },
  { status: 'paid', total: 200, note: 'in:(x)' },
  { status: 'new', total: 300, note: '50%' },
  { status: 'new', total: 4, note: null, cost: 9 },
  { status: 'lost', total: 150, note: '(x)' },
  { status: 'lost', total: 6, note: '', day: '2026-01-31' },
]

const asked = (or: string, more = '') => `/orders?or=${encodeURIComponent(or)}${more}`

doors(
  'or',
  shop,
  (door) => {
    const get = (who: string, path: string) => door.send('GET', path, { headers: door.as(who) })
    before(async () => {
      for (const json of rows) await door.send('POST', '/orders', { json, headers: door.as('boss') })
      await door.send('POST', '/orders', { json: rows[0], headers: door.as('eve') })
    })
    /** The totals of the rows that are found. */
    const totals = async (or: string, more = '', who = 'boss'): Promise<number[]> => {
      const { status, json, text } = await get(who, asked(or, more))
      assert.equal(status, 200, text)
      if (!more.includes('cursor')) assert.equal(json.pagination.totalRecords, json.data.length)
      return json.data.map(({ total }: { total: number }) => total)
    }

    spec(
      'R234',
      'rows match that match any of the filters, in each form, together with all other filters',
      async () => {
        const table: [or: string, more: string, found: number[]][] = [
          ['(status=paid;total[gte]=200)', '', [1, 200, 300]],
          ['(status=paid)', '', [1, 200]],
          ['(status=paid;status=lost)', '&total[gte]=100', [200, 150]],
          ['(status=in:%28paid,lost%29;note[null]=true)', '', [1, 200, 4, 150, 6]],
          ['(status=in:%28%29;total=4)', '', [4]],
          ['(note[like]=a%25;note[like]=0\\%25)', '', [1, 300]],
          ['(note=a%3Bb;note=%28x%29)', '', [1, 150]],
          ['(note[eq]=in:%28x%29)', '', [200]],
          ['(note=;day=2026-01-31;day[null]=false)', '', [6]],
          ['(note[eq]=50%25;total=1)', '', [1, 300]],
          ['(status[ne]=paid;total[gt]=199)', '&sort=total', [4, 6, 150, 200, 300]],
          ['(status=paid;total[gte]=200)', '&sort=total&order=desc', [300, 200, 1]],
          ['(status=paid;status=new)', '&sort=total', [1, 4, 200, 300]],
          ['(status=paid;status=new)', '&sort=note&nulls=first', [4, 300, 1, 200]],
          ['(status=paid;cost=9)', '', [1, 200, 4]],
        ]
        for (const [or, more, found] of table) assert.deepEqual(await totals(or, more), found, `${or} ${more}`)
        const form = { 'content-type': 'application/x-www-form-urlencoded', ...door.as('boss') }
        const body = `or=${encodeURIComponent('(status=paid;total=4)')}`
        assert.equal((await door.send('QUERY', '/orders', { body, headers: form })).json.data.length, 3)
      },
    )

    spec(
      'R234 R81 R84 R86',
      'cursors walk forth and back through each row once, whatever is written meanwhile',
      async () => {
        for (const more of ['', '&sort=total', '&sort=total&order=desc', '&sort=note', '&fields=total&sort=total']) {
          const or = '(status=paid;status=new;total[gte]=150;total[gte]=200;note=a%3Bb)'
          const all = await totals(or, more)
          const seen: number[] = []
          let path: string | null = asked(or, `${more}&limit=2&cursor=`)
          let last = ''
          while (path !== null) {
            const { json, headers } = await get('boss', path)
            seen.push(...json.data.map(({ total }: { total: number }) => total))
            path = /<([^>]+)>; rel="next"/.exec(headers.link ?? '')?.[1] ?? null
            last = /<([^>]+)>; rel="prev"/.exec(headers.link ?? '')?.[1] ?? ''
            if (seen.length === 2) {
              const made = { status: 'paid', total: 1000, note: 'z' }
              const { id } = (await door.send('POST', '/orders', { json: made, headers: door.as('boss') })).json
              await door.send('DELETE', `/orders/${id}`, { headers: door.as('boss') })
            }
          }
          assert.deepEqual(seen, all, more)
          const before = await get('boss', last)
          assert.deepEqual(
            before.json.data.map(({ total }: { total: number }) => total),
            all.slice(2, 4),
          )
        }
      },
    )

    spec('R234 R83', 'a cursor belongs to its `or`', async () => {
      const { json } = await get('boss', asked('(status=paid;status=new)', '&limit=1&cursor='))
      const next = `&limit=1&cursor=${json.pagination.nextCursor}`
      assert.equal((await get('boss', asked('(status=paid;status=new)', next))).status, 200)
      for (const path of [asked('(status=paid)', next), `/orders?${next.slice(1)}`])
        assert.equal((await get('boss', path)).json.errors[0].type, 'cursor-mismatch')
    })

    spec('R234 R71 R72 R154', 'mistakes name `or` and the field', async () => {
      const table: [or: string, type: string, says: RegExp][] = [
        ['(plain=x)', 'unsupported-filter', /^plain cannot be filtered by\. Filterable: id, status/],
        ['(nope=x;status=paid)', 'unsupported-filter', /^nope cannot/],
        ['(sort=total)', 'unsupported-filter', /^sort cannot/],
        ['(or=%28a=1%29)', 'unsupported-filter', /^or cannot/],
        ['(total[like]=1)', 'unsupported-operator', /^total has no filter \[like\]/],
        ['(total=x)', 'invalid-parameter-value', /total must be/],
        ['(note[null]=x)', 'invalid-parameter-value', /^note\[null\] must be true or false/],
        ['(status=in:%28paid)', 'invalid-parameter-value', /^status: A set must end/],
        ['(status=in:(paid))', 'invalid-parameter-value', /^Filter 1 of or has a parenthesis; write it as %28/],
        ['status=paid', 'invalid-parameter-value', /^or must be filters in parentheses/],
        ['', 'invalid-parameter-value', /in parentheses/],
        ['()', 'invalid-parameter-value', /^Filter 1 of or is empty/],
        ['(status=paid;)', 'invalid-parameter-value', /^Filter 2 of or is empty/],
        ['(status)', 'invalid-parameter-value', /^Filter 1 of or has no equals sign/],
        ['(note=%zz)', 'invalid-parameter-value', /malformed escape/],
        ['(note=%ff)', 'invalid-parameter-value', /malformed escape/],
        ['(note=%00)', 'invalid-parameter-value', /U\+0000/],
        ['(total=1;total=2;total=3;total=4;total=5;total=6)', 'invalid-parameter-value', /at most 5 filters/],
      ]
      for (const [or, type, says] of table) {
        const { status, json } = await get('boss', asked(or))
        const [violation] = json.errors
        assert.deepEqual([status, violation.type, violation.in, violation.name], [400, type, 'query', 'or'], or)
        assert.match(violation.message, says)
      }
      const two = await get('boss', asked('(total=x;plain=y)', '&limit=0'))
      assert.deepEqual(
        two.json.errors.map(({ type }: { type: string }) => type),
        ['invalid-parameter-value', 'unsupported-filter', 'invalid-parameter-value'],
      )
      const twice = await get('boss', `${asked('(total=1)')}&or=(total=2)`)
      assert.equal(twice.json.errors[0].type, 'repeated-parameter')
      const { id } = (await get('boss', '/orders')).json.data[0]
      for (const path of ['/lines?or=(count=1)', `/orders/${id}/lines?or=(count=1)`])
        assert.equal((await get('boss', path)).json.errors[0].type, 'unknown-parameter')
    })

    spec('R234 R73', 'filters of `or` count with the others', async () => {
      const many = Array.from({ length: 16 }, (_, i) => `total[${['gte', 'lte', 'gt', 'eq'][i % 4]}]=${i}`)
      const forms = [...new Set(many.map((one) => one.split('=', 1)[0]))].map((one) => `${one}=1`)
      const names = [
        'status',
        'status[eq]',
        'status[ne]',
        'status[null]',
        'note[eq]',
        'note[null]',
        'note[like]',
        'day',
      ]
      const values: Record<string, string> = { 'status[null]': 'false', 'note[null]': 'false', day: '2026-01-31' }
      const more = [...forms, ...names.map((name) => `${name}=${values[name] ?? 'paid'}`), 'day[eq]=2026-01-31']
      const all = [...more, 'day[null]=false', 'total[null]=false', 'total=1', 'note=1']
      assert.equal(all.length, 17)
      const three = await get('boss', asked('(total=1;total=2;total=3)', `&${all.join('&')}`))
      assert.equal(three.status, 200, three.text)
      const four = await get('boss', asked('(total=1;total=2;total=3;total=4)', `&${all.join('&')}`))
      const [violation] = four.json.errors
      assert.deepEqual([violation.type, violation.name], ['unsupported-filter', 'or'])
    })

    spec('R234 R169', 'a field that a caller may not read, and rows of others, cannot be learnt', async () => {
      for (const or of ['(cost=9)', '(status=paid;cost=9)', '(cost[null]=true;total=1)', '(%63ost=9)']) {
        const { status, json } = await get('ann', asked(or))
        assert.deepEqual([status, json.type, json.name], [403, 'insufficient-scope', 'or'], or)
        assert.match(json.message, / cost /)
        assert.equal((await door.send('GET', asked(or))).status, 401)
      }
      assert.deepEqual(await totals('(status=paid;status=lost;status=new)', '', 'eve'), [1])
      assert.deepEqual(await totals('(status=paid;total=4)', '&sort=total', 'eve'), [1])
    })
  },
  { holders },
)

const people = service({
  name: 'people',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  settings: { list },
  scopes: { pay: 'See pay' },
  resources: {
    homes: { prefix: 'hom', fields: { city: f.text({ filter: true }) }, access: 'public' },
    people: {
      prefix: 'per',
      plural: true,
      fields: {
        name: f.text({ max: 50, filter: 'like', sort: true }),
        state: f.enum(['on', 'away', 'off'], { filter: true }),
        homeId: f.ref('homes', { optional: true, filter: true }),
        pay: f.integer({ default: 0, read: 'pay', filter: true }),
      },
      access: 'public',
    },
  },
}).change('v2', 'people', {
  about: '`title` is `name`, and a person may be away.',
  renamed: { title: 'name', wage: 'pay' },
  mapped: { state: { active: 'on', shut: 'off' } },
  shown: { state: { away: 'active' } },
})

doors(
  'or in older versions',
  people,
  (door: Door) => {
    spec('R234 R194', 'each version filters by its own fields and values', async () => {
      for (const [name, state] of [
        ['A', 'on'],
        ['B', 'away'],
        ['C', 'off'],
        ['D', 'off'],
      ] as const)
        await door.send('POST', '/v2/people', { json: { name, state } })
      const found = async (path: string) => {
        const { status, json, text } = await door.send('GET', path)
        assert.equal(status, 200, text)
        return json.data.map(({ name, title }: Record<string, string>) => name ?? title)
      }
      assert.deepEqual(await found('/v1/people?or=(state=active;title=D)'), ['A', 'B', 'D'])
      assert.deepEqual(await found('/v1/people?or=(state=in:%2528active%2529;title[like]=D)&sort=title'), [
        'A',
        'B',
        'D',
      ])
      assert.deepEqual(await found('/v2/people?or=(state=away;name=D)&sort=name&order=desc'), ['D', 'B'])
      const old = await door.send('GET', '/v2/people?or=(title=D)')
      assert.equal(old.json.errors[0].type, 'unsupported-filter')
      for (const path of ['/v1/people?or=(wage=1;title=A)', '/v2/people?or=(name=A;pay=1)'])
        assert.equal((await door.send('GET', path)).status, 401)
    })
  },
  { holders },
)
