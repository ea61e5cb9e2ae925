/** Upgrade: nodes of two declarations write the same rows and are killed; then a start is refused and must not change anything. */
import assert from 'node:assert/strict'
import { rows } from '../help/file.ts'
import { sql } from '../help/postgres.ts'
import { type Ask, asking } from './ask.ts'
import { launch, type Server } from './server.ts'

type Values = Readonly<Record<string, unknown>>

/** A row in both declarations. */
interface Model {
  readonly id: string
  old: Values
  now: Values
}

interface Node {
  readonly side: 'old' | 'now'
  readonly ask: Ask
  server: Server
}

interface Upgrade {
  readonly database: string
  /** The store and the name of a mutant. */
  readonly mutant: string | null
  readonly random: (below: number) => number
  readonly killed: () => void
}

const path = { old: '/v1/rows', now: '/v2/rows' } as const
const declared = { old: 'declared/before.ts', now: 'declared/both.ts' } as const
const turns = 6

/** Returns the violations. */
export async function upgrade(options: Upgrade): Promise<readonly string[]> {
  const nodes: Node[] = []
  try {
    nodes.push(await node('old', options))
    const first = nodes[0] as Node
    const models = await Promise.all(Array.from({ length: 4 }, () => made(first)))
    nodes.push(await node('now', options))
    for (let turn = 0; turn < turns; turn++) {
      await Promise.all(models.map((model) => written(model, nodes, options)))
      const fallen = nodes[options.random(4)]
      if (fallen) await replaced(fallen, options)
    }
    for (const { server } of nodes.splice(0)) await server.stop()
    await refused(models, options)
    return []
  } catch (error) {
    if (!(error instanceof assert.AssertionError)) throw error
    return [`a rolling upgrade: ${error.message}`]
  } finally {
    for (const { server } of nodes) await server.kill()
  }
}

/** Until the change is finished, no start of either declaration may be refused. */
const begun = (side: Node['side'], { database, mutant }: Upgrade): Promise<Server> =>
  launch({ database, mutant, trace: null, api: declared[side] }).catch(({ message }: Error) =>
    assert.fail(`the ${side} node: ${message}`),
  )

async function node(side: Node['side'], options: Upgrade): Promise<Node> {
  const own: Node = { side, server: await begun(side, options), ask: asking(() => own.server.port) }
  return own
}

/** Either declaration may start again until the change is finished. */
async function replaced(node: Node, options: Upgrade): Promise<void> {
  await node.server.kill()
  options.killed()
  node.server = await begun(node.side, options)
}

async function made({ ask }: Node): Promise<Model> {
  const old = { title: 'a', tags: [], price: '1.00', first: 'Ann', last: 'Lee' }
  const answer = await ask('POST', path.old, { json: old })
  assert.ok(
    answer !== null && answer !== 'late' && answer.status === 201,
    `a creation answers ${JSON.stringify(answer)}`,
  )
  return { id: answer.json.id, old, now: { title: 'a', words: [], price: '1.000', full: 'Ann Lee' } }
}

const up = ({ title, tags, price, first, last }: Values): Values => ({
  title,
  words: tags,
  price: `${price}0`,
  full: `${first} ${last}`.trim(),
})

function down({ title, words, price, full }: Values): Values {
  const [first = '', ...rest] = String(full).split(' ')
  return { title, tags: words, price: String(price).slice(0, -1), first, last: rest.join(' ') }
}

/** Applies the differences between two views of a row. */
const merged = (own: Values, was: Values, is: Values): Values =>
  Object.fromEntries(
    Object.keys(own).map((name) => [
      name,
      JSON.stringify(was[name]) === JSON.stringify(is[name]) ? own[name] : is[name],
    ]),
  )

/** The values that each side writes. */
const choices = {
  old: [
    { title: 'b' },
    { tags: ['x'] },
    { tags: ['x', 'y'] },
    { price: '1.00' },
    { price: '2.00' },
    { first: 'Bob' },
    { first: 'Ann', last: 'Ray' },
  ],
  now: [
    { title: 'c' },
    { words: ['z'] },
    { words: [] },
    { price: '1.005' },
    { price: '2.009' },
    { full: 'Ann  Lee' },
    { full: 'Bob' },
  ],
} as const

async function written(model: Model, nodes: readonly Node[], { random }: Upgrade): Promise<void> {
  for (let i = 0; i < 6; i++) {
    const { side, ask } = nodes[random(nodes.length)] as Node
    const all = choices[side]
    const json = all[random(all.length)] as Values
    const answer = await ask('PATCH', `${path[side]}/${model.id}`, { json })
    assert.ok(
      answer !== null && answer !== 'late' && answer.status === 200,
      `a write answers ${JSON.stringify(answer)}`,
    )
    const next = { ...model[side], ...json }
    const { old, now } = model
    Object.assign(
      model,
      side === 'old'
        ? { old: next, now: merged(now, up(old), up(next)) }
        : { now: next, old: merged(old, down(now), down(next)) },
    )
    for (const one of nodes) await shown(model, one)
  }
}

async function shown(model: Model, { side, ask }: Node): Promise<void> {
  const answer = await ask('GET', `${path[side]}/${model.id}`)
  assert.ok(answer !== null && answer !== 'late' && answer.status === 200, `a read answers ${JSON.stringify(answer)}`)
  const expected = JSON.stringify(model[side])
  const { id: _, createdAt: __, updatedAt: ___, ...answered } = answer.json
  const found = JSON.stringify(Object.fromEntries(Object.keys(model[side]).map((name) => [name, answered[name]])))
  assert.ok(found === expected, `the ${side} node shows ${found} of ${model.id}, which is ${expected}`)
}

/** Finishes the change; then a start that leaves out the first version, which has a caller, must be refused without changes. */
async function refused(models: readonly Model[], options: Upgrade): Promise<void> {
  await asked(options.database, 'DELETE FROM bylaw_nodes') // a start would wait for the killed ones
  const now = await node('now', options)
  for (const model of models) {
    await shown(model, now)
    await now.ask('GET', `${path.old}/${model.id}`)
  }
  await now.server.stop()
  const before = await contentOf(options.database)
  const { database, mutant } = options
  const says = await launch({ database, mutant, trace: null, api: 'declared/after.ts' }).then(
    async ({ kill }) => {
      await kill()
      return 'nothing'
    },
    ({ message }: Error) => message,
  )
  assert.match(says, /v1 is not served any more/, `a start without a version that has callers says ${says}`)
  assert.ok((await contentOf(database)) === before, 'a start that was refused has changed the database')
  const again = await node('now', options)
  for (const model of models) await shown(model, again)
  await again.server.stop()
}

/** The data that a start could change: the layout and the rows. */
async function contentOf(database: string): Promise<string> {
  const layout = await asked(database, `SELECT value FROM bylaw_meta WHERE name = 'layout'`)
  return JSON.stringify([
    layout,
    await asked(database, 'SELECT id, shape, revision, doc, hidden FROM rows ORDER BY id'),
  ])
}

const asked = async (database: string, text: string) =>
  database.startsWith('sqlite:') ? rows(database.slice('sqlite:'.length), text) : sql(database, text)
