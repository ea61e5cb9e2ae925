/** Services for tests of lists, with the same fields and different orders, settings and owners. */
// long because: it declares every service that walks read

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { f, service } from 'bylaw'
import { handle } from '../../src/corridor/handle.ts'
import type { ServerContext } from '../../src/corridor/server-context.ts'
import { callerGate } from '../../src/corridor/server-context.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { freshPostgres } from '../help/postgres.ts'
import { byRelevance, type Filter, type Order, type Row } from './model.ts'
import type { Deed, Input } from './samples.ts'
import { filtersOf, summaries } from './summaries.ts'

export type Kind = 'SQLite' | 'PostgreSQL'

/** A request for a list, without its window. */
export interface Ask {
  readonly sort: { readonly by: 'field' | 'custom'; readonly name: string } | null
  readonly order: 'asc' | 'desc' | null
  readonly nulls: 'first' | 'last' | null
  readonly filters: readonly Filter[]
  /** Filters of which one has to match; null without `or`. */
  readonly any: readonly Filter[] | null
  /** Beginnings of words, all of which must occur in `said`; null without `search`. */
  readonly search: readonly string[] | null
  readonly limit: number
  readonly offset: number
}

export interface Made {
  readonly name: string
  readonly service: Service
  readonly customs: Readonly<Record<string, readonly string[]>>
  readonly usual: readonly string[]
  /** The default place of nulls. */
  readonly nulls: (descending: boolean) => 'first' | 'last'
  /** Creates owners, and returns the path of the list and of other lists. */
  readonly paths: (post: (path: string, json: object) => Promise<Row>) => Promise<readonly string[]>
  readonly keyed: boolean
  /** Whether rows embed their hall, and halls their rows. */
  readonly embeds?: true
  /** Whether the database is a file, where a thread reads lists without an index. */
  readonly file?: true
}

export const sortable = ['word', 'name', 'soft', 'count', 'huge', 'cost', 'mass', 'flag', 'day', 'spot.depth']

const all = ['like', 'range', 'gt', 'lt', 'ne'] as const
const measured = ['range', 'gt', 'lt', 'ne'] as const
const fields = {
  word: f.text({ optional: true, filter: all, sort: true }),
  name: f.text({ filter: all, sort: true }),
  soft: f.text({ optional: true, fold: true, filter: all, sort: true }),
  count: f.integer({ optional: true, filter: measured, sort: true }),
  huge: f.bigint({ optional: true, filter: measured, sort: true }),
  cost: f.decimal({ scale: 2, filter: measured, sort: true }),
  mass: f.decimal({ precision: 30, scale: 12, optional: true, filter: measured, sort: true }),
  flag: f.boolean({ optional: true, filter: ['ne'], sort: true }),
  day: f.date({ optional: true, filter: measured, sort: true }),
  spot: f.object({ depth: f.integer({ optional: true, filter: measured, sort: true }) }, { optional: true }),
  said: f.text({ max: 100, optional: true, search: true }),
}

const mixed = {
  a: ['word', '-count'],
  b: ['-count', 'word', '-cost'],
  c: ['-name', 'soft'],
  d: ['flag', '-mass', 'name'],
  e: ['flag', 'day', 'count'],
  f: ['-flag', '-day', '-huge'],
  g: ['cost', '-id'],
  h: ['-spot.depth', 'flag', '-word', 'soft'],
  i: ['name', 'cost'],
  j: ['-cost', '-name'],
} as const

/** They serve filters by their first field, sorted by the second one. */
const indexes = [
  ['flag', 'name'],
  ['day', 'name'],
] as const

/** How many rows a hall embeds. */
export const embeddedSize = 4
const settings = { list: { maxPageSize: 50, or: true } }
const last = () => 'last' as const

