/** Further rules: changing other rows requires the same rights as changing them directly. Part 5, authentication. */
import { type Caller, permits } from '../flow/caller.ts'
import { type AccessRule, ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { scopeForAllRows } from '../rules/row-rules.ts'
import type { EndpointContext } from './item.ts'

/** The access rule of an operation; undefined if the declaration has none, which refuses every caller. */
type RuleOrNone = AccessRule | undefined

/** The collections whose rows can be removed with a row of a resource, each with the rule of removing all of them. R138. */
export function cascadeRules({ representation, stored }: EndpointContext): ReadonlyMap<string, RuleOrNone> {
  const rules = new Map<string, RuleOrNone>()
  const follow = (name: string): void => {
    for (const { collection, onDelete, pairs } of stored.get(name)?.collection.dependents ?? []) {
      if (onDelete !== 'cascade' || pairs || rules.has(collection)) continue
      rules.set(collection, scopeForAllRows(stored.get(collection) as Resource, 'remove'))
      follow(collection)
    }
  }
  follow(representation.today.name)
  return rules
}

/** The rules of PATCH and PUT, if this version or the newest one offers them; a caller needs one of them to change a row. */
export function changeRules({ resources }: EndpointContext, today: Resource): readonly RuleOrNone[] {
  const here = [...resources.values()].find(({ collection }) => collection.name === today.name)
  const offered = new Set([...today.methods, ...(here?.methods ?? [])])
  return (['change', 'replace'] as const).filter((one) => offered.has(one)).map((one) => ruleFor(today.access, one))
}

/** Whether a caller may write a field that a later version moved to another resource. */
export function mayWriteMovedField(
  context: EndpointContext,
  caller: Caller,
  { today, fields }: EndpointContext['representation']['moved'][number],
): boolean {
  const scopes = fields.flatMap((name) => today.byName.get(name)?.write ?? [])
  return (
    scopes.every((one) => caller.scopes.has(one)) && changeRules(context, today).some((one) => permits(caller, one))
  )
}

/** The rules and scopes that a write of fields can require besides the rule of its operation, for descriptions. */
export function writeRules(context: EndpointContext): readonly RuleOrNone[] {
  const { representation } = context
  const moved = representation.moved.flatMap(({ today, fields }) => [
    ...(changeRules(context, today).length > 0 ? changeRules(context, today) : [undefined]),
    ...fields.flatMap((name) => today.byName.get(name)?.write ?? []),
  ])
  const states = (context.byValue ?? []).map(({ rule }) => rule)
  return [...new Set([...representation.today.members.flatMap(({ write }) => write), ...moved, ...states])]
}
