/** Parts 2 to 5 of the contract: random links of two accounts against a plain model, read from both sides and embedded. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import fc from 'fast-check'
import { type Door, doors, spec } from '../help/door.ts'
import { runsOf } from '../help/runs.ts'

const api = service({
  name: 'notes',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: {
    notes: {
      prefix: 'not',
      owner: 'accountId',
      fields: { rank: f.integer({ filter: 'range', sort: true }) },
      embed: true,
      access: 'authenticated',
    },
    labels: {
      prefix: 'lab',
      fields: { rank: f.integer({ filter: 'range', sort: true }) },
      embed: true,
      access: 'public',
    },
  },
  pairs: {
    markings: {
      between: ['labels', 'notes'],
      fields: { weight: f.integer({ default: 0 }) },
      access: 'authenticated',
    },
  },
}).change('v2', 'labels', { about: 'Marks are called labels.', was: 'marks' })

const holders = { ann: { account: 'a', scopes: [] }, eve: { account: 'b', scopes: [] } }
type Who = keyof typeof holders
interface Item {
  readonly id: string
  readonly rank: number
}

/** The expected rows. Notes belong to accounts, and so do links. */
interface Model {
  readonly labels: Item[]
  readonly notes: Record<Who, Item[]>
  readonly links: Record<Who, Map<string, number>>
}
const name = (label: string, note: string): string => `${label} ${note}`

const deed = fc.record({
  who: fc.constantFrom<Who>('ann', 'eve'),
  what: fc.constantFrom('note', 'label', 'link', 'link', 'link', 'link', 'unlink', 'drop note', 'drop label'),
  back: fc.boolean(),
  at: fc.nat(50),
  to: fc.nat(50),
  n: fc.nat(9),
})
type Deed = typeof deed extends fc.Arbitrary<infer D> ? D : never

const pick = <T>(all: readonly T[], at: number): T | undefined => all[at % Math.max(all.length, 1)]

async function carriedOut(door: Door, model: Model, { who, what, back, at, to, n }: Deed): Promise<void> {
  const send = (method: string, path: string, json?: object) =>
    door.send(method, `/v2${path}`, { ...(json && { json }), headers: door.as(who) })
  const label = pick(model.labels, at)
  const note = pick(model.notes[who], to)
  if (what === 'note') model.notes[who].push((await send('POST', '/notes', { rank: n })).json)
  else if (what === 'label') model.labels.push((await send('POST', '/labels', { rank: n })).json)
  else if (what === 'drop note' && note && n < 4) {
    assert.equal((await send('DELETE', `/notes/${note.id}`)).status, 204)
    model.notes[who].splice(model.notes[who].indexOf(note), 1)
  } else if (what === 'drop label' && label && n < 4) {
    assert.equal((await send('DELETE', `/labels/${label.id}`)).status, 204)
    model.labels.splice(model.labels.indexOf(label), 1)
  } else if (label && note) {
    const path = back ? `/notes/${note.id}/labels/${label.id}` : `/labels/${label.id}/notes/${note.id}`
    const links = model.links[who]
    const known = links.has(name(label.id, note.id))
    if (what === 'unlink') assert.equal((await send('DELETE', path)).status, 204)
    else assert.equal((await send('PUT', path, { weight: n })).status, known ? 200 : 201)
    if (what === 'unlink') links.delete(name(label.id, note.id))
    else links.set(name(label.id, note.id), n)
  }
}

/** What a side lists, with the weight of each pair. */
const paired = (model: Model, who: Who, side: 'labels' | 'notes', own: string): [Item, number][] => {
  const others = side === 'labels' ? model.notes[who] : model.labels
  return others.flatMap((one): [Item, number][] => {
    const weight = model.links[who].get(side === 'labels' ? name(own, one.id) : name(one.id, own))
    return weight === undefined ? [] : [[one, weight]]
  })
}

const byId = ([a]: [Item, number], [b]: [Item, number]) => (a.id < b.id ? -1 : 1)
const byRank = (a: [Item, number], b: [Item, number]) => a[0].rank - b[0].rank || byId(a, b)
type Shown = Item & { readonly _pair: { readonly weight: number } }
const shown = (all: readonly Shown[]) => all.map(({ id, _pair }) => [id, _pair.weight])
const wanted = (all: readonly [Item, number][]) => all.map(([{ id }, weight]) => [id, weight])

async function compared(door: Door, model: Model, who: Who): Promise<void> {
  const get = async (path: string) => {
    const answer = await door.send('GET', path, { headers: door.as(who) })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  for (const side of ['labels', 'notes'] as const) {
    const other = side === 'labels' ? 'notes' : 'labels'
    const own = side === 'labels' ? model.labels : model.notes[who]
    for (const { id } of own) {
      const all = paired(model, who, side, id)
      const list = await get(`/v2/${side}/${id}/${other}`)
      assert.deepEqual(shown(list.data), wanted(all.toSorted(byId)))
      assert.equal(list.pagination.totalRecords, all.length)
      const some = all.filter(([{ rank }]) => rank >= 3).sort(byRank)
      const old = `/v1/${side === 'labels' ? 'marks' : side}/${id}/${other === 'labels' ? 'marks' : other}`
      assert.deepEqual(shown((await get(`${old}?rank[gte]=3&sort=rank&page_size=100`)).data), wanted(some))
    }
    const embedded = (await get(`/v2/${side}?embed=${other}&page_size=100`)).data
    for (const { id } of own) {
      const item = embedded.find((one: Item) => one.id === id)
      assert.deepEqual(shown(item._embedded[other].data), wanted(paired(model, who, side, id).toSorted(byId)))
    }
  }
}

doors(
  'pairs and a model',
  api,
  (door) => {
    spec(
      'R53 R74 R138 R170 R232',
      'lists from both sides are those of a plain model, whatever was linked and removed',
      async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(deed, { minLength: 5, maxLength: 40, size: 'max' }), async (deeds) => {
            const model: Model = { labels: [], notes: { ann: [], eve: [] }, links: { ann: new Map(), eve: new Map() } }
            for (const one of deeds) await carriedOut(door, model, one)
            for (const who of ['ann', 'eve'] as const) await compared(door, model, who)
            for (const who of ['ann', 'eve'] as const)
              for (const { id } of model.notes[who])
                await door.send('DELETE', `/v2/notes/${id}`, { headers: door.as(who) })
            for (const { id } of model.labels)
              await door.send('DELETE', `/v2/labels/${id}`, { headers: door.as('ann') })
          }),
          { numRuns: runsOf(door.store === 'SQLite' ? 15 : 4), endOnFailure: true },
        )
      },
    )
  },
  { holders },
)
