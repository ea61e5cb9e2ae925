/** Give: writes what a row of before has, and a row of another resource has today, to that one. The cellar. */
import type { Key } from '../flow/plan.ts'
import {
  aside,
  brought,
  cells,
  type Given,
  keptIn,
  type Members,
  textsOf,
  viewsIn,
  withAside,
} from '../resources/collection.ts'
import { retell } from '../store/beside.ts'
import { type Answer, type Cellar, moved, type Shelf, type Steps } from '../store/cellar.ts'
import { updateText } from '../store/compile.ts'
import { keyValues } from '../store/dialect.ts'
import { remark } from '../store/spread.ts'

interface Giving {
  readonly cellar: Cellar
  /** Whether what is given is newer than what is there, as nodes of the declaration before have written it since. */
  readonly latest: boolean
}

/**
 * Everything that a row gives is written in the same transaction in which it goes from there. What a node of the former
 * declaration saw and did not change is not given: the other row may have a value that this node sees less of. R196.
 */
export function* carry(giving: Giving, { collection, shape }: Shelf, row: Answer): Steps<void> {
  const own = Number(row.shape)
  if (own >= shape || !collection.gives) return
  const text = (row.hidden ?? null) as string | null
  const { [aside]: _, ...hidden } = JSON.parse(text ?? '{}') as Members
  const document = { ...hidden, ...(JSON.parse(row.doc as string) as Members) }
  const place = `${collection.name}/${row.id}`
  const givenBy = (one: Members) => told(place, () => collection.gives?.(own, one) ?? [])
  const views = viewsIn(text, own).map(givenBy)
  for (const given of givenBy(document)) {
    if (views.length > 0 && views.every((view) => view.some((one) => isSame(one, given)))) continue
    const says = `\`${given.field}\` of ${place} is ${JSON.stringify(given.value)}`
    if (given.id === null)
      throw new Error(`${says}, and it leads to none of ${given.collection}, which have it today. ${mend}`)
    const key = { id: given.id, parent: null, account: (row.account ?? null) as string | null }
    yield* give(giving, { given, key, says, what: `${collection.name}.${given.field}` })
  }
}

const isSame = (one: Given, other: Given): boolean =>
  one.collection === other.collection &&
  one.field === other.field &&
  JSON.stringify(one.value) === JSON.stringify(other.value)

const mend = 'Mend it with the declaration before, so that nothing is lost, and try again.'

interface Gift {
  readonly given: Given
  readonly key: Key
  readonly says: string
  /** Names it among all that the row is given. */
  readonly what: string
}

/** What was given to a row since it was of an older shape; the rest of it is as that one had it. It goes with the end of the change. */
interface Mark {
  readonly since: number
  readonly given: readonly string[]
}

/** Writes a value to the row that has it today. What that one has of its own is told, and stays. */
function* give(giving: Giving, { given, key, says, what }: Gift): Steps<void> {
  const { cellar, latest } = giving
  const shelf = cellar.shelves.get(given.collection)
  if (!shelf)
    throw new Error(`the rows of ${given.collection} are to be written too, which this declaration has otherwise.`)
  const { collection, shape, former } = shelf
  const place = `${given.collection}/${key.id}`
  const keys = keyValues(collection, key, cellar.dialect)
  const [row] = yield { text: shelf.texts.own, values: keys }
  if (!row) throw new Error(`${says}, and ${place}, which would have it today, is not there. ${mend}`)
  const stored = { doc: row.doc as string, hidden: (row.hidden ?? null) as string | null, shape: Number(row.shape) }
  const mark = stored.shape === shape ? markIn(stored.hidden, shape) : { since: stored.shape, given: [] }
  yield* carry(giving, shelf, { ...row, ...key })
  const seen = told(place, () => brought(collection, shape, stored))
  const has = given.read(seen.document)
  const isSame = JSON.stringify(has) === JSON.stringify(given.value)
  if (isSame && stored.shape === shape && mark === null) return
  const isOwn = mark === null || mark.given.includes(what) || !given.isNew(collection.epochAt?.(mark.since) ?? '')
  if (has != null && isOwn && !isSame && !latest) {
    const hint = mark?.given.length === 0 ? isAdded(given.collection) : ''
    throw new Error(`${says}, and ${place}, which has it today, has ${JSON.stringify(has)}. ${hint}${mend}`)
  }
  const document = { ...seen.document, ...given.put(seen.document) }
  const texts = textsOf(collection, document)
  const kept = former ? withAside(collection, { own: shape, former }, seen, texts) : texts.hidden
  const hidden = mark ? marked(kept, shape, { ...mark, given: [...mark.given, what] }) : kept
  const values = [shape, texts.doc, hidden, ...cells(collection, document), ...keys, Number(row.revision)]
  const was = { ...textsOf(collection, seen.document), shape }
  const clash = yield* remark(cellar, shelf, { key, time: 0 }, was, { ...texts, shape })
  if (clash) throw new Error(`${says}, and another row has the same ${clash.fields.join(' and ')} as ${place}. ${mend}`)
  const [done] = yield { text: updateText(collection, [...collection.columns.keys()], cellar.dialect), values }
  if (!done) throw moved(given.collection)
  if (latest) yield* retell(cellar, given.collection, key)
}

/** A row of an older shape has what its own changes say, or the default that no change speaks of. */
const isAdded = (name: string): string =>
  `If ${name} had no such field before, name it under \`added\` in a change of ${name}, so that its default gives way. `

const markIn = (hidden: string | null, shape: number): Mark | null =>
  (keptIn(hidden)[shape] as Mark | undefined) ?? null

function marked(hidden: string | null, shape: number, mark: Mark): string {
  const all = JSON.parse(hidden ?? '{}') as Record<string, Members>
  return JSON.stringify({ ...all, [aside]: { ...all[aside], [shape]: mark } })
}

/** What goes wrong with a row is told with its name. */
export function told<T>(place: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw new Error(`in ${place}, ${(error as Error).message}`, { cause: error })
  }
}
