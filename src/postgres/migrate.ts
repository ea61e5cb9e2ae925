/** Migrate: brings the tables of a database from what they are to what is declared. The cellar. */
import { type Collection, cells, documentIn, type Texts, textsOf } from '../resources/collection.ts'
import type { Answer } from '../store/cellar.ts'
import { meta } from '../store/compile.ts'
import { postgres, quoted } from '../store/dialect.ts'
import { type Layout, layoutOf, layoutVersion, type Step, stepsBetween } from '../store/schema.ts'
import type { Connection } from './connect.ts'

type Ask = Connection['ask']

const found = async (ask: Ask, text: string, values: readonly string[] = []): Promise<Answer | undefined> =>
  (await ask({ text, values }))[0]

/** The layout as it was last applied; null for an empty database. */
export async function stored(ask: Ask): Promise<Layout | null> {
  const tables =
    'SELECT 1 AS found FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1'
  if (!(await found(ask, tables, [meta]))) return null
  const row = await found(ask, `SELECT value FROM ${meta} WHERE name = 'layout'`)
  const layout = row ? (JSON.parse(row.value as string) as Layout) : null
  if (layout && layout.layout > layoutVersion)
    throw new Error('It was written by a newer release of bylaw. Run that release, or a newer one.')
  return layout
}

export const missingSteps = (before: Layout | null, collections: readonly Collection[]): readonly Step[] =>
  stepsBetween(before, layoutOf(collections, before, postgres), collections, postgres)

/** All steps in one transaction; another node that starts at the same time waits and then finds nothing left to do. */
export async function migrate({ ask }: Connection, collections: readonly Collection[]): Promise<void> {
  await ask({ text: 'BEGIN', values: [] })
  try {
    if (await stored(ask)) await ask({ text: `LOCK TABLE ${meta} IN SHARE ROW EXCLUSIVE MODE`, values: [] })
    const before = await stored(ask)
    const layout = layoutOf(collections, before, postgres)
    for (const step of missingSteps(before, collections)) await carryOut(ask, step, collections, layout)
    const text = `INSERT INTO ${meta} (name, value) VALUES ('layout', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
    await ask({ text, values: [JSON.stringify(layout)] })
    await ask({ text: 'COMMIT', values: [] })
  } catch (error) {
    await ask({ text: 'ROLLBACK', values: [] }).catch(() => {})
    throw error
  }
}

async function carryOut(ask: Ask, step: Step, collections: readonly Collection[], layout: Layout): Promise<void> {
  try {
    if (step.empty) await refuseRows(ask, step.empty)
    for (const text of step.sql) await ask({ text, values: [] })
    const collection = collections.find(({ name }) => name === step.fill?.collection)
    if (collection) await refill(ask, collection, layout.tables[collection.name]?.shape ?? 1, step.fill?.again ?? false)
  } catch (error) {
    throw new Error(`The step "${step.about}" cannot be done: ${reasonOf(error as Error & { detail?: string })}`, {
      cause: error,
    })
  }
}

function reasonOf({ message, detail }: Error & { readonly detail?: string }): string {
  const clash = /^Key \(([^)]*)\)=/.exec(detail ?? '')?.[1]
  if (clash === undefined) return message
  const fields = clash.split(', ').map((column) => column.replace(/"/g, '').replace(/^by_/, ''))
  return `several rows have the same ${fields.join(' and ')}. Make them differ first.`
}

async function refuseRows(ask: Ask, table: string): Promise<void> {
  if (!(await found(ask, `SELECT 1 AS found FROM ${quoted(table)} LIMIT 1`))) return
  throw new Error(
    'it has rows, which would be lost. Declare it beside the old one under a name of its own and move what is stored; in development a new database will do.',
  )
}

/** Brings the texts to today's shape and writes every index column again, in steps of a thousand rows. */
async function refill(ask: Ask, collection: Collection, shape: number, again: boolean): Promise<void> {
  const keys = collection.composite ? ['parent', 'id'] : ['id']
  const names = ['doc', 'hidden', 'shape', ...collection.columns.map(({ name }) => quoted(name))]
  const set = names.map((name, i) => `${name} = $${i + 1}`).join(', ')
  const where = keys.map((name, i) => `${name} = $${names.length + i + 1}`).join(' AND ')
  const update = `UPDATE ${quoted(collection.table)} SET ${set}${again ? ', revision = revision + 1' : ''} WHERE ${where}`
  const [key, marks] = [keys.join(', '), keys.map((_, i) => `$${i + 1}`).join(', ')]
  const select = `SELECT ${key}, doc, hidden FROM ${quoted(collection.table)} WHERE (${key}) > (${marks}) ORDER BY ${key} LIMIT 1000`
  let last = keys.map(() => '')
  for (;;) {
    const rows = await ask({ text: select, values: last })
    if (rows.length === 0) return
    for (const row of rows) {
      last = keys.map((name) => row[name] as string)
      const document = documentOf(collection, row as unknown as Texts, last.join('/'))
      const { doc, hidden } = textsOf(collection, document)
      await ask({ text: update, values: [doc, hidden, shape, ...cells(collection, document), ...last] })
    }
  }
}

function documentOf(collection: Collection, texts: Texts, id: string): Record<string, unknown> {
  try {
    return documentIn(collection, texts)
  } catch (error) {
    throw new Error(`in ${id}, ${(error as Error).message}`, { cause: error })
  }
}