export const listedServices: readonly Made[] = [
  {
    name: 'a list',
    service: service({
      name: 'one',
      resources: { rows: { fields, sorts: mixed, summaries, indexes, access: 'public' } },
      settings,
    }),
    customs: mixed,
    usual: [],
    nulls: last,
    paths: async () => ['/rows'],
    keyed: false,
  },
  {
    name: 'a list with nulls as in SQL and an order of its own',
    service: service({
      name: 'two',
      resources: { rows: { fields, sorts: mixed, summaries, order: ['-word', 'count'], access: 'public' } },
      settings: { list: { ...settings.list, nullsDefault: 'sql' } },
    }),
    customs: mixed,
    usual: ['-word', 'count'],
    nulls: (descending) => (descending ? 'first' : 'last'),
    paths: async () => ['/rows'],
    keyed: false,
    file: true,
  },
  {
    name: 'a list below an owner',
    service: service({
      name: 'three',
      resources: {
        halls: { fields: { label: f.text() }, access: 'public', embed: ['rows'] },
        rows: {
          parent: 'halls',
          fields,
          sorts: mixed,
          summaries,
          indexes,
          order: ['-word', 'count'],
          access: 'public',
          embed: ['hall'],
          settings: { list: { pageSize: embeddedSize } },
        },
      },
      settings: { list: { ...settings.list, nullsDefault: 'first' } },
    }),
    customs: mixed,
    usual: ['-word', 'count'],
    nulls: () => 'first',
    paths: owned,
    keyed: false,
    embeds: true,
  },
  {
    name: 'a list of rows with a composite key',
    service: service({
      name: 'four',
      resources: {
        halls: { fields: { label: f.text() }, access: 'public', embed: ['rows'] },
        rows: {
          parent: 'halls',
          key: 'number',
          embed: ['hall'],
          fields: { number: f.integer({ min: 0 }), ...fields },
          sorts: mixed,
          summaries,
          indexes,
          access: 'public',
          settings: { list: { pageSize: embeddedSize } },
        },
      },
      settings,
    }),
    customs: mixed,
    usual: [],
    nulls: last,
    paths: owned,
    keyed: true,
    embeds: true,
  },
]

async function owned(post: (path: string, json: object) => Promise<Row>): Promise<string[]> {
  const [one, other] = [await post('/halls', { label: 'one' }), await post('/halls', { label: 'other' })]
  return [`/halls/${one.id}/rows`, `/halls/${other.id}/rows`]
}

interface Page {
  readonly ids: string[]
  readonly pagination: Record<string, unknown>
}

export interface ServiceWithLists {
  readonly name: string
  readonly add: (inputs: readonly Input[]) => Promise<Row[]>
  readonly ask: (ask: Ask, window: Record<string, string>) => Promise<Page>
  readonly summarize: (name: string, ask: Ask) => Promise<unknown[]>
  /** The rows that the hall of the list embeds; null without halls. */
  readonly embedded: () => Promise<{ readonly ids: string[]; readonly hasMore: boolean } | null>
  readonly order: (ask: Ask) => Order[]
  readonly change: (deed: Deed, rows: Row[], touched: Set<string>) => Promise<void>
  /** The rows whose values changed, so that their position may have changed. */
  readonly moved: Set<string>
  readonly close: () => Promise<void>
}

type Send = (method: string, target: string, json?: object) => Promise<{ status: number; text: string }>

/** Sends calls directly into the corridor, as a walk needs very many of them. */
function sender(context: ServerContext): Send {
  return async (method, target, json) => {
    const content = json && Buffer.from(JSON.stringify(json))
    const typed = content && { 'content-type': 'application/json', 'content-length': String(content.length) }
    const headers: Record<string, string> = { host: 'localhost', ...typed }
    const chunks = async function* () {
      if (content) yield content
    }
    const { status, body } = await handle(
      {
        method,
        target,
        authority: null,
        http: '1.1',
        headers,
        raw: Object.entries(headers).flat(),
        id: 'walk',
        content: content ? Object.assign(chunks(), { flow: chunks }) : null,
        address: '',
      },
      context,
    )
    return { status, text: String(body) }
  }
}

/** Creates an empty database; `drop` removes it. */
async function emptyDatabase({ file }: Made, kind: Kind): Promise<{ url: string; drop: () => Promise<void> | void }> {
  if (kind === 'PostgreSQL') return freshPostgres()
  if (!file) return { url: 'sqlite::memory:', drop: () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'walk-'))
  return { url: `sqlite:${join(folder, 'rows.db')}`, drop: () => rmSync(folder, { recursive: true }) }
}

