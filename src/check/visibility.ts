/** Finds what is wrong with whose items are whose. Part 5, authentication. */

import { sitesOf } from '../resources/collection.ts'
import { type Access, operations, ruleFor } from '../resources/declaration.ts'
import { cased, isCased } from '../resources/naming.ts'
import { isObject } from '../resources/values.ts'
import { type Given, has, shown } from './bounds.ts'
import { type Judged, parentName } from './profile.ts'
import { type Ground, note, whole } from './soundness.ts'

/** What the account is called that the items of a resource belong to, and the resource that says so. */
interface Owner {
  readonly name: string
  readonly by: string
}

/** Children belong to whom their parent belongs. */
function ownerOf(resource: unknown, ground: Ground, seen: readonly unknown[] = []): Owner | null {
  const { resources } = ground
  if (!has(resources, resource) || seen.includes(resource)) return null
  const given = resources[resource]
  const above = ownerOf(parentName(given), ground, [...seen, resource])
  if (above) return above
  return isObject(given) && typeof given.owner === 'string' ? { name: given.owner, by: resource as string } : null
}

/** Whether an owner can be told for every item, and is told nobody else. R170. */
export function checkOwner({ name, given, settings }: Judged, ground: Ground): void {
  const path = ['resources', name, 'owner']
  const { owner } = given
  const found = ownerOf(name, ground)
  if (owner !== undefined && (typeof owner !== 'string' || !isCased(owner, settings.naming))) {
    const better = typeof owner === 'string' ? cased(owner, settings.naming) : ''
    const mend = `Write what the account is called, as owner: '${isCased(better, settings.naming) ? better : cased('account-id', settings.naming)}'.`
    note(ground, path, `\`owner\` is ${shown(owner)}.`, mend)
    return
  }
  if (owner !== undefined && found?.by !== name) {
    const reason = `The items belong to whom those of \`${found?.by}\` belong, which they lie below.`
    note(ground, path, reason, 'Leave `owner` out here.')
  }
  if (found) {
    checkKept(name, found, given, ground)
    checkRules(name, found, given, ground)
  } else checkReferences(name, given, ground)
}

/** The service keeps the account of an item by itself, and never answers it. */
function checkKept(name: string, { name: owner }: Owner, { fields }: Given, ground: Ground): void {
  if (!isObject(fields) || !has(fields, owner)) return
  const reason = 'The account that an item belongs to is kept by the service, beside the fields, and is never answered.'
  note(ground, ['resources', name, 'fields', owner], reason, 'Leave the field out, or name the owner otherwise.')
}

/** Who is not known has no account. */
function checkRules(name: string, { by }: Owner, { access, methods }: Given, ground: Ground): void {
  const offered = operations.filter((one) => !Array.isArray(methods) || methods.includes(one))
  const open = offered.some((one) => ruleFor((access ?? '') as Access, one) === 'public')
  if (!open) return
  const reason = `The items belong to accounts${by === name ? '' : `, as those of \`${by}\` do`}, and a caller of what is public has none.`
  note(ground, ['resources', name, 'access'], reason, "Write 'authenticated' or a scope in place of 'public'.")
}

/** What everybody sees must not tell of what one account has. */
function checkReferences(name: string, { fields }: Given, ground: Ground): void {
  const owned = Object.keys(ground.resources).filter((one) => ownerOf(one, ground))
  for (const [field, given] of Object.entries(isObject(fields) ? fields : {})) {
    const made = whole(given, ground.sound)
    const target = made && owned.find((one) => sitesOf(made, one, field).length > 0)
    if (target === undefined) continue
    const reason = `It refers to \`${target}\`, whose items belong to accounts, while those of \`${name}\` belong to nobody.`
    note(ground, ['resources', name, 'fields', field], reason, `Declare an \`owner\` of \`${name}\` too.`)
  }
}
