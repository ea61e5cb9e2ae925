/** Field sources: where the old declaration stored each field, and whether rows can be converted. Pure. The store. */
import type { Collection } from '../rows/collection.ts'
import type { Layout, TableLayout } from './stored-layout.ts'
import { isConverted, storedVersionAt } from './stored-version.ts'

/** A current field and the path that it was stored at before; null if it is new. */
export interface FieldSource {
  readonly path: string
  readonly kind: string
  readonly from: string | null
}

export function fieldSources(
  fields: Collection['fields'],
  kinds: TableLayout['kinds'],
  at = '',
  before = '',
): FieldSource[] {
  return fields.flatMap(({ name, was = name, kind, inner }) => {
    const path = at + name
    const from = [before + name, before + was].find((one) => Object.hasOwn(kinds, one)) ?? null
    return [{ path, kind, from }, ...fieldSources(inner, kinds, `${path}.`, `${from ?? path}.`)]
  })
}

/** Why rows of the old declaration cannot be converted to the current one; null if they can. */
export function incompatibilityOf(one: Collection, was: TableLayout, layout: Layout | null): string | null {
  if ((was.identity !== one.identity && !isRenamedKey(one, was)) || was.composite !== one.composite)
    return `its rows had ${was.identity} and are declared with ${one.identity} now`
  if ((was.account === undefined) !== (one.account === null))
    return was.account ? 'its rows belonged to accounts' : 'its rows belong to accounts now'
  if (isConverted(one, was)) return null
  if (one.parent && !Object.hasOwn(was.kinds, one.parent.field))
    return `its rows are not children of ${one.parent.collection} and are declared as such now`
  const isOther = ({ kind, from }: FieldSource) => from !== null && !isSameKind(was.kinds[from] as string, kind, layout)
  const other = fieldSources(one.fields, was.kinds).find(isOther)
  if (!other) return null
  const { path, kind, from } = other
  return `${path} was stored as ${was.kinds[from as string]} and is declared as ${kind} now`
}

/** Whether a version renamed the key field; the key of pairs, for example, is named after their second side. */
function isRenamedKey(one: Collection, was: TableLayout): boolean {
  const [before, now] = [was.identity, one.identity].map((identity) => /^the key (.*)$/.exec(identity)?.[1])
  if (before === undefined || now === undefined || !isConverted(one, was)) return false
  return one.conversions?.sourceField(storedVersionAt(one, was, was.shape), now) === before
}

/** Whether values of two kinds are stored alike; two references are, if their names mean the same table. */
function isSameKind(was: string, is: string, layout: Layout | null): boolean {
  const [before, now] = [was, is].map((kind) => /^ref (.*)$/.exec(kind)?.[1])
  if (was === is || before === undefined || now === undefined) return was === is
  const tables = Object.entries(layout?.tables ?? {})
  const named = (name: string) => tables.filter(([key, { called }]) => key === name || called === name)
  const [former, own] = [named(before), named(now).map(([key]) => key)]
  // Layouts keep all tables, so an unknown name is the first name of a resource that was renamed before its table was made.
  return former.length === 0 ? own.length > 0 : former.some(([key]) => own.includes(key))
}
