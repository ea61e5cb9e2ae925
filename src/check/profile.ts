/** Finds what is wrong with a single resource: its name, its parent, its fields and key, who may use it. Part 2, resources. */

import {
  type Access,
  operations,
  parentField,
  type ResourceDeclaration,
  resourceKeys,
  ruleFor,
} from '../resources/declaration.ts'
import type { Kind } from '../resources/field.ts'
import { cased, isKebab, isPlural, kebab, oneOf, plural, singular, verbIn } from '../resources/naming.ts'
import type { Settings } from '../resources/settings.ts'
import { isObject } from '../resources/values.ts'
import { type Given, guessed, has, shown } from './bounds.ts'
import {
  checkField,
  checkFormer,
  checkName,
  checkTarget,
  deletion,
  type Ground,
  note,
  type Path,
  whole,
} from './soundness.ts'

/** What is declared of one resource, with the settings in force for it. */
export interface Judged {
  readonly name: string
  readonly given: Given
  readonly settings: Settings
}

/** What a resource says of itself. */
export function checkResource(judged: Judged, ground: Ground): void {
  const { name, given } = judged
  const path = ['resources', name]
  checkCollectionName(judged, ground)
  checkKeys(path, given, resourceKeys, ['states', 'operations', 'events'], ground)
  if (given.plural !== undefined && given.plural !== true) {
    note(ground, [...path, 'plural'], `\`plural\` is ${shown(given.plural)}.`, 'Write plural: true, or leave it out.')
  }
  if (given.singular !== undefined && (typeof given.singular !== 'string' || !isKebab(given.singular))) {
    note(
      ground,
      [...path, 'singular'],
      `\`singular\` is ${shown(given.singular)}.`,
      `Write it in kebab-case, as singular: '${singular(kebab(name))}'.`,
    )
  }
  checkParent(judged, ground)
  checkFields(judged, ground)
  checkKey(judged, ground)
  checkAccess(judged, ground)
}

/** Names that are not known, and those that only a later release will know. */
export function checkKeys(
  path: Path,
  given: Given,
  known: readonly string[],
  later: readonly string[],
  ground: Ground,
): void {
  for (const key of Object.keys(given).filter((one) => given[one] !== undefined && !known.includes(one))) {
    if (later.includes(key)) note(ground, [...path, key], `\`${key}\` is not offered by this release.`, 'Leave it out.')
    else note(ground, [...path, key], `\`${key}\` is not known here.`, guessed(key, known))
  }
}

/** Paths are plural nouns in kebab-case; some are the service's own. R2. */
function checkCollectionName({ name, given, settings }: Judged, ground: Ground): void {
  const path = ['resources', name]
  const better = given.plural === true || kebab(name) === '' ? kebab(name) : plural(kebab(name))
  const verb = verbIn(kebab(name), settings.path.verbs)
  const faults = [
    ...(isKebab(name) ? [] : ['in kebab-case']),
    ...(given.plural === true || isPlural(kebab(name)) ? [] : ['a plural']),
  ]
  if (faults.length > 0) {
    const say = faults.includes('a plural') ? ', or say plural: true if it is one' : ''
    note(
      ground,
      path,
      `The name is not ${oneOf(faults, 'and not')}.`,
      isKebab(better) ? `Write \`${better}\`${say}.` : 'Write a noun of small letters, digits and dashes.',
    )
  }
  if (verb)
    note(
      ground,
      path,
      `The name contains the verb \`${verb}\`; the method of a request says what is done.`,
      `Name the thing itself, as \`${kebab(name).slice(verb.length + 1) || 'cancellations'}\`; the verbs are a setting, path.verbs.`,
    )
  if (/^v\d+$/.test(name)) note(ground, path, 'The name reads like a version.', 'Name what the items are.')
  const taken = ['healthz', 'readyz', 'openapi'].includes(name)
  if (taken || /^(bylaw|sqlite)([-_]|$)/.test(name))
    note(ground, path, 'The name is kept for the service itself.', 'Write another name.')
}

