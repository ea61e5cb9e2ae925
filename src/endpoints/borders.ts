/** Borders: what a request changes in rows beyond its own takes the rights that changing them directly takes. Part 5, authentication. */
import { type Caller, permits } from '../flow/caller.ts'
import { type Rule, ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import type { Scene } from './item.ts'

/** The rule of an operation; undefined where nothing says who may, so that nobody may. */
type Asked = Rule | undefined

/** The collections whose rows can be removed with a row of a resource, each with the rule of removing them. R138. */
export function removedWith({ form, stored }: Scene): ReadonlyMap<string, Asked> {
  const found = new Map<string, Asked>()
  const follow = (name: string): void => {
    for (const { collection, onDelete } of stored.get(name)?.collection.dependents ?? []) {
      if (onDelete !== 'cascade' || found.has(collection)) continue
      found.set(collection, ruleFor((stored.get(collection) as Resource).access, 'remove'))
      follow(collection)
    }
  }
  follow(form.today.name)
  return found
}

/** The rules of which one is enough to change a row of a resource, as far as this version or the newest one offers it. */
export function rulesOfChange({ resources }: Scene, today: Resource): readonly Asked[] {
  const here = [...resources.values()].find(({ collection }) => collection.name === today.name)
  const offered = new Set([...today.methods, ...(here?.methods ?? [])])
  return (['change', 'replace'] as const).filter((one) => offered.has(one)).map((one) => ruleFor(today.access, one))
}

/** Whether a caller may write a field of a version that rows of another resource have today. */
export function mayMove(scene: Scene, caller: Caller, { today, fields }: Scene['form']['moved'][number]): boolean {
  const scopes = fields.flatMap((name) => today.byName.get(name)?.write ?? [])
  return (
    scopes.every((one) => caller.scopes.has(one)) && rulesOfChange(scene, today).some((one) => permits(caller, one))
  )
}

/** What a write can take besides the rule of its operation, for those who describe it. */
export function rulesBeyond(scene: Scene, operation: string): readonly Asked[] {
  const { form } = scene
  const moved = form.moved.flatMap(({ today, fields }) => [
    ...(rulesOfChange(scene, today).length > 0 ? rulesOfChange(scene, today) : [undefined]),
    ...fields.flatMap((name) => today.byName.get(name)?.write ?? []),
  ])
  const written = [...form.today.members.flatMap(({ write }) => write), ...moved]
  const rules = operation === 'remove' ? removedWith(scene).values() : writes.includes(operation) ? written : []
  return [...new Set(rules)]
}

const writes = ['create', 'replace', 'change']
