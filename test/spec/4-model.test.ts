/** Part 4 of the contract, methods: long random sequences of writes, compared with a simple model. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import fc from 'fast-check'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { runsOf } from '../help/runs.ts'

const world = service({
  name: 'world',
  resources: {
    nodes: {
      prefix: 'nod',
      fields: {
        u: f.integer({ optional: true, unique: true }),
        v: f.integer({ default: 0 }),
        keepId: f.ref('nodes', { optional: true }),
        fallId: f.ref('nodes', { optional: true, onDelete: 'cascade' }),
        keepIds: f.list(f.ref('nodes')),
      },
      access: 'public',
      settings: { resource: { id: 'client', putRevives: 'on' } },
    },
  },
})

interface Node {
  readonly u: number | null
  readonly v: number
  readonly keepId: string | null
  readonly fallId: string | null
  readonly keepIds: readonly string[]
}
type Patch = { [K in keyof Node]?: Node[K] | undefined }

interface Step {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET'
  readonly id: string
  readonly patch: Patch
  readonly match: 'none' | 'current' | 'stale' | 'any'
}

/** The existing nodes with their tags, the deleted ones, and the content of every tag seen. */
interface Model {
  readonly nodes: Map<string, Node>
  readonly tags: Map<string, string>
  readonly gone: Set<string>
  readonly seen: Map<string, string>
}

const empty: Node = { u: null, v: 0, keepId: null, fallId: null, keepIds: [] }

/** The nodes that are deleted with a node, and whether a reference from another node prevents it. */
function fall({ nodes }: Model, id: string): { going: Set<string>; held: boolean } {
  const going = new Set([id])
  for (const one of going) for (const [other, { fallId }] of nodes) if (fallId === one) going.add(other)
  const held = [...nodes].some(
    ([other, { keepId, keepIds }]) =>
      !going.has(other) && [keepId, ...keepIds].some((to) => to !== null && going.has(to)),
  )
  return { going, held }
}

const defined = (patch: Patch): Partial<Node> =>
  Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))

/** The expected status of a write of a whole node. */
function written({ nodes }: Model, id: string, node: Node): number {
  const before = nodes.get(id)
  const named = (now: readonly (string | null)[], then: readonly (string | null)[]) =>
    JSON.stringify(now) === JSON.stringify(then) ? [] : now
  const fresh = [
    ...named([node.keepId], [before?.keepId ?? null]),
    ...named([node.fallId], [before?.fallId ?? null]),
    ...named(node.keepIds, before?.keepIds ?? []),
  ]
  if (fresh.some((to) => to !== null && to !== id && !nodes.has(to))) return 400
  if (node.u !== null && [...nodes].some(([other, { u }]) => other !== id && u === node.u)) return 409
  return before ? 200 : 201
}

/** The status that the model expects. Applies the step to the model. */
function expected(model: Model, { method, id, patch, match }: Step): number {
  const { nodes, gone } = model
  const node = nodes.get(id)
  const guarded = match !== 'none'
  if (method === 'GET') return node ? (match === 'stale' ? 412 : 200) : gone.has(id) ? 410 : 404
  if (!node && method === 'PATCH') return gone.has(id) ? 410 : 404
  if (!node && method === 'DELETE') return gone.has(id) ? 204 : 404
  if (guarded && method !== 'POST' && (!node || match === 'stale')) return 412
  if (method === 'DELETE') return removed(model, id)
  const next = { ...(method === 'PATCH' ? (node ?? empty) : empty), ...defined(patch) }
  const status = written(model, id, next)
  if (method === 'POST' && status !== 400 && node) return 409
  if (method === 'POST' && status !== 400 && gone.has(id)) return 410
  if (status > 201) return status
  nodes.set(id, next)
  gone.delete(id)
  return status
}

function removed(model: Model, id: string): number {
  const { going, held } = fall(model, id)
  if (held) return 409
  for (const one of going) {
    model.nodes.delete(one)
    model.gone.add(one)
  }
  return 204
}

function send(door: Door, { tags }: Model, prefix: string, { method, id, patch, match }: Step): Promise<Answer> {
  const named = (to: string | null | undefined) => (typeof to === 'string' ? prefix + to : to)
  const { u, v, keepId, fallId, keepIds } = patch
  const body = { v, u, keepId: named(keepId), fallId: named(fallId), keepIds: keepIds?.map(named) }
  const current = tags.get(id) ?? '"1-1-abcdef"'
  const tag = { none: undefined, any: '*', current, stale: `${current.slice(0, -1)}x"` }[match]
  const headers: Record<string, string> = tag === undefined || method === 'POST' ? {} : { 'if-match': tag }
  if (method === 'POST') return door.send('POST', '/nodes', { json: { ...body, id: prefix + id }, headers })
  const path = `/nodes/${prefix}${id}`
  return door.send(method, path, method === 'GET' || method === 'DELETE' ? { headers } : { json: body, headers })
}

/** Compares answers with the model, and checks that a tag belongs to one content only. */
function agree(
  { nodes, tags, seen }: Model,
  prefix: string,
  { id }: Step,
  { status, json, headers, text }: Answer,
): void {
  if (status !== 200 && status !== 201) return
  const { u, v, keepId, fallId, keepIds } = json
  const bare = (to: string | null) => to?.slice(prefix.length) ?? null
  const reported = { u, v, keepId: bare(keepId), fallId: bare(fallId), keepIds: keepIds.map(bare) }
  assert.deepEqual(reported, nodes.get(id))
  const named = `${id} ${headers.etag}`
  assert.equal(seen.get(named) ?? text, text)
  seen.set(named, text)
  tags.set(id, headers.etag as string)
}

const ids = ['a', 'b', 'c', 'd', 'e']
const ref = fc.option(fc.constantFrom(...ids), { nil: null, freq: 3 })
const sometimes = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined, freq: 2 })
const step: fc.Arbitrary<Step> = fc.record({
  method: fc.constantFrom('POST', 'PUT', 'PATCH', 'PATCH', 'DELETE', 'GET'),
  id: fc.constantFrom(...ids),
  match: fc.constantFrom('none', 'none', 'current', 'stale', 'any'),
  patch: fc.record({
    u: sometimes(fc.option(fc.integer({ min: 1, max: 4 }), { nil: null })),
    v: sometimes(fc.integer({ min: 0, max: 2 })),
    keepId: sometimes(ref),
    fallId: sometimes(ref),
    keepIds: sometimes(fc.array(fc.constantFrom(...ids), { maxLength: 2 })),
  }),
})

doors('random stories', world, (door) => {
  let reported = 0
  spec('R90 R91 R109 R112 R113 R121 R124 R133 R136 R138', 'the service does what the model does', async () => {
    const story = async (steps: readonly Step[]): Promise<void> => {
      const model: Model = { nodes: new Map(), tags: new Map(), gone: new Set(), seen: new Map() }
      const prefix = `nod_s${++reported}_`
      const offset = reported * 10 // values are unique among all sequences
      for (const [n, one] of steps.entries()) {
        const u = typeof one.patch.u === 'number' ? one.patch.u + offset : one.patch.u
        const own = { ...one, patch: { ...one.patch, u } }
        const status = expected(model, own)
        const answer = await send(door, model, prefix, own)
        assert.equal(answer.status, status, `step ${n}: ${JSON.stringify(own)} ${answer.text}`)
        agree(model, prefix, own, answer)
      }
    }
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), story), {
      numRuns: runsOf(60),
      seed: 2026,
    })
  })
})