export async function opened(made: Made, kind: Kind): Promise<ServiceWithLists> {
  const { url, drop } = await emptyDatabase(made, kind)
  const store = await openStore(made.service, url, 'apply')
  const close = async () => {
    await store.close()
    await drop()
  }
  const log = { error: () => {}, warn: () => {}, info: () => {} }
  const world = serviceWorld(realWorld, store)
  const authenticate = callerGate(made.service, store, world)
  const send = sender({ service: made.service, store, world, authenticate, log, open: () => true })
  const post = async (path: string, json: object): Promise<Row> => {
    const { status, text } = await send('POST', path, json)
    assert.equal(status, 201, `${JSON.stringify(json)}: ${text}`)
    return JSON.parse(text)
  }
  const [path = '', beside] = await made.paths(post)
  const moved = new Set<string>()
  let number = 0
  const numbered = (input: Input): Input => {
    number = (number + 7919) % 10_007
    return made.keyed ? { number, ...input } : input
  }
  const add = async (inputs: readonly Input[]) => {
    if (beside) await Promise.all(inputs.slice(0, 5).map((input) => post(beside, numbered(input))))
    return Promise.all(inputs.map((input) => post(path, numbered(input))))
  }
  const change: ServiceWithLists['change'] = async (deed, rows, touched) => {
    if (deed.do === 'add') return void rows.push(...(await add([deed.input])))
    const row = rows[deed.at % rows.length]
    if (!row) return
    touched.add(row.id)
    const item = made.keyed || !path.startsWith('/halls') ? `${path}/${row.id}` : `/rows/${row.id}`
    if (deed.do === 'remove') {
      rows.splice(rows.indexOf(row), 1)
      assert.equal((await send('DELETE', item)).status, 204)
    } else {
      moved.add(row.id)
      assert.equal((await send('PATCH', item, deed.input)).status, 200)
    }
  }
  return {
    name: made.name,
    add,
    summarize: async (name, ask) => {
      const { status, text } = await send('GET', `${path}/summaries/${name}?${filtersOf(ask)}`)
      assert.equal(status, 200, text)
      return JSON.parse(text).data
    },
    ask: (ask, window) => asked(send, path, ask, made.embeds ? { ...window, embed: 'hall' } : window),
    embedded: async () => {
      if (!made.embeds) return null
      const [, , id] = path.split('/')
      const [item, list] = await Promise.all(
        [`/halls/${id}?embed=rows`, '/halls?embed=rows'].map(async (at) => JSON.parse((await send('GET', at)).text)),
      )
      const listed = list.data.find((one: Row) => one.id === id)
      assert.deepEqual(listed, item)
      const { data, hasMore } = item._embedded.rows
      return { ids: data.map((row: Row) => row.id), hasMore }
    },
    order: (ask) => ordered(made, ask),
    change,
    moved,
    close,
  }
}

function ordered(made: Made, { sort, order, nulls, search }: Ask): Order[] {
  if (search && !sort) return [{ field: byRelevance, descending: false, nulls: 'last' }]
  const terms = sort === null ? made.usual : sort.by === 'field' ? [sort.name] : (made.customs[sort.name] ?? [])
  return terms.map((term) => {
    const descending = term.startsWith('-') !== (order === 'desc')
    return { field: term.replace('-', ''), descending, nulls: nulls ?? made.nulls(descending) }
  })
}

async function asked(send: Send, path: string, ask: Ask, window: Record<string, string>): Promise<Page> {
  const query = filtersOf(ask)
  if (ask.sort) query.set(ask.sort.by === 'field' ? 'sort' : 'custom_sort', ask.sort.name)
  if (ask.order) query.set('order', ask.order)
  if (ask.nulls) query.set('nulls', ask.nulls)
  for (const [name, value] of Object.entries(window)) query.set(name, value)
  const { status, text } = await send('GET', `${path}?${query}`)
  assert.equal(status, 200, `${query}: ${text}`)
  const { data, pagination } = JSON.parse(text)
  if (window.embed) for (const { _embedded } of data) assert.equal(`/halls/${_embedded.hall.id}/rows`, path)
  return { ids: data.map(({ id }: Row) => id), pagination }
}
