/** Makes one statement of several, for databases that are far away: a row with its key and what it refers to, a page with what is beside it. Pure. The cellar. */
import type { Create, List } from '../flow/plan.ts'
import { type Cell, type Collection, keyColumns } from '../resources/collection.ts'
import type { Cellar, Shelf } from './cellar.ts'
import { keys, keyValues, probeStatement, type Statement } from './compile.ts'
import { type Dialect, quoted } from './dialect.ts'
import type { Stretch } from './segments.ts'

const mostHeld = 5

/**
 * A creation whole in one statement, which makes everything and gives a row, or makes nothing and gives none; null where it takes more.
 * What it refers to is held first, then the key is taken, and the row is made of what came of both.
 */
export function fusedCreate(cellar: Cellar, own: Shelf, plan: Create, revision: number): Statement | null {
  const { fused } = cellar.dialect
  const held = heldBy(plan)
  if (!fused || plan.id !== 'fresh' || (plan.claim?.expired ?? null) !== null || held.length > mostHeld) return null
  const { collection, shape } = own
  const { doc, hidden, cells } = plan.row
  const stored = ['revision', 'shape', 'doc', 'hidden', ...collection.columns.map(({ name }) => quoted(name))]
  const values: Cell[] = [...keyValues(collection, plan.key), revision, shape, doc, hidden, ...cells]
  const types = [
    ...keyColumns(collection).map(() => 'text'),
    'bigint',
    'bigint',
    'text',
    'text',
    ...collection.columns.map(({ type }) => (type === 'integer' ? 'bigint' : 'text')),
  ]
  const bind = (value: Cell, type: string): string => `${cellar.dialect.mark(values.push(value))}::${type}`
  const row = values.map((_, i) => `${cellar.dialect.mark(i + 1)}::${types[i]}`).join(', ')
  const into = `INSERT INTO ${quoted(collection.table)} (${[...keyColumns(collection), ...stored].join(', ')})`
  const steps = held.map((target, i) => `held${i} AS (${holding(cellar, plan, target, bind)})`)
  const from = held.map((_, i) => `held${i}`)
  if (plan.claim) {
    const { hash, fingerprint, time, keeps } = plan.claim
    const { key } = plan
    const texts = [hash, plan.collection, key.parent, key.id, fingerprint].map((value) => bind(value, 'text'))
    const answer = bind(keeps ? JSON.stringify({ doc, revision }) : null, 'text')
    const claim = `INSERT INTO ${keys} (hash, collection, parent, id, fingerprint, time, answer)
      SELECT ${texts.join(', ')}, ${bind(time, 'bigint')}, ${answer}${behind(from)} ON CONFLICT (hash) DO NOTHING RETURNING hash`
    steps.push(`claim AS (${claim})`)
    from.splice(0, from.length, 'claim')
  }
  const before = steps.length > 0 ? `WITH ${steps.join(', ')} ` : ''
  return { text: `${before}${into} SELECT ${row}${behind(from)} RETURNING revision`, values, lone: 'write' }
}

interface Held {
  readonly collection: string
  readonly id: string
}

/** The rows that have to be there: the owner, and what is referred to. */
function heldBy({ parent, references, collection, key }: Create): readonly Held[] {
  const others = references.filter((one) => one.collection !== collection || one.id !== key.id)
  const all = [...(parent ? [parent] : []), ...others]
  return [...new Map(all.map((one) => [`${one.collection}/${one.id}`, one])).values()]
}

function holding(
  { shelves, dialect }: Cellar,
  { key: { account } }: Create,
  { collection: name, id }: Held,
  bind: (value: Cell, type: string) => string,
): string {
  const { collection } = shelves.get(name) as Shelf
  const values = keyValues(collection, { id, parent: null, account })
  const where = keyColumns(collection).map((column, i) => `${column} = ${bind(values[i] as Cell, 'text')}`)
  return `SELECT 1 FROM ${quoted(collection.table)} WHERE ${where.join(' AND ')}${dialect.holds?.kept}`
}

const behind = (from: readonly string[]): string => (from.length === 0 ? '' : ` FROM ${from.join(', ')}`)

/** What a statement tells, and whether there is a row in one of other stretches, told with it. */
export function besidesStatement(
  { text, values }: Statement,
  collection: Collection,
  plan: List,
  stretches: readonly Stretch[],
  dialect: Dialect,
): Statement {
  const all = [...values]
  const probes = stretches.map((stretch) => {
    const from = all.length
    const probe = probeStatement(collection, plan, stretch, { ...dialect, mark: (n) => dialect.mark(from + n) })
    all.push(...probe.values)
    return `EXISTS (${probe.text})`
  })
  return { text: `SELECT page.*, ${probes.join(' OR ')} AS beside FROM (${text}) AS page`, values: all }
}
