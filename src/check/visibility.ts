/** Visibility: mistakes in the ownership of items, and in the scopes of fields. Part 5, authentication. */

import type { Field } from '../fields/field.ts'
import { absentValue, isObject, valueInWords } from '../fields/value-check.ts'
import { isInCase, toCase } from '../formats/naming.ts'
import { type Access, operations, ruleFor } from '../resources/declaration.ts'
import { referenceSites } from '../resources/references.ts'
import { type DeclarationCheck, report, soundField } from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { parentNameOf, type ResourceCheck } from './resource-check.ts'

/** The name of the account that items belong to, and the resource that declares it. */
interface Owner {
  readonly name: string
  readonly by: string
}

/** The owner of a resource; children belong to the account of their parent. */
export function accountOwnerOf(
  resource: unknown,
  context: DeclarationCheck,
  seen: readonly unknown[] = [],
): Owner | null {
  const { resources } = context
  if (!hasMember(resources, resource) || seen.includes(resource)) return null
  const given = resources[resource]
  const above = accountOwnerOf(parentNameOf(given), context, [...seen, resource])
  if (above) return above
  return isObject(given) && typeof given.owner === 'string' ? { name: given.owner, by: resource as string } : null
}

/** Checks that items belong to one account at most, and that their fields and rules reveal them to no other. R170. */
export function checkOwner({ name, given, settings }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name, 'owner']
  const { owner } = given
  const found = accountOwnerOf(name, context)
  if (owner !== undefined && (typeof owner !== 'string' || !isInCase(owner, settings.naming))) {
    const better = typeof owner === 'string' ? toCase(owner, settings.naming) : ''
    const mend = `Write a name for the account, as owner: '${isInCase(better, settings.naming) ? better : toCase('account-id', settings.naming)}'.`
    report(context, path, `\`owner\` is ${valueInWords(owner)}.`, mend)
    return
  }
  if (owner !== undefined && found?.by !== name) {
    const reason = `The items descend from those of \`${found?.by}\` and belong to the same account.`
    report(context, path, reason, 'Leave `owner` out here.')
  }
  if (found) {
    checkAccountField(name, found, given, context)
    checkPublicRules(name, found, given, context)
  } else checkReferences(name, given, context)
}

/** The service stores the account of an item itself, and never answers it. */
function checkAccountField(
  name: string,
  { name: owner }: Owner,
  { fields }: UncheckedObject,
  context: DeclarationCheck,
): void {
  if (!isObject(fields) || !hasMember(fields, owner)) return
  const reason = 'The service stores the account of an item itself, outside the fields, and never returns it.'
  report(context, ['resources', name, 'fields', owner], reason, 'Leave the field out, or give `owner` another name.')
}

/** Callers without credentials have no account, so owned items cannot be public. */
function checkPublicRules(
  name: string,
  { by }: Owner,
  { access, methods }: UncheckedObject,
  context: DeclarationCheck,
): void {
  const offered = operations.filter((one) => !Array.isArray(methods) || methods.includes(one))
  const open = offered.some((one) => ruleFor((access ?? '') as Access, one) === 'public')
  if (!open) return
  const reason = `The items belong to accounts${by === name ? '' : `, as those of \`${by}\` do`}, and callers without credentials have none.`
  report(context, ['resources', name, 'access'], reason, "Write 'authenticated' or a scope in place of 'public'.")
}

/** Items without an owner must not refer to owned ones, as that would reveal them. */
function checkReferences(name: string, { fields }: UncheckedObject, context: DeclarationCheck): void {
  const owned = Object.keys(context.resources).filter((one) => accountOwnerOf(one, context))
  for (const [field, given] of Object.entries(isObject(fields) ? fields : {})) {
    const made = soundField(given, context)
    const target = made && owned.find((one) => referenceSites(made, one, field).length > 0)
    if (target === undefined) continue
    const reason = `It refers to \`${target}\`, whose items belong to accounts, while those of \`${name}\` have no owner.`
    report(context, ['resources', name, 'fields', field], reason, `Declare an \`owner\` of \`${name}\` too.`)
  }
}

/** A cascade needs the right to remove the dependent items, so a rule for `remove` must exist. R138. */
export function checkRemoval({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const { access, parent, fields } = given
  if (!isObject(access) || ruleFor(access as Access, 'remove') !== undefined) return
  const own = isObject(parent) && parent.onDelete === 'cascade' ? [parent.resource] : []
  const references = Object.entries(isObject(fields) ? fields : {}).flatMap(([field, one]) => {
    const made = soundField(one, context)
    return Object.keys(context.resources).filter(
      (to) => made && referenceSites(made, to, field).some(({ onDelete }) => onDelete === 'cascade'),
    )
  })
  const [above] = [...own, ...references]
  if (above === undefined) return
  const reason = `Its items are removed with those of \`${above}\` (\`cascade\`), but no rule of \`access\` covers \`remove\`.`
  const mend = "Write the rule, as remove: 'authenticated', or write onDelete: 'restrict'."
  report(context, ['resources', name, 'access'], reason, mend)
}

/** Checks that the scopes of fields are declared, and that callers who may create can fill required fields. */
export function checkFieldVisibility({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  for (const [field, one] of Object.entries(isObject(given.fields) ? given.fields : {})) {
    const made = soundField(one, context)
    if (!made) continue
    const path = ['resources', name, 'fields', field]
    const { read, write, readOnly, writeOnly } = made.options
    const rules = Object.entries({ read, write }).filter(([, rule]) => rule !== undefined)
    for (const [option, rule] of rules) {
      if (hasMember(context.scopes, rule)) continue
      const mend = `${nameHint(rule, Object.keys(context.scopes))} Scopes are declared in \`scopes\` of the service.`
      report(context, path, `\`${option}\` is ${valueInWords(rule)}, which is not a declared scope.`, mend)
    }
    if (read !== undefined && writeOnly)
      report(
        context,
        path,
        'The field is `writeOnly`, so nobody can read it, with or without a scope.',
        'Leave out `read` or `writeOnly`.',
      )
    if (write !== undefined && readOnly && made.kind !== 'file')
      report(
        context,
        path,
        'The field is `readOnly`, so nobody can write it, with or without a scope.',
        'Leave out `write` or `readOnly`.',
      )
    if (rules.length > 0 && isRequired(made, context) && !readOnly && !coversCreation(given, rules))
      report(
        context,
        path,
        'The field is required, so callers without its scope could not create items.',
        'Add `optional: true` or a `default`, or make its scope the rule for `create`.',
      )
  }
}

const isRequired = (field: Field, { rules }: DeclarationCheck): boolean => absentValue(field, rules) === undefined

/** Whether every caller that may create has the scopes of a field. */
function coversCreation({ access, methods }: UncheckedObject, rules: readonly (readonly [string, unknown])[]): boolean {
  if (Array.isArray(methods) && !methods.includes('create')) return true
  return rules.every(([, rule]) => rule === ruleFor((access ?? '') as Access, 'create'))
}
