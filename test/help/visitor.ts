/** Makes random requests of a caller with few rights from numbers, so that two worlds get the same requests. */
// long because: the rows, the bodies and the queries of one visitor belong together

import { type Chooser, chooser } from './chooser.ts'
import type { Who } from './hiding-service.ts'
import type { Reply, Request, World } from './worlds.ts'

/** The data of one world that the visitor may not see. */
export interface Hidden {
  readonly ssn: string | null
  readonly city: string | null
  readonly score: number
  readonly pin: string | null
  readonly code: string | null
  readonly seal: string | null
  readonly cost: number
  readonly note: string | null
  /** The number of rows of each kind that the other account has; at least two, so that its cursors are the same. */
  readonly foreign: number
  /** The number of changes by the other account to the item whose address both accounts use. */
  readonly edits: number
  /** A text that all rows of the other account contain. */
  readonly words: string
}

/** Identifiers, tags and cursors that requests can use: from the preparation, and from answers to the visitor. */
export interface Pool {
  readonly ids: Record<Collection, string[]>
  /** Identifiers of the other account; the first two of each collection exist in every world. */
  readonly foreign: Record<Collection, string[]>
  readonly tags: string[]
  /** Tags of the other account for the item whose address both accounts use. */
  readonly others: string[]
  readonly cursors: string[]
}

export const versions = ['v3', 'v2', 'v1'] as const
export type Version = (typeof versions)[number]
const all = ['customers', 'visits', 'tags', 'labels', 'plans', 'drops', 'rooms', 'bookings'] as const
export type Collection = (typeof all)[number]
/** The end of identifiers without a row. A digit is added for each missing row. */
const nowhere = '0000000000000000000000000'
const prefixes: Partial<Record<Collection, string>> = {
  customers: 'cus',
  visits: 'vis',
  plans: 'pln',
  drops: 'drp',
  rooms: 'roo',
  bookings: 'boo',
}
export const most = 3
/** The identifiers that the other account chooses: the first of each is one of the visitor's account too. */
const chosen: Partial<Record<Collection, readonly string[]>> = {
  tags: ['red', 'green', 'black'],
  labels: ['lab_one', 'lab_three', 'lab_four'],
}

const empty = (): Record<Collection, string[]> => Object.fromEntries(all.map((name) => [name, []])) as never

/** Whether the declaration has optional parts. */
export type Has = (thing: 'rooms' | 'foreign plans') => boolean

