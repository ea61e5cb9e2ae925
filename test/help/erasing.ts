/** Erases items in this process, and searches a database for what should be gone. */
import { f, type Service } from 'bylaw'
import { eraseItem } from '../../src/erasure/erase-item.ts'
import type { Plan } from '../../src/flow/plan.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import type { Resource } from '../../src/resources/resource.ts'
import type { Service as MadeService } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import type { Place } from './places.ts'

interface ErasedKey {
  readonly id: string
  readonly parent?: string
  readonly account?: string
}

/**
 * Erases an item as the command does; `failAt` is the number of the plan at which the store fails, `before` runs once it is open, and
 * `afterPlan` after each plan.
 */
export async function erased(
  api: Service,
  { url }: Pick<Place, 'url'>,
  name: string,
  { id, parent, account }: ErasedKey,
  {
    failAt = Number.POSITIVE_INFINITY,
    isDry = false,
    before = async () => {},
    afterPlan = async (_: Plan): Promise<void> => {},
  } = {},
) {
  const service = api as unknown as MadeService
  const store = await openStore(service, url, 'require')
  let plans = 0
  const execute = async (plan: Plan) => {
    if (++plans === failAt) throw new Error('The process was killed.')
    const outcome = await store.execute(plan)
    await afterPlan(plan)
    return outcome
  }
  try {
    await before()
    const world = serviceWorld(realWorld, store)
    const resource = service.resources.get(name) as Resource
    const key = { id, parent: parent ?? null, account: account ?? null }
    const { counts, unended } = await eraseItem(
      { service, store: { ...store, execute }, world, isDry },
      { resource, key },
    )
    return { counts: Object.fromEntries([...counts].map(([one, own]) => [one, Object.fromEntries(own)])), unended }
  } finally {
    await store.close()
  }
}

/** The tables whose rows contain a text, in any case. */
export async function tablesWith(text: string, { url, rows }: Place): Promise<string[]> {
  const isFile = url.startsWith('sqlite:')
  const list = isFile
    ? "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'search__*' AND name NOT GLOB 'sqlite_*' ORDER BY name"
    : "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace ORDER BY relname"
  const found: string[] = []
  for (const { name } of await rows(list)) {
    const all = await rows(`SELECT ${isFile ? '*' : 'row_to_json(own)'} FROM "${name}" AS own`)
    if (JSON.stringify(all).toLowerCase().includes(text.toLowerCase())) found.push(String(name))
  }
  return found
}

/** A resource with a personal text, whose items leave their first state by the clock. */
export const endingAfter = <const D extends string>(after: D) =>
  ({
    fields: { text: f.text({ optional: true, personal: true }) },
    states: {
      field: 'status',
      initial: 'open',
      transitions: { endings: { from: ['open'], to: 'done', after } },
    },
    access: 'public',
  }) as const