function checkParent({ name, given: { parent } }: Judged, ground: Ground): void {
  const path = ['resources', name, 'parent']
  if (parent === undefined) return
  if (typeof parent !== 'string' && !isObject(parent)) {
    note(ground, path, `\`parent\` is ${shown(parent)}.`, "Write the name of a resource, as parent: 'orders'.")
    return
  }
  checkTarget(path, isObject(parent) ? parent.resource : parent, ground)
  if (!isObject(parent)) return
  checkKeys(path, parent, ['resource', 'onDelete'], [], ground)
  if (parent.onDelete !== undefined && parent.onDelete !== 'restrict' && parent.onDelete !== 'cascade')
    note(ground, path, ...deletion(parent.onDelete))
}

/** The name of the resource that the items of this one lie below. */
export const parentName = (given: unknown): unknown =>
  isObject(given) && isObject(given.parent) ? given.parent.resource : isObject(given) ? given.parent : undefined

/** The name of the parent's id, where there is a parent. */
export function linkOf({ given }: Judged, { resources, settings }: Ground): string | undefined {
  const name = parentName(given)
  if (!has(resources, name)) return undefined
  const own = isObject(resources[name]) ? resources[name].singular : undefined
  return parentField(
    name,
    { singular: typeof own === 'string' ? own : singular(name) } as ResourceDeclaration,
    settings,
  )
}

/** The names that the service has a use for, and the use. R93. */
function reservedFor(judged: Judged, ground: Ground): Map<string, string> {
  const { naming, idempotency } = judged.settings
  const link = linkOf(judged, ground)
  const names = new Map([['id', 'Every item has an `id` already.']])
  for (const one of ['created-at', 'updated-at']) names.set(cased(one, naming), 'The service keeps this time already.')
  if (link) names.set(link, 'The id of the parent is a field already.')
  if (idempotency.bodyField !== null)
    names.set(
      idempotency.bodyField || cased('idempotency-key', naming),
      'In a body the name is that of the idempotency key.',
    )
  return names
}

function checkFields(judged: Judged, ground: Ground): void {
  const fields = judged.given.fields
  const path = ['resources', judged.name, 'fields']
  if (!isObject(fields)) {
    const reason =
      fields === undefined ? 'It is not said what fields the items have.' : `\`fields\` is ${shown(fields)}.`
    note(ground, path, reason, 'Write an object of fields, as fields: { name: f.text() }.')
    return
  }
  const reserved = reservedFor(judged, ground)
  const seen = new Map<string, string>()
  for (const [name, field] of Object.entries(fields)) {
    const at = [...path, name]
    const use = reserved.get(name)
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (use) note(ground, at, use, 'Leave the field out, or write another name.')
    if (twin) note(ground, at, `The name differs from \`${twin}\` by its capitals only.`, 'Write another name.')
    checkName(at, ground)
    checkField(at, field, 'resource', ground)
    checkFormer(at, field, fields, ground)
  }
}

const keyKinds: readonly Kind[] = ['text', 'enum', 'country', 'currency', 'date', 'integer']

/** The key takes the place of ids that the service would make. */
function checkKey({ name, given }: Judged, ground: Ground): void {
  const path = ['resources', name]
  const { key, prefix, fields, settings } = given
  if (key === undefined) return
  if (prefix !== undefined) {
    const reason = 'The `key` is the id of an item, so no id is made that could begin with a prefix.'
    note(ground, [...path, 'prefix'], reason, 'Leave out `prefix` or `key`.')
  }
  if (isObject(settings) && isObject(settings.resource) && settings.resource.id !== undefined) {
    const reason = 'The `key` is the id of an item, so no id is made.'
    note(ground, [...path, 'settings', 'resource', 'id'], reason, 'Leave out this setting or `key`.')
  }
  checkKeyField([...path, 'key'], key, isObject(fields) ? fields : {}, ground)
}

