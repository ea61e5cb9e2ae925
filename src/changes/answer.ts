/** Answer: renders stored documents as an older version answers them. Part 9, versions. */
import type { Resource } from '../resources/resource.ts'
import { compileConversion, type VersionDocument, type VersionMapping } from './conversion.ts'
import { runConversion } from './conversion-error.ts'

/** The texts of joined rows; null for a row that does not exist. */
export type JoinedTexts = readonly (string | null)[]

export interface AnswerRenderer {
  /** Renders a stored text, which may be parsed already (`document`); null if the version answers the stored text itself. */
  readonly answer: ((doc: string, rows: JoinedTexts, document?: Readonly<VersionDocument>) => string) | null
  /** The same for several texts joined by commas; joined rows are found by their ids. */
  readonly answers:
    | ((
        docs: string,
        rows: readonly ReadonlyMap<string, string>[],
        documents?: readonly Readonly<VersionDocument>[],
      ) => string)
    | null
}

/** Compiles the rendering of an older version's answers. */
export function answerRenderer(resource: Resource, today: Resource, down: VersionMapping): AnswerRenderer {
  const seen = resource.members.filter(({ writeOnly }) => !writeOnly)
  const [names, usual] = [seen.map(({ name }) => name), seen.map(({ absent }) => absent ?? null)]
  const convert = compileConversion(down, names)
  const blank = Object.fromEntries(names.map((name) => [name, null]))
  // Each answer starts as a copy of `blank`: with one hidden class, building and serializing it takes half the time.
  const text = (doc: Readonly<VersionDocument>, rows: readonly (VersionDocument | null)[], at = 0): string =>
    runConversion(today, doc, at, () => {
      const values = convert(doc, rows)
      const answer: VersionDocument = { ...blank }
      for (let i = 0; i < names.length; i++) answer[names[i] as string] = values[i] ?? usual[i]
      return JSON.stringify(answer)
    })
  const parsed = (row: string | null | undefined): VersionDocument | null => (row == null ? null : JSON.parse(row))
  return {
    answer: (doc, rows, document) => text(document ?? JSON.parse(doc), rows.map(parsed)),
    answers: (docs, rows, documents = JSON.parse(`[${docs}]`)) => {
      const linkedRows = rows.map((all) => new Map([...all].map(([id, row]) => [id, parsed(row)])))
      const rowsOf = (doc: Readonly<VersionDocument>) =>
        down.joined.map(({ by }, i) => linkedRows[i]?.get(doc[by] as string) ?? null)
      return documents.map((doc, at) => text(doc, rowsOf(doc), at)).join(',')
    },
  }
}
