/**
 * Cached lists while items are written: each list is requested again and again, and compared with the same list under a spelling
 * that was never requested, which is read. R143.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, f, service, sum } from 'bylaw'
import { testing } from 'bylaw/testing'
import { random } from '../fuzz/mutate.ts'
import { places } from '../help/places.ts'
import { runsOf } from '../help/runs.ts'

const api = service({
  name: 'kept',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        status: f.enum(['open', 'paid'], { filter: true }),
        number: f.integer({ filter: 'range', sort: true }),
        note: f.text({ max: 50, search: true }),
        free: f.text({ max: 50, optional: true }),
        lineCount: f.integer({ derived: count('lines'), filter: true, sort: true }),
        total: f.integer({ derived: sum('lines', 'amount') }),
      },
      access: 'public',
    },
    lines: {
      prefix: 'lin',
      parent: 'orders',
      fields: { amount: f.integer({ filter: true }) },
      access: 'public',
    },
  },
  settings: { list: { or: true, links: 'none' } },
}).change('v2', 'orders', { about: '`memo` is called `free`.', renamed: { memo: 'free' } })

const lists = [
  '/v2/orders?sort=number&cursor=&limit=4',
  '/v2/orders?sort=number&order=desc&offset=2&limit=3',
  '/v2/orders?status=paid&page=1&page_size=3',
  '/v2/orders?status=open&number[gte]=5&page=1&page_size=100',
  '/v2/orders?or=(status=paid;number[lte]=4)&page=1&page_size=3',
  '/v2/orders?lineCount=1&sort=number&page=1&page_size=4',
  '/v2/orders?sort=lineCount&limit=3&cursor=',
  '/v2/orders?sort=updatedAt&order=desc&limit=3&cursor=',
  '/v2/orders?search=blue&limit=100&cursor=',
  '/v2/orders?limit=3&cursor=&fields=note',
  '/v1/orders?status=open&limit=4&cursor=',
  '/v2/lines?amount=1&page=1&page_size=3',
]

/** The same target in another spelling for each number. */
function respelled(target: string, number: number): string {
  const [path, query = ''] = target.split('?')
  let bits = number
  const spelled = query.replace(/[a-z]/gi, (letter) => {
    const isEscaped = bits % 2 === 1
    bits = Math.floor(bits / 2)
    return isEscaped ? `%${letter.charCodeAt(0).toString(16)}` : letter
  })
  return `${path}?${spelled}`
}

for (const [name, place] of places)
  test(`R143: cached lists show what is stored, whatever is written (${name})`, { timeout: 300_000 }, async (t) => {
    const { url } = await place(t)
    const { call, close } = testing(api, { database: url })
    t.after(close)
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
    const next = random(seed)
    const orders: string[] = []
    const lines: string[] = []
    const send = async (method: string, path: string, json?: object) => {
      const answer = await call(path, { method, ...(json && { json }) })
      assert.ok(answer.status < 300, `${method} ${path} ${answer.status} (seed ${seed})`)
      return answer.status === 204 ? null : ((await answer.json()) as { readonly id: string })
    }
    const picked = (ids: readonly string[]) => ids[next(ids.length)] as string
    const writes = {
      create: async () => {
        const note = next(2) ? 'a blue one' : 'a red one'
        const made = { status: next(2) ? 'open' : 'paid', number: next(12), note }
        orders.push((await send('POST', '/v2/orders', made))?.id as string)
      },
      free: () => send('PATCH', `/v2/orders/${picked(orders)}`, { free: `${next(1000)}` }),
      older: () => send('PATCH', `/v1/orders/${picked(orders)}`, { memo: `${next(1000)}` }),
      note: () => send('PATCH', `/v2/orders/${picked(orders)}`, { note: next(2) ? 'still blue' : 'green now' }),
      number: () => send('PATCH', `/v2/orders/${picked(orders)}`, { number: next(12) }),
      status: () => send('PATCH', `/v2/orders/${picked(orders)}`, { status: next(2) ? 'open' : 'paid' }),
      line: async () => {
        const made = await send('POST', `/v2/orders/${picked(orders)}/lines`, { amount: next(3) })
        lines.push(made?.id as string)
      },
      amount: () =>
        lines.length > 0 ? send('PATCH', `/v2/lines/${picked(lines)}`, { amount: next(3) }) : writes.line(),
      unline: () => (lines.length > 0 ? send('DELETE', `/v2/lines/${lines.pop()}`) : writes.line()),
    }
    for (let i = 0; i < 12; i++) await writes.create()
    // Writes that do not affect most lists are the most frequent.
    const kinds = [...(Object.keys(writes) as (keyof typeof writes)[]), 'free', 'free', 'free', 'note', 'note'] as const
    let spelling = 1
    for (let step = 0; step < runsOf(600); step++) {
      const kind = kinds[next(kinds.length)] as keyof typeof writes
      await writes[kind]()
      const target = lists[next(lists.length)] as string
      for (const one of next(4) === 0 ? lists : [target, target]) {
        const [cached, read] = [await call(one), await call(respelled(one, spelling++))]
        assert.equal(cached.status, 200, `${one} (seed ${seed})`)
        assert.equal(await cached.text(), await read.text(), `${one} after ${kind} (seed ${seed})`)
        assert.equal(cached.headers.get('etag'), read.headers.get('etag'))
      }
    }
  })