/** Fills a world: rows of the visitor's account by a colleague who sees everything, and rows of another account. */
// long because: the rows are made in one order
export async function prepared(world: World<Who>, hidden: Hidden, has: Has): Promise<Pool> {
  const pool: Pool = { ids: empty(), foreign: empty(), tags: [], others: [], cursors: [] }
  const idOf = ({ headers }: Reply): string => (headers.location ?? '').split('/').at(-1) as string
  const post = async (who: Who, path: string, json: object, key?: string): Promise<string> => {
    const answer = await world.send(who, {
      method: 'POST',
      path: `/v3${path}`,
      json,
      ...(key && { headers: { 'idempotency-key': key } }),
    })
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`)
    pool.tags.push(answer.headers.etag ?? '')
    return idOf(answer)
  }
  const { ssn, city, score, pin, code, seal, cost, note } = hidden
  const contact = city === null ? null : { city }
  const secret = { ssn, contact, score, pin, code, seal }
  world.drawFrom('north')
  for (const [i, price] of ['5.00', '7.50'].entries())
    pool.ids.plans.push(await post('amy', '/plans', { title: `Plan ${i}`, price, cost }))
  for (let i = 0; i < most; i++) {
    const planId = pool.ids.plans[i % 2]
    pool.ids.customers.push(
      await post('amy', '/customers', { name: `N${i}`, rank: 'gold', planId, ...secret }, `amy-${i}`),
    )
  }
  for (const customer of pool.ids.customers.slice(0, 2))
    pool.ids.visits.push(await post('amy', `/customers/${customer}/visits`, { text: 'a', cost }))
  for (const name of ['red', 'blue']) pool.ids.tags.push(await post('amy', '/tags', { name, hue: name, note }))
  for (const text of ['a', hidden.words])
    pool.ids.drops.push(await post('amy', '/drops', { text, seal: hidden.seal }, `amy-drop${text === 'a' ? '' : '-2'}`))
  for (const id of ['lab_one', 'lab_two']) pool.ids.labels.push(await post('amy', '/labels', { id, text: id }))
  if (has('rooms')) {
    pool.ids.rooms.push(await post('amy', '/rooms', { name: 'A' }))
    pool.ids.bookings.push(await post('amy', `/rooms/${pool.ids.rooms[0]}/bookings`, { text: 'north' }))
  }
  const gone = await post('amy', '/customers', { name: 'gone', planId: pool.ids.plans[0] })
  await world.send('amy', { method: 'DELETE', path: `/v3/customers/${gone}` })
  pool.ids.customers.push(gone)
  for (const version of versions) {
    for (const name of ['customers', 'plans', 'tags', 'labels'] as const)
      for (const id of pool.ids[name].slice(0, 2))
        pool.tags.push(
          (await world.send('amy', { method: 'GET', path: `/${version}/${name}/${id}` })).headers.etag ?? '',
        )
    for (const query of ['', '&sort=ssn', '&sort=score&order=desc'])
      pool.cursors.push(
        (await world.send('amy', { method: 'GET', path: `/${version}/customers?limit=1&cursor=${query}` })).json
          .pagination.nextCursor,
      )
  }
  await world.send('amy', { method: 'PATCH', path: '/v3/tags/red', json: { hue: 'dark' } })
  for (const [i, id] of pool.ids.customers.slice(0, 2).entries())
    for (const json of [{ score: score + 1 }, { pin: `${pin}2` }, { name: `M${i}`, ssn, score: score + 2 }])
      await world.send('amy', { method: 'PATCH', path: `/v3/customers/${id}`, json })
  await other(world, hidden, pool, has)
  world.drawFrom('visitor')
  return pool
}

/** Creates the rows of the other account. The number of requests is the same in every world. */
async function other(world: World<Who>, { foreign, edits, words }: Hidden, pool: Pool, has: Has): Promise<void> {
  const post = async (there: boolean, name: Collection, path: string, json: object, key?: string): Promise<string> => {
    const request: Request = {
      method: 'POST',
      path: `/v3${path}`,
      json,
      ...(key && { headers: { 'idempotency-key': key } }),
    }
    const answer = await world.send('sam', there ? request : { method: 'GET', path: '/v3/labels' })
    if (there && answer.status !== 201) throw new Error(answer.text)
    const id = there ? answer.headers.location?.split('/').at(-1) : undefined
    pool.tags.push((there && answer.headers.etag) || '"none"')
    pool.foreign[name].push(prefixes[name] ? (id ?? `${prefixes[name]}_${nowhere}${i}`) : (chosen[name]?.[i] ?? ''))
    return pool.foreign[name].at(-1) as string
  }
  world.drawFrom('south')
  let i = 0
  for (; i < most; i++) {
    const there = i < foreign
    const own = await post(there && has('foreign plans'), 'plans', '/plans', { title: words, price: '9.00' })
    const planId = own.includes(nowhere) ? pool.ids.plans[0] : own
    const customer = await post(there, 'customers', '/customers', { name: words, ssn: words, planId }, `sam-${i}`)
    await post(there, 'visits', `/customers/${customer}/visits`, { text: words })
    await post(there, 'tags', '/tags', { name: chosen.tags?.[i], hue: words })
    await post(there, 'labels', '/labels', { id: chosen.labels?.[i], text: words })
    if (has('rooms')) await post(there, 'bookings', `/rooms/${pool.ids.rooms[0]}/bookings`, { text: words })
    const page = await world.send('sam', { method: 'GET', path: '/v3/customers?limit=1&cursor=' })
    pool.cursors.push(page.json.pagination.nextCursor ?? '')
  }
  for (let edit = 0; edit < most; edit++) {
    const request = { method: 'PATCH', path: '/v3/tags/red', json: { hue: `${words} ${edit}` } }
    const answer = await world.send('sam', edit < edits ? request : { method: 'GET', path: '/v3/tags/red' })
    pool.tags.push(answer.headers.etag ?? '')
    // The tag of a caller with as few scopes as the visitor: the two differ only in their account.
    for (const path of ['/v3/tags/red', '/v3/tags', '/v1/tags'])
      pool.others.push((await world.send('sue', { method: 'GET', path })).headers.etag ?? '')
  }
}

const texts = ['a', 'A-1', 'B-2', 'N0', 'red', 'x'] as const
const numbers = [0, 1, 7, 9] as const

/** The members of each collection in the newest version. Few values, so that a random one often equals the stored one. */
const members: Record<Collection, Record<string, (choose: Chooser, pool: Pool) => unknown>> = {
  plans: {
    title: ({ one }) => one(texts),
    price: ({ one }) => one(['5.00', '7.50', '1.00']),
    cost: ({ one }) => one(numbers),
  },
  customers: {
    name: ({ one }) => one(texts),
    planId: ({ one }, { ids, foreign }) => one([...ids.plans, ...ids.plans, ...foreign.plans]),
    ssn: ({ one }) => one([...texts, null]),
    contact: ({ one }) => one([{ city: 'A-1' }, { city: 'B-2' }, null]),
    score: ({ one }) => one(numbers),
    rank: ({ one }) => one(['plain', 'gold']),
    pin: ({ one }) => one([...texts, null]),
    code: ({ one }) => one([...texts, null]),
    seal: ({ one }) => one([...texts, null]),
  },
  visits: { text: ({ one }) => one(texts), cost: ({ one }) => one(numbers) },
  tags: {
    name: ({ one }) => one(['red', 'green', 'blue', 'new']),
    hue: ({ one }) => one(texts),
    note: ({ one }) => one([...texts, null]),
  },
  labels: { text: ({ one }) => one(texts) },
  drops: { text: ({ one }) => one(texts), seal: ({ one }) => one([...texts, null]) },
  rooms: { name: ({ one }) => one(texts) },
  bookings: { text: ({ one }) => one(texts) },
}
/** Members that the visitor may rarely write. They are sent seldom, as one of them refuses the whole request. */
const guarded: readonly string[] = ['cost', 'ssn', 'contact', 'score', 'rank', 'code', 'note', 'seal']
const required: readonly string[] = ['title', 'name', 'planId', 'text']

/** The names that an older version has for members of the newest. */
export const renamed: Record<Version, Partial<Record<Collection, Readonly<Record<string, string>>>>> = {
  v3: {},
  v2: { customers: { name: 'title' } },
  v1: { customers: { name: 'title' }, tags: { hue: 'colour' }, drops: { text: 'body' } },
}

/** The same body in an older version. */
export const bodyIn = (version: Version, name: Collection, body: object): object =>
  Object.fromEntries(Object.entries(body).map(([member, value]) => [renamed[version][name]?.[member] ?? member, value]))

function bodyOf(choose: Chooser, name: Collection, pool: Pool, whole: boolean): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  const isBold = choose.once(3)
  // Sometimes a guarded value is sent alone: with others, the refusal could be due to another member.
  const [isAlone, only] = [choose.once(3), choose.one(Object.keys(members[name]))]
  if (isAlone && !whole) return { [only]: members[name][only]?.(choose, pool) }
  for (const [member, make] of Object.entries(members[name])) {
    const isWanted = (choose.once(3) && (isBold || !guarded.includes(member))) || (whole && required.includes(member))
    const value = make(choose, pool)
    if (isWanted) body[member] = value
  }
  return body
}

const filters: Partial<Record<Collection, readonly string[]>> = {
  customers: [
    ...['name[like]=N%25', 'ssn=A-1', 'ssn[null]=true', 'contact.city=A-1', 'score[gte]=1', 'rank=gold', 'sort=name'],
    ...['sort=ssn', 'sort=score&order=desc', 'page_size=1', 'limit=1&offset=1', 'limit=2&cursor='],
    ...[
      'or=(rank=gold;ssn=A-1)',
      'or=(score[gte]=1)',
      'or=(contact.city=A-1;rank=plain)',
      'or=(rank=gold)&limit=1&cursor=',
    ],
    ...['fields=rank,ssn', 'fields=contact.city', 'fields=rank', 'fields=pin', 'fields=planId&limit=1&cursor='],
    ...['embed=plan', 'embed=visits.customer,plan', 'embed=plan&limit=1&cursor=', 'fields=name&embed=visits'],
    ...['search=n', 'search=N0&limit=1&cursor=', 'search=a%201&sort=name', 'search=secret', 'search=left&page_size=1'],
  ],
  visits: [
    'text=a',
    'cost[gte]=1',
    'or=(text=a;cost[gte]=1)',
    'or=(text=a;text=x)',
    'fields=cost',
    'fields=text',
    'embed=customer.plan',
    'search=a',
    'search=x',
  ],
  rooms: ['embed=bookings.room', 'embed=bookings&limit=1&cursor='],
  tags: ['hue=red', 'page_size=1', 'or=(hue=red;hue=dark)', 'fields=note', 'fields=hue', 'search=red', 'search=a'],
  labels: ['search=lab', 'search=l&limit=1&cursor='],
  plans: ['fields=cost', 'fields=title,price'],
  drops: ['fields=seal', 'fields=text', 'search=a'],
}
/** Summaries of lists; some need a scope. */
const summaries: Partial<Record<Collection, readonly string[]>> = {
  plans: ['prices', 'costs'],
  customers: ['ranks', 'ranks', 'numbers', 'towns', 'scores', 'spending'],
  visits: ['owners', 'expenses'],
  tags: ['days', 'notes'],
}
/** Selections of fields of single items, and names to embed. */
const selections = [
  ...['ssn', 'contact', 'rank', 'planId', 'pin', 'cost', 'note', 'hue', 'text', 'seal', 'score,rank'].map(
    (names) => `fields=${names}`,
  ),
  ...['plan', 'visits', 'visits.customer,plan', 'customer', 'customer.plan', 'bookings.room'].map(
    (names) => `embed=${names}`,
  ),
]

/** A request, and the same request in the newest version; null if there is none. */
export interface Asked {
  readonly request: Request
  readonly newest: Request | null
}

/** One request of the visitor for rows of its own or another account, in any version. */
// long because: every choice draws from the same numbers
export function requestOf(given: readonly number[], pool: Pool, has: Has): Asked {
  const choose = chooser(given)
  const there = all.filter((one) => has('rooms') || (one !== 'rooms' && one !== 'bookings'))
  const name = choose.one([...there, 'customers', 'customers'] as const)
  const version = choose.one(versions)
  const method = choose.one(['GET', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'PATCH', 'DELETE'])
  const isRead = method === 'GET' || method === 'HEAD'
  const isList = method === 'POST' || (isRead && choose.once(2))
  const headers: Record<string, string> = {}
  const tag = () => choose.one(['*', ...pool.tags])
  if (choose.once(isRead ? 2 : 5)) headers[choose.one(['if-match', 'if-none-match'])] = tag()
  if (choose.once(4))
    headers['idempotency-key'] = choose.one(['amy-0', 'amy-1', 'amy-drop', 'sam-0', 'sam-2', 'new-1', 'new-2'])
  // The answer to a PUT may show that an identifier is taken, so it only uses those that all worlds have.
  const others = method === 'PUT' && prefixes[name] ? [] : pool.foreign[name]
  const id = choose.one([...pool.ids[name], ...pool.ids[name], ...others, ...pool.ids[name]])
  const parents = name === 'visits' ? 'customers' : 'rooms'
  const parent = choose.one([...pool.ids[parents], ...pool.ids[parents], ...pool.foreign[parents], ''])
  const below = name === 'visits' || name === 'bookings'
  const at = isList
    ? below && (method === 'POST' || choose.once(2))
      ? `/${parents}/${parent}/${name}`
      : `/${name}`
    : `/${name}/${id}`
  const summary = choose.one(summaries[name] ?? [''])
  const isSummary = choose.once(3) && isList && isRead && summary !== ''
  const asked = isRead ? queryOf(choose, name, version, pool) : ''
  const selected = choose.one(selections)
  const isExport = choose.once(5) && isList && isRead && !isSummary
  if (isExport) headers.accept = choose.one(['text/csv', 'application/x-ndjson'])
  const query = isList ? asked : isRead && choose.once(3) ? `?${selected}` : ''
  const number = choose.one([1, 1, 2, 3, 4])
  const end = choose.one(['', '?limit=1&cursor=', `/${number}`, `/${number}?against=1`])
  const isRevision = isRead && !isList && choose.once(3) && name !== 'rooms' && name !== 'bookings'
  const body = ['POST', 'PUT', 'PATCH'].includes(method)
    ? bodyOf(choose, name, pool, method !== 'PATCH' && !choose.once(6))
    : null
  if (body && name === 'labels' && method === 'POST') body.id = choose.one(['lab_one', 'lab_three', 'lab_new'])
  if (body && name === 'tags' && method === 'PUT' && !choose.once(4)) body.name = id
  const own = body && { ...bodyIn(version, name, body) }
  const hasPrice = own !== null && version === 'v1' && name === 'customers' && choose.once(2)
  if (hasPrice) (own as Record<string, unknown>).price = choose.one(['1.00', '2.00', '3.00', '5.00'])
  const rest = { method, ...(Object.keys(headers).length > 0 && { headers }) }
  // A PUT in the first version without a price sets it to its default; the newest version has no such request.
  const isWhole = method === 'PUT' && version === 'v1' && name === 'customers'
  const isPlain =
    !isSummary &&
    !isExport &&
    !isRevision &&
    !hasPrice &&
    !isWhole &&
    query === '' &&
    !Object.values(headers).some((value) => value.includes('"'))
  return {
    request: {
      ...rest,
      path: isRevision
        ? `/${version}${at}/revisions${end}`
        : `/${version}${at}${isSummary ? `/summaries/${summary}` : ''}${query}`,
      ...(own && { json: own }),
    },
    newest: isPlain ? { ...rest, path: `/v3${at}`, ...(body && { json: body }) } : null,
  }
}

function queryOf(choose: Chooser, name: Collection, version: Version, pool: Pool): string {
  const own = filters[name]
  if (own === undefined || choose.once(2)) return ''
  const query = choose.one(own).replace('cursor=', () => `cursor=${choose.one(['', ...pool.cursors])}`)
  const priced = version === 'v1' && name === 'customers' && choose.once(4) ? 'price=5.00' : query
  const [member = ''] = /^[a-z]+/.exec(priced) ?? []
  const old = renamed[version][name]?.[member]
  const named = old === undefined ? priced : priced.replace(member, old)
  return `?${version !== 'v3' && name === 'customers' ? named.replace('sort=name', 'sort=title') : named}`
}
