/** Renamed fields: the former names of fields, as the database remembers them for events and revisions. Pure. The store. */
import {
  type Collection,
  kindsIn,
  type Members,
  omitMembers,
  type Renaming,
  renameMembers,
  renamePath,
  type ShapeConversions,
} from '../rows/collection.ts'
import type { FieldSource } from './field-sources.ts'
import type { TableLayout } from './stored-layout.ts'
import { isConverted, isLaterVersion, storedVersionAt } from './stored-version.ts'

/** The path at which the old declaration has the values of a field; null if a version makes them in another way. */
export function formerPath(
  one: Collection,
  field: string,
  before: TableLayout,
  all: readonly FieldSource[],
): string | null {
  if (!isConverted(one, before)) return all.find(({ path }) => path === field)?.from ?? field
  const [top, ...rest] = field.split('.')
  const from = one.conversions?.sourceField(storedVersionAt(one, before, before.shape), top as string) ?? null
  return from === null ? null : [from, ...rest].join('.')
}

/** What a new shape, which follows all that the table has, renames. */
export function renamings(one: Collection, before: TableLayout, all: readonly FieldSource[]): Renaming[] {
  const names = Object.fromEntries(
    all.flatMap(({ path }): [string, string][] => {
      const from = formerPath(one, path, before, all)
      const isRenamed = from !== null && from.split('.').at(-1) !== path.split('.').at(-1)
      return isRenamed && Object.hasOwn(before.kinds, from) ? [[from, path]] : []
    }),
  )
  return Object.keys(names).length > 0 ? [{ shape: before.shapes.length + 1, names }] : []
}

/**
 * Gives the members of a record the names that the declared version of its shape has now, and leaves out those of removed fields
 * whose names belong to fields of other kinds now. Later versions convert them by their changes; a version that is no longer declared
 * has none, so that the names of the database are used.
 */
export function presentMembers(one: Collection, table: TableLayout): NonNullable<ShapeConversions['record']> {
  const programs = new Map<number, ReturnType<typeof presentProgram>>()
  return (shape) => {
    const known = programs.get(shape)
    if (known !== undefined) return known
    const program = presentProgram(one, table, shape)
    programs.set(shape, program)
    return program
  }
}

function presentProgram(one: Collection, table: TableLayout, shape: number): ((document: Members) => Members) | null {
  const [oldest = ''] = one.versions ?? []
  const at = (nth: number) => storedVersionAt(one, table, nth)
  const last = isLaterVersion(oldest || at(shape), at(shape)) ? oldest : at(shape)
  const steps = (table.renamed ?? []).filter((step) => step.shape > shape && !isLaterVersion(at(step.shape), last))
  const former = isConverted(one, { ...table, shape }) ? one.conversions?.fieldsOf?.(last) : undefined
  const kinds = kindsIn(former ?? one.fields)
  const own = kindsIn(table.shapes[shape - 1] ?? '[]')
  const recorded = steps.reduce(renameKinds, own)
  const others = [...recorded].flatMap(([path, kind]) => ((kinds.get(path) ?? kind) === kind ? [] : [path]))
  const later = table.shapes.flatMap((fields, i) =>
    i < shape || isLaterVersion(at(i + 1), last) ? [] : [{ shape: i + 1, paths: new Set(kindsIn(fields).keys()) }],
  )
  const successors = new Map(one.fields.flatMap(({ name, was }) => (was === undefined ? [] : [[was, name] as const])))
  const dropped = droppedPaths([...own.keys()], { steps, later, successors })
  if (steps.length === 0 && others.length === 0 && dropped.size === 0) return null
  const omitted = new Set(others)
  return (document) =>
    omitMembers(
      steps.reduce<Members>((now, { names }) => renameMembers(now, names), omitMembers(document, dropped)),
      omitted,
    )
}

interface LaterShapes {
  readonly steps: readonly Renaming[]
  readonly later: readonly { readonly shape: number; readonly paths: ReadonlySet<string> }[]
  /** The fields that say `was`, by the former name: releases before renamings were remembered renamed them without a step. */
  readonly successors: ReadonlyMap<string, string>
}

/**
 * The paths of a record whose fields a later shape did not have. A field that is declared with such a name later is another one, which
 * callers may read that could not read the first one.
 */
function droppedPaths(all: readonly string[], { steps, later, successors }: LaterShapes): ReadonlySet<string> {
  const isDropped = (first: string): boolean => {
    let path = first
    return later.some(({ shape, paths }) => {
      for (const step of steps) if (step.shape === shape) path = renamePath(path, step.names)
      const next = successors.get(path)
      if (!paths.has(path) && next !== undefined) path = next
      return !paths.has(path)
    })
  }
  return new Set(all.filter(isDropped))
}

/** The kinds by the new paths; a renamed field takes the place of one that was removed. */
function renameKinds(kinds: ReadonlyMap<string, string>, { names }: Renaming): ReadonlyMap<string, string> {
  const all = [...kinds].map(([path, kind]) => ({ path, kind, now: renamePath(path, names) }))
  const renamed = all.filter(({ path, now }) => path !== now)
  const isReplaced = (path: string) => renamed.some(({ now }) => path === now || path.startsWith(`${now}.`))
  const kept = all.filter(({ path, now }) => path === now && !isReplaced(path))
  return new Map([...kept, ...renamed].map(({ now, kind }) => [now, kind]))
}
