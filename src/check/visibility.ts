/** Visibility: mistakes in the ownership of items, and in the scopes of fields. Part 5, authentication. */

import type { Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import { absentValue, isObject, valueCheckOf, valueInWords } from '../fields/value-check.ts'
import { isInCase, listInWords, toCase } from '../formats/naming.ts'
import { type Access, operations, rowAlternatives, ruleFor, scopesIn } from '../resources/declaration.ts'
import { referenceSites } from '../resources/references.ts'
import { type DeclarationCheck, type DeclarationPath, report, soundField } from './field-check.ts'
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
  const declaration = resources[resource]
  const above = accountOwnerOf(parentNameOf(declaration), context, [...seen, resource])
  if (above) return above
  return isObject(declaration) && typeof declaration.owner === 'string'
    ? { name: declaration.owner, by: resource as string }
    : null
}

/** Checks that items belong to one account at most, and that their fields and rules reveal them to no other. R170. */
export function checkOwner({ name, given, settings }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name, 'owner']
  const { owner } = given
  const accountOwner = accountOwnerOf(name, context)
  if (owner !== undefined && (typeof owner !== 'string' || !isInCase(owner, settings.naming))) {
    const better = typeof owner === 'string' ? toCase(owner, settings.naming) : ''
    const mend = `Write a name for the account, as owner: '${isInCase(better, settings.naming) ? better : toCase('account-id', settings.naming)}'.`
    report(context, path, `\`owner\` is ${valueInWords(owner)}.`, mend)
    return
  }
  if (owner !== undefined && accountOwner?.by !== name) {
    const reason = `The items descend from those of \`${accountOwner?.by}\` and belong to the same account.`
    report(context, path, reason, 'Leave `owner` out here.')
  }
  if (accountOwner) {
    checkAccountField(name, accountOwner, given, context)
    checkPublicRules(name, accountOwner, given, context)
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
  const names = Object.keys(context.resources)
  for (const [field, declared] of Object.entries(isObject(fields) ? fields : {})) {
    const sound = soundField(declared, context)
    const target =
      sound && names.find((one) => referenceSites(sound, one, field).length > 0 && accountOwnerOf(one, context))
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
    const sound = soundField(one, context)
    return Object.keys(context.resources).filter(
      (to) => sound && referenceSites(sound, to, field).some(({ onDelete }) => onDelete === 'cascade'),
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
    const sound = soundField(one, context)
    if (!sound) continue
    const path = ['resources', name, 'fields', field]
    const { read, write, readOnly, writeOnly } = sound.options
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
    if (write !== undefined && readOnly && sound.kind !== 'file')
      report(
        context,
        path,
        'The field is `readOnly`, so nobody can write it, with or without a scope.',
        'Leave out `write` or `readOnly`.',
      )
    if (rules.length > 0 && isRequired(sound, context) && !readOnly && !coversCreation(given, rules))
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

/** The kinds of fields that a rule can compare: those whose values are equal only if they are the same. */
const ruledKinds: readonly string[] = ['text', 'ref', 'enum', 'boolean', 'integer']

const rowMend = "Write alternatives, as [{ scope: 'orders:all' }, { where: { assigneeId: caller } }]."

/** Checks access rules that depend on the item. */
export function checkRowRules({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const { access } = given
  for (const [operation, rule] of Object.entries(isObject(access) ? access : {})) {
    if (!Array.isArray(rule)) continue
    const path = ['resources', name, 'access', operation]
    for (const [i, one] of rule.entries()) checkAlternative([...path, String(i)], one, { name, given }, context)
    if (!rule.some((one) => isObject(one) && 'where' in one))
      report(context, path, 'No alternative has a `where`, so the rule does not depend on the item.', rowMend)
  }
  if (isObject(access)) checkCreatingOperations(name, given, context)
  const above = parentNameOf(given)
  if (hasMember(context.resources, above)) checkBelowRuled(name, given, above as string, context)
}

function checkAlternative(
  path: DeclarationPath,
  one: unknown,
  { given }: Pick<ResourceCheck, 'name' | 'given'>,
  context: DeclarationCheck,
): void {
  const [[key, value] = [], ...more] = isObject(one) ? Object.entries(one) : []
  if (more.length > 0 || (key !== 'scope' && key !== 'where')) {
    report(context, path, 'An alternative is either a scope or values of the item.', rowMend)
    return
  }
  if (key === 'scope') {
    if (!hasMember(context.scopes, value))
      report(
        context,
        path,
        `There is no scope ${valueInWords(value)}.`,
        `${nameHint(value, Object.keys(context.scopes))} Scopes are declared in \`scopes\` of the service.`,
      )
    return
  }
  if (!isObject(value) || Object.keys(value).length === 0)
    report(context, path, '`where` names no field, so it would allow all items.', rowMend)
  else
    for (const [field, wanted] of Object.entries(value)) checkCondition([...path, field], field, wanted, given, context)
}

/** A condition must mean the same for statements and documents, and must not reveal values that its caller may not read. */
function checkCondition(
  path: DeclarationPath,
  field: string,
  wanted: unknown,
  { fields, states }: UncheckedObject,
  context: DeclarationCheck,
): void {
  const wrong = (reason: string, mend: string) => report(context, path, reason, mend)
  const isCaller = isObject(wanted) && wanted.marker === 'caller'
  if (field === 'id' && isCaller) return
  if (isObject(states) && states.field === field) {
    const names = statesIn(states)
    if (!names.includes(wanted as string)) wrong(`There is no state ${valueInWords(wanted)}.`, nameHint(wanted, names))
    return
  }
  const own = isObject(fields) ? fields : {}
  if (!hasMember(own, field)) {
    wrong(`There is no field ${valueInWords(field)}.`, nameHint(field, ['id', ...Object.keys(own)]))
    return
  }
  const sound = soundField(own[field], context)
  if (!sound) return
  const { optional, read, writeOnly, derived, fold } = sound.options
  if (!ruledKinds.includes(sound.kind))
    wrong(`A rule cannot depend on a field of kind ${sound.kind}.`, `Name a field of kind ${listInWords(ruledKinds)}.`)
  else if (read !== undefined || writeOnly || derived !== undefined || fold)
    wrong(
      'A rule can only depend on a field that every reader sees, as it is stored: without `read`, `writeOnly`, `fold` and `derived`.',
      'Leave the option out, or name another field.',
    )
  else if (isCaller ? sound.kind !== 'text' && sound.kind !== 'ref' : !fits(sound, wanted, context))
    wrong(
      isCaller
        ? `A field of kind ${sound.kind} never has the id of a caller.`
        : `The field never has the value ${valueInWords(wanted)}.`,
      isCaller
        ? 'Name a field of kind text or ref.'
        : `Write a value that fits the field${optional ? ', or null' : ''}, or \`caller\`.`,
    )
}

function fits(field: Field, wanted: unknown, { rules }: DeclarationCheck): boolean {
  const faults: Violation[] = []
  if (wanted === undefined) return false
  valueCheckOf(field, rules)(wanted, '', faults)
  return faults.length === 0
}

const statesIn = ({ initial, transitions }: UncheckedObject): readonly string[] => [
  String(initial),
  ...Object.values(isObject(transitions) ? transitions : {}).flatMap((one) => (isObject(one) ? [String(one.to)] : [])),
]

/** An operation of the collection has no item that the rule could depend on. */
function checkCreatingOperations(
  name: string,
  { access, operations: own }: UncheckedObject,
  context: DeclarationCheck,
): void {
  if (!rowAlternatives(access as Access, 'create')) return
  for (const [operation, one] of Object.entries(isObject(own) ? own : {}))
    if (isObject(one) && one.at === 'collection' && one.access === undefined)
      report(
        context,
        ['resources', name, 'operations', operation],
        'It has the rule of `create`, which depends on the item, and has no item.',
        "Give it a rule of its own, as access: 'authenticated' or a scope.",
      )
}

/** Children show the id of their parent, so callers who do not see a parent must not see its children. */
function checkBelowRuled(name: string, { access }: UncheckedObject, above: string, context: DeclarationCheck): void {
  const upper = isObject(context.resources[above]) ? context.resources[above].access : undefined
  const alternatives = isObject(upper) ? rowAlternatives(upper as Access, 'read') : undefined
  const own = typeof access === 'string' || isObject(access) ? (access as Access) : ''
  if (!alternatives || rowAlternatives(own, 'read')) return
  const scopes = scopesIn(alternatives)
  if (scopes.includes(String(ruleFor(own, 'read')))) return
  report(
    context,
    ['resources', name, 'access'],
    `Its items belong to those of \`${above}\`, which exist only for some callers, but \`${name}\` would show them to others.`,
    `Write alternatives here too, of fields of \`${name}\`${scopes.length > 0 ? `, or read: '${scopes[0]}'` : ''}.`,
  )
}
