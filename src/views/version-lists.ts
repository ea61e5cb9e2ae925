/** Version lists: the filters and sorts of a list by the names of its version. Part 4, list parameters. */
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
