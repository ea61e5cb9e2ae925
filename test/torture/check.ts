/** Compares things, keys, tombstones and lists with the ledger, by requests, after all writes have ended. */
import { setTimeout as pause } from 'node:timers/promises'
import type { HttpAnswer } from './ask.ts'
import { attempt, type ClientContext, read } from './client.ts'
import type { Creation, Item } from './ledger.ts'

type Document = Readonly<Record<string, unknown>>

/** Checks all things that were used, and the others in lists only; or everything. */
export async function check(context: ClientContext, everything: boolean): Promise<void> {
  const { ledger } = context
  await pause(150) // late writes have ended by now
  const listed = await walk(context, '')
  if (!listed) return
  adopt(context, listed)
  const items = [...ledger.items.values()]
  await each(
    items.filter(({ touched }) => touched || everything),
    (item) => read(context, item),
  )
  compare(context, items, listed)
  await columns(context, listed)
  const keyed = [...ledger.creations.values()].filter(({ key }) => key !== null)
  await each(
    keyed.filter(({ checked }) => !checked || everything),
    (one) => sameKey(context, one),
  )
  for (const item of items) ledger.settled(item)
}

/** Runs eight at a time. */
async function each<T>(all: readonly T[], act: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const one of left) await act(one)
    }),
  )
}

async function get({ ask, ledger }: ClientContext, path: string): Promise<HttpAnswer | null> {
  const answer = await ask('GET', path)
  if (answer !== null && answer !== 'late' && answer.status === 200) return answer
  ledger.violated(`GET ${path} answers ${answer === null || answer === 'late' ? 'nothing' : answer.text}`)
  return null
}

/** All items of a list, page by page with its cursors; null if a page fails or an item occurs twice. */
export async function walk(context: ClientContext, query: string): Promise<Map<string, Document> | null> {
  const found = new Map<string, Document>()
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer: HttpAnswer | null = await get(context, `/things?limit=100&cursor=${cursor}${query}`)
    if (!answer) return null
    for (const one of answer.json.data) {
      if (found.has(one.id)) {
        context.ledger.violated(`the list ${query} shows ${one.id} twice`)
        return null
      }
      found.set(one.id, one)
    }
    cursor = answer.json.pagination.nextCursor
  }
  const whole = await get(context, `/things?page_size=1${query}`)
  const count = whole?.json.pagination.totalRecords
  if (count !== found.size) context.ledger.violated(`the list ${query} counts ${count} and shows ${found.size}`)
  return found
}

/** Adds things without a known creation to the ledger: at most one for each creation without a key and an answer. */
function adopt({ ledger }: ClientContext, listed: ReadonlyMap<string, Document>): void {
  for (const [id, one] of listed) {
    if (ledger.items.has(id)) continue
    const creation = ledger.creations.get(one.mark as string)
    if (!creation) ledger.violated(`${id} was made by ${one.mark}, which nobody asked for`)
    else if (creation.key !== null)
      ledger.violated(`${id} stands beside ${creation.id}, which its key ${creation.key} made`)
    else ledger.made(creation, id, 'the list')
  }
}

/** Compares a list with the items. */
function compare({ ledger }: ClientContext, items: readonly Item[], listed: ReadonlyMap<string, Document>): void {
  for (const { id, gone, revision, text } of items) {
    const one = listed.get(id)
    if (gone && one) ledger.violated(`${id} is gone and listed`)
    if (!gone && !one) ledger.violated(`${id} is not listed`)
    if (!gone && one && JSON.stringify(one) !== text)
      ledger.violated(`${id} at revision ${revision} is listed otherwise`)
  }
}

/** Checks that the columns agree with the documents. */
async function columns(context: ClientContext, listed: ReadonlyMap<string, Document>): Promise<void> {
  const { ledger, random } = context
  const [least, most] = [random(150), 150 + random(4000)]
  const found = await walk(context, `&size[gte]=${least}&size[lte]=${most}&sort=size&order=desc`)
  if (!found) return
  const sizes = [...found.values()].map(({ size }) => Number(size))
  if (sizes.some((size, i) => i > 0 && size > (sizes[i - 1] as number))) ledger.violated('a list sorted by size is not')
  const wanted = [...listed.values()].filter(({ size }) => Number(size) >= least && Number(size) <= most)
  const differs = wanted.length !== found.size || wanted.some(({ id }) => !found.has(id as string))
  if (differs) ledger.violated(`a filter by size finds ${found.size} of ${wanted.length}`)
  const all = [...listed.values()]
  const some = Array.from({ length: Math.min(all.length, 20) }, () => all[random(all.length)] as Document)
  await each(some, async ({ id, stamp }) => {
    const answer = await get(context, `/things?stamp=${stamp}`)
    const ids = answer?.json.data.map((one: Document) => one.id)
    if (answer && `${ids}` !== id) ledger.violated(`the stamp ${stamp} of ${id} finds ${ids}`)
  })
}

/** Checks that a used key still refers to the thing that it created. */
async function sameKey(context: ClientContext, one: Creation): Promise<void> {
  const { key, id } = one
  if (id === null) return context.ledger.violated(`what ${key} made is not known`)
  await attempt(context, one)
  one.checked = true
}
