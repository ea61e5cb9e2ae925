/** Answer: the texts that an older version answers for stored ones. Part 9, versions. */
import type { Resource } from '../resources/resource.ts'
import { converting } from './failure.ts'
import { conversion, type Document, type Program } from './program.ts'

/** The texts of rows that a document is completed from; null where there is none. */
export type Rows = readonly (string | null)[]

export interface Answering {
  /** The text that is answered for a stored one, which may have been read already; null where it is the same. */
  readonly answer: ((doc: string, rows: Rows, document?: Readonly<Document>) => string) | null
  /** The same for texts that are joined by commas; other rows are given by their ids. */
  readonly answers:
    | ((
        docs: string,
        rows: readonly ReadonlyMap<string, string>[],
        documents?: readonly Readonly<Document>[],
      ) => string)
    | null
}

/** Prepares how answers of an older version are made. */
export function answering(resource: Resource, today: Resource, down: Program): Answering {
  const seen = resource.members.filter(({ hidden }) => !hidden)
  const [shown, usual] = [seen.map(({ name }) => name), seen.map(({ absent }) => absent ?? null)]
  const convert = conversion(down, shown)
  const blank = Object.fromEntries(shown.map((name) => [name, null]))
  // An answer is of one structure from the beginning, so that it is made and written in half of the time.
  const text = (doc: Readonly<Document>, rows: readonly (Document | null)[], at = 0): string =>
    converting(today, doc, at, () => {
      const values = convert(doc, rows)
      const answer: Document = { ...blank }
      for (let i = 0; i < shown.length; i++) answer[shown[i] as string] = values[i] ?? usual[i]
      return JSON.stringify(answer)
    })
  const parsed = (row: string | null | undefined): Document | null => (row == null ? null : JSON.parse(row))
  return {
    answer: (doc, rows, document) => text(document ?? JSON.parse(doc), rows.map(parsed)),
    answers: (docs, rows, documents = JSON.parse(`[${docs}]`)) => {
      const known = rows.map((all) => new Map([...all].map(([id, row]) => [id, parsed(row)])))
      const besides = (doc: Readonly<Document>) =>
        down.beside.map(({ by }, i) => known[i]?.get(doc[by] as string) ?? null)
      return documents.map((doc, at) => text(doc, besides(doc), at)).join(',')
    },
  }
}
