/** Answer: renders stored documents as an older version answers them. Part 9, versions. */
import type { Resource } from '../resources/resource.ts'
import { type Conversion, compileConversion, type VersionDocument, type VersionMapping } from './conversion.ts'
import { runConversion } from './conversion-error.ts'

/** The texts of joined rows; null for a row that does not exist. */
export type JoinedTexts = readonly (string | null)[]

export interface AnswerRenderer {
  /**
   * Renders a stored text, which may be parsed already (`document`); null if the version answers the stored text itself. The
   * fields that are `masked` are null in it.
   */
  readonly answer:
    | ((doc: string, rows: JoinedTexts, masked?: ReadonlySet<string>, document?: Readonly<VersionDocument>) => string)
    | null
  /** The same for several texts joined by commas; joined rows are found by their ids. */
  readonly answers:
    | ((
        docs: string,
        rows: readonly ReadonlyMap<string, string>[],
        masked?: ReadonlySet<string>,
        documents?: readonly Readonly<VersionDocument>[],
      ) => string)
    | null
  /** Whether the version may be unable to show some rows: a function of a change, or another row, gives values of them. */
  readonly mayFail: boolean
}

/** Compiles the rendering of an older version's answers. */
export function answerRenderer(resource: Resource, today: Resource, down: VersionMapping): AnswerRenderer {
  const seen = resource.members.filter(({ writeOnly }) => !writeOnly)
  const [shown, usual] = [seen.map(({ name }) => name), seen.map(({ absent }) => absent ?? null)]
  const convert = convertKnown(compileConversion(down, shown), today)
  const blank = Object.fromEntries(shown.map((name) => [name, null]))
  // Each answer starts as a copy of `blank`: with one hidden class, building and serializing it takes half the time.
  const text = (
    doc: Readonly<VersionDocument>,
    rows: readonly (VersionDocument | null)[],
    masked: ReadonlySet<string>,
    at = 0,
  ): string =>
    runConversion(today, doc, at, () => {
      const values = convert(doc, rows, masked)
      const answer: VersionDocument = { ...blank }
      for (let i = 0; i < shown.length; i++) answer[shown[i] as string] = values[i] ?? usual[i]
      return JSON.stringify(answer)
    })
  const parsed = (row: string | null | undefined): VersionDocument | null => (row == null ? null : JSON.parse(row))
  return {
    answer: (doc, rows, masked = nothing, document) => text(document ?? JSON.parse(doc), rows.map(parsed), masked),
    answers: (docs, rows, masked = nothing, documents = JSON.parse(`[${docs}]`)) => {
      const known = rows.map((all) => new Map([...all].map(([id, row]) => [id, parsed(row)])))
      const rowsOf = (doc: Readonly<VersionDocument>) =>
        down.joined.map(({ by }, i) => known[i]?.get(doc[by] as string) ?? null)
      return documents.map((doc, at) => text(doc, rowsOf(doc), masked, at)).join(',')
    },
    mayFail: down.makers.length > 0 || down.joined.length > 0,
  }
}

const nothing: ReadonlySet<string> = new Set()

/**
 * Converts a document; without the values that cannot be computed if some of it are unknown, as those of a record may be. Masked
 * fields are not: every change function takes null for them.
 */
function convertKnown(convert: Conversion, { members }: Resource) {
  const required = members.filter(({ absent, writeOnly }) => absent !== null && !writeOnly).map(({ name }) => name)
  return (
    document: Readonly<VersionDocument>,
    rows: readonly (VersionDocument | null)[],
    masked: ReadonlySet<string>,
  ): readonly unknown[] => {
    try {
      return convert(document, rows)
    } catch (error) {
      if (!required.some((name) => document[name] === null && !masked.has(name))) throw error
      return convert(document, rows, { partial: true })
    }
  }
}
