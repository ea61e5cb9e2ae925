/** Remembers rows that were read, for as long as nobody wrote to them. The cellar. */
import type { Outcome } from '../flow/outcome.ts'
import type { Deed, Found, Key, Read } from '../flow/plan.ts'
import type { Collection } from '../resources/collection.ts'
import { tombstoneId } from '../store/compile.ts'

export interface Rows {
  readonly known: (plan: Read) => Found | undefined
  readonly learn: (plan: Read, outcome: Outcome) => void
  /** Forgets what a plan may have changed. */
  readonly written: (plan: Deed) => void
  readonly forget: () => void
}

/** Of all rows together. */
const mostCharacters = 2_097_152

export function rows(collections: ReadonlyMap<string, Collection>): Rows {
  const known = new Map<string, Map<string, Found>>()
  /** Those whose rows others are deleted with. */
  const wide = new Set([...collections.values()].filter(takesAlong).map(({ name }) => name))
  let characters = 0
  const nameOf = (collection: string, key: Key) => tombstoneId(collections.get(collection) as Collection, key)
  const forget = () => {
    known.clear()
    characters = 0
  }
  return {
    known: ({ collection, key }) => known.get(collection)?.get(nameOf(collection, key)),
    learn: ({ collection, key }, outcome) => {
      if (outcome.is !== 'found') return
      characters += outcome.doc.length + (outcome.hidden?.length ?? 0)
      if (characters > mostCharacters) forget()
      const own = known.get(collection) ?? new Map()
      known.set(collection, own.set(nameOf(collection, key), outcome))
    },
    written: (plan) => {
      if (plan.do === 'raise') return forget()
      if (plan.do !== 'create' && plan.do !== 'decide' && plan.do !== 'once') return
      const { collection, key, beside } = plan.do === 'create' ? plan : (plan.do === 'once' ? plan.decide : plan).read
      if (beside || wide.has(collection)) forget()
      else known.get(collection)?.delete(nameOf(collection, key))
    },
    forget,
  }
}

const takesAlong = ({ dependents }: Collection): boolean => dependents.some(({ onDelete }) => onDelete === 'cascade')
