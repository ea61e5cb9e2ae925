/** Moving: what a body of an older version says of fields that other rows have today. Part 9, versions. */
import type { Member, Resource } from '../resources/resource.ts'
import { merged } from '../resources/row.ts'
import type { Rows } from './answer.ts'
import { conversion, type Document, rowSource, type Source } from './program.ts'
import { before, type Own } from './taking.ts'

/** What is written to another row. */
export interface Along {
  readonly by: string
  readonly today: Resource
  /** What changes of the row as it is. */
  readonly patch: (row: Document) => Document
}

/** A field of a body that another row has today, with its value as it was when it moved. */
interface Moving {
  readonly source: Source
  readonly name: string
  readonly value: unknown
}

/** What stands in a body of the fields that other rows have today; a patch is merged with what these rows have. */
function movingIn(own: Own, body: Document, document: Document, rows: Rows): Moving[] {
  const { resource, down, up } = own
  const found = Object.keys(body).flatMap((name) => {
    const source = rowSource(down.sources.get(name))
    return source && resource.byName.get(name)?.from === 'caller' ? [{ name, source }] : []
  })
  if (found.length === 0) return []
  const shown = before(own, document, rows)
  const given = found.map(({ name }) => {
    const { field, check } = resource.byName.get(name) as Member
    return [name, check(rows.length > 0 ? merged(field, shown[name], body[name]) : body[name], '', [])]
  })
  const values = conversion(
    up,
    found.map(({ source }) => source.name),
  )({ ...shown, ...Object.fromEntries(given) })
  return found.map((one, i) => ({ ...one, value: values[i] ?? null }))
}

/** What is written of a body to other rows, by these rows. */
export function besides(
  own: Own,
  body: Document,
  document: Document,
  { rows, resources }: { readonly rows: Rows; readonly resources: ReadonlyMap<string, Resource> },
): Along[] {
  const all = movingIn(own, body, document, rows)
  return own.down.beside.flatMap(({ by, collection }, i) => {
    const some = all.filter(({ source }) => source.at === i)
    const patch = (row: Document): Document => {
      const made: Document = {}
      for (const { source, value } of some) Object.assign(made, source.there?.put({ ...row, ...made }, value))
      return made
    }
    return some.length === 0 ? [] : [{ by, today: resources.get(collection) as Resource, patch }]
  })
}

/** What would be written to another row stays with the own one as long as that leads to none. */
export function keeping(own: Own, body: Document, document: Document, rows: Rows = []): Document {
  for (const { source, value } of movingIn(own, body, document, rows))
    if (source.otherwise)
      document[source.name] = document[own.down.beside[source.at]?.by as string] == null ? value : null
  return document
}