/** A key always has a value, and one that an address can hold. */
function checkKeyField(path: Path, key: unknown, fields: Given, ground: Ground): void {
  if (!has(fields, key)) {
    note(ground, path, `There is no field ${shown(key)}.`, guessed(key, Object.keys(fields), 'Declare it.'))
    return
  }
  const field = whole(fields[key], ground.sound)
  if (!field) return
  if (!keyKinds.includes(field.kind)) {
    const mend = `Write the name of a field of kind ${oneOf(keyKinds)}.`
    note(ground, path, `A field of kind ${field.kind} cannot be the key.`, mend)
  }
  const { optional, default: usual, fill, readOnly, writeOnly, read, write, fold } = field.options
  const given = { default: usual !== undefined, fill: fill !== undefined }
  const said = Object.entries({ optional, ...given, readOnly, writeOnly, read, write, fold })
    .filter(([, one]) => one)
    .map(([one]) => `\`${one}\``)
  if (said.length === 0) return
  const reason = `The field \`${key}\` is declared with ${oneOf(said, 'and')}, but a key comes with every item and is seen as it is.`
  note(ground, path, reason, `Leave out ${oneOf(said, 'and')} there.`)
}

const accessKeys = ['read', 'write', 'create', 'replace', 'change', 'remove']

/** Who may use a resource has to be said for everything it offers. */
function checkAccess({ name, given }: Judged, ground: Ground): void {
  const path = ['resources', name, 'access']
  const rules = ['public', 'authenticated', ...Object.keys(ground.scopes)]
  const offered = checkMethods(['resources', name, 'methods'], given.methods, ground)
  const { access } = given
  const mend =
    "Write access: 'public', 'authenticated' or a scope, or an object of them, as { read: 'public', write: 'orders:write' }."
  if (access === undefined) {
    note(ground, path, 'It is not said who may use the resource.', mend)
    return
  }
  if (typeof access !== 'string' && !isObject(access)) {
    note(ground, path, `\`access\` is ${shown(access)}.`, mend)
    return
  }
  if (isObject(access)) checkKeys(path, access, accessKeys, [], ground)
  for (const [key, rule] of Object.entries(isObject(access) ? access : { '': access })) {
    if (rule === undefined || (typeof rule === 'string' && rules.includes(rule)) || (key && !accessKeys.includes(key)))
      continue
    note(
      ground,
      key ? [...path, key] : path,
      `There is no scope ${shown(rule)}.`,
      `${guessed(rule, rules)} Scopes are declared in \`scopes\` of the service.`,
    )
  }
  const open = offered.filter((one) => ruleFor(access as Access, one) === undefined)
  if (open.length > 0)
    note(
      ground,
      path,
      `It is not said who may ${oneOf(open, 'and')}.`,
      `Write a rule for it, as ${open.some((one) => one === 'list' || one === 'read') ? 'read' : 'write'}: 'public', or leave it out of \`methods\`.`,
    )
}

/** The operations that are offered. */
function checkMethods(path: Path, given: unknown, ground: Ground): typeof operations {
  if (given === undefined) return operations
  const listed: readonly unknown[] = Array.isArray(given) ? given : []
  if (listed.length === 0)
    note(
      ground,
      path,
      Array.isArray(given) ? 'No method is offered.' : `\`methods\` is ${shown(given)}.`,
      "Write what is offered, as methods: ['list', 'read'].",
    )
  for (const [i, one] of listed.entries()) {
    if (!operations.some((operation) => operation === one))
      note(ground, path, `There is no method ${shown(one)}.`, guessed(one, operations))
    if (listed.indexOf(one) < i) note(ground, path, `${shown(one)} stands there twice.`, 'Write each method once.')
  }
  return operations.filter((one) => listed.includes(one))
}
