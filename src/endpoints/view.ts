/** View: how a version shows a resource to a caller, prepared at start. Part 2, shape of a response. */
import { createHash } from 'node:crypto'
import type { Caller } from '../flow/caller.ts'
import type { Resource } from '../resources/resource.ts'

export interface View {
  readonly major: number
  /** Names what decides the bytes besides the revision: shape, visible fields and what stands for missing ones, links. R121. */
  readonly hash: string
  readonly mode: 'strong' | 'weak' | 'off'
  /** Whether writes need a condition. R129. */
  readonly required: boolean
  /** The fields that are not shown. */
  readonly veiled: ReadonlySet<string>
}

/** How callers see a resource: all of them alike, unless fields need a scope. `made` says how an older version is made from what is stored. */
export function views(
  resource: Resource,
  major: number,
  made: readonly object[],
): (caller: Pick<Caller, 'scopes'>) => View {
  const scopes = [...new Set(resource.members.flatMap(({ read }) => read ?? []))]
  const open = view(resource, major, new Set(), made)
  if (scopes.length === 0) return () => open
  const known = new Map<string, View>()
  return ({ scopes: held }) => {
    const seen = scopes.filter((one) => held.has(one)).join(' ')
    const before = known.get(seen)
    if (before) return before
    const veiled = resource.members.filter(({ read }) => read !== null && !held.has(read))
    const fresh = view(resource, major, new Set(veiled.map(({ name }) => name)), made)
    known.set(seen, fresh)
    return fresh
  }
}

function view(
  { collection, settings }: Resource,
  major: number,
  veiled: View['veiled'],
  made: readonly object[],
): View {
  const visible = collection.fields
    .filter(({ name, hidden }) => !hidden && !veiled.has(name))
    .map(({ name, absent }) => [name, absent])
  const hash = createHash('sha256')
    .update(text([major, collection.shape, visible, ...(made.length > 0 ? [made] : [])]))
    .digest('hex')
    .slice(0, 6)
  return { major, hash, mode: settings.etag.mode, required: settings.concurrency.required, veiled }
}

/** Documents, joined by commas, as they are shown: the stored text as it is where nothing is veiled. */
export function shown({ veiled }: View, docs: string): string {
  if (veiled.size === 0 || docs === '') return docs
  const documents = JSON.parse(`[${docs}]`) as Record<string, unknown>[]
  const visible = documents.map((one) => Object.fromEntries(Object.entries(one).filter(([name]) => !veiled.has(name))))
  return JSON.stringify(visible).slice(1, -1)
}

const text = (parts: unknown): string =>
  JSON.stringify(parts, (_, value) => (typeof value === 'function' ? String(value) : value))
