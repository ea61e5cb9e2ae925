/** Version lists: the filters and sorts of a list by the names of its version. Part 4, list parameters. */
import type { Representation } from '../changes/representation.ts'
import { nobody } from '../flow/caller.ts'
import { type ListRules, listRules } from '../lists/list-rules.ts'
import { olderRules } from '../lists/older-rules.ts'
import type { Resource } from '../resources/resource.ts'
import type { ShownResource } from './shown-rows.ts'

export function listRulesOf({ resource, resources, view, representation }: ShownResource): ListRules {
  const own = listRules(resource, resources, view(nobody).major)
  const { today, ask, order } = representation
  return ask === null ? own : olderRules(own, newestListRules(today), { ask, order, rulesOf: newestListRules })
}

const newestListRules = (today: Resource): ListRules => listRules(today, new Map([[today.name, today]]))

/** The columns of fields that need a scope to be read, with the field and the scope. */
export const restrictedColumns = ({
  today: { byName, collection },
  names,
}: Representation): ReadonlyMap<string, readonly [field: string, scope: string]> =>
  new Map(
    collection.columns.flatMap(({ name, field }) => {
      const top = field.split('.', 1)[0] as string
      const read = byName.get(top)?.read
      return read == null ? [] : [[name, [names(top)[0] ?? field, read]] as const]
    }),
  )
