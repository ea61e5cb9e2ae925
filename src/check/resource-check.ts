/** Resource check: the name, parent, fields, key and access of a single resource. Part 2, resources. */

import type { Kind } from '../fields/field.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { isKebab, isPlural, listInWords, pluralOf, singularOf, toCase, toKebab, verbIn } from '../formats/naming.ts'
import {
  type Access,
  operations,
  parentFieldName,
  type ResourceDeclaration,
  resourceKeys,
  ruleFor,
} from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'
import {
  checkField,
  checkFieldName,
  checkFormerName,
  checkReferenceTarget,
  type DeclarationCheck,
  type DeclarationPath,
  report,
  soundField,
} from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { onDeleteFault } from './option-faults.ts'

/** The declaration of one resource, with its effective settings. */
export interface ResourceCheck {
  readonly name: string
  readonly given: UncheckedObject
  readonly settings: Settings
}

/** Checks a resource by itself. */
export function checkResource(judged: ResourceCheck, context: DeclarationCheck): void {
  const { name, given } = judged
  const path = ['resources', name]
  checkResourceName(judged, context)
  checkKnownKeys(path, given, resourceKeys, ['events'], context)
  if (given.plural !== undefined && given.plural !== true) {
    report(
      context,
      [...path, 'plural'],
      `\`plural\` is ${valueInWords(given.plural)}.`,
      'Write plural: true, or leave it out.',
    )
  }
  if (given.singular !== undefined && (typeof given.singular !== 'string' || !isKebab(given.singular))) {
    report(
      context,
      [...path, 'singular'],
      `\`singular\` is ${valueInWords(given.singular)}.`,
      `Write it in kebab-case, as singular: '${singularOf(toKebab(name))}'.`,
    )
  }
  checkParent(judged, context)
  checkFields(judged, context)
  if (!hasMember(context.pairs, name)) checkKey(judged, context)
  checkAccess(judged, context)
}

/** Reports unknown keys, and keys that only a later release will support. */
export function checkKnownKeys(
  path: DeclarationPath,
  declared: UncheckedObject,
  known: readonly string[],
  later: readonly string[],
  context: DeclarationCheck,
): void {
  for (const key of Object.keys(declared).filter((one) => declared[one] !== undefined && !known.includes(one))) {
    if (later.includes(key))
      report(context, [...path, key], `\`${key}\` is not supported by this release.`, 'Leave it out.')
    else report(context, [...path, key], `\`${key}\` is not known here.`, nameHint(key, known))
  }
  for (const key of ['title', 'description'].filter((one) => known.includes(one)))
    checkText([...path, key], declared[key], context)
}

/** Reports a text for readers that is empty or not a text. */
export function checkText(path: DeclarationPath, text: unknown, context: DeclarationCheck): void {
  if (text === undefined || (typeof text === 'string' && text.trim() !== '')) return
  const name = path.at(-1)
  report(context, path, `\`${name}\` is ${valueInWords(text)}.`, `Write a text, as ${name}: '…', or leave it out.`)
}

/** Paths are plural nouns in kebab-case; some are reserved for the service. R2. */
function checkResourceName({ name, given, settings }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name]
  const better = given.plural === true || toKebab(name) === '' ? toKebab(name) : pluralOf(toKebab(name))
  const verb = verbIn(toKebab(name), settings.path.verbs)
  const faults = [
    ...(isKebab(name) ? [] : ['in kebab-case']),
    ...(given.plural === true || isPlural(toKebab(name)) ? [] : ['a plural']),
  ]
  if (faults.length > 0) {
    const mayBePlural = faults.includes('a plural') && !hasMember(context.pairs, name)
    const say = mayBePlural ? ', or say plural: true if it is one' : ''
    report(
      context,
      path,
      `The name is not ${listInWords(faults, 'and not')}.`,
      isKebab(better) ? `Write \`${better}\`${say}.` : 'Write a noun of lowercase letters, digits and dashes.',
    )
  }
  if (verb)
    report(
      context,
      path,
      `The name contains the verb \`${verb}\`; the method of a request says what is done.`,
      `Name the thing itself, as \`${toKebab(name).slice(verb.length + 1) || 'cancellations'}\`, or change the setting path.verbs.`,
    )
  if (/^v\d+$/.test(name)) report(context, path, 'The name looks like a version.', 'Name what the items are.')
  const taken = ['healthz', 'readyz', 'openapi'].includes(name)
  if (taken || /^(bylaw|sqlite)([-_]|$)/.test(name))
    report(context, path, 'The name is reserved for the service.', 'Write another name.')
}

function checkParent({ name, given: { parent } }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name, 'parent']
  if (parent === undefined) return
  if (typeof parent !== 'string' && !isObject(parent)) {
    report(
      context,
      path,
      `\`parent\` is ${valueInWords(parent)}.`,
      "Write the name of a resource, as parent: 'orders'.",
    )
    return
  }
  checkReferenceTarget(path, isObject(parent) ? parent.resource : parent, context)
  if (!isObject(parent)) return
  checkKnownKeys(path, parent, ['resource', 'onDelete', 'while'], [], context)
  if (parent.onDelete !== undefined && parent.onDelete !== 'restrict' && parent.onDelete !== 'cascade')
    report(context, path, ...onDeleteFault(parent.onDelete))
}

/** The name of the parent resource, as declared. */
export const parentNameOf = (child: unknown): unknown =>
  isObject(child) && isObject(child.parent) ? child.parent.resource : isObject(child) ? child.parent : undefined

/** The name of the field with the parent's id; undefined without a parent. */
export function parentFieldOf({ given }: ResourceCheck, { resources, settings }: DeclarationCheck): string | undefined {
  const name = parentNameOf(given)
  if (!hasMember(resources, name)) return undefined
  const own = isObject(resources[name]) ? resources[name].singular : undefined
  return parentFieldName(
    name,
    { singular: typeof own === 'string' ? own : singularOf(name) } as ResourceDeclaration,
    settings,
  )
}

/** The names that the service uses itself, each with the reason. R93. */
export function serviceNames(judged: ResourceCheck, context: DeclarationCheck): Map<string, string> {
  const { naming, idempotency } = judged.settings
  const link = parentFieldOf(judged, context)
  const names = new Map([['id', 'Every item has an `id` already.']])
  for (const one of ['created-at', 'updated-at'])
    names.set(toCase(one, naming), 'The service maintains this time already.')
  if (link) names.set(link, 'The id of the parent is a field already.')
  if (idempotency.bodyField !== null)
    names.set(
      idempotency.bodyField || toCase('idempotency-key', naming),
      'In a body this name carries the idempotency key.',
    )
  return names
}

function checkFields(judged: ResourceCheck, context: DeclarationCheck): void {
  const fields = judged.given.fields
  const path = ['resources', judged.name, 'fields']
  if (!isObject(fields)) {
    const reason =
      fields === undefined ? 'The resource declares no `fields`.' : `\`fields\` is ${valueInWords(fields)}.`
    report(context, path, reason, 'Write an object of fields, as fields: { name: f.text() }.')
    return
  }
  const reserved = serviceNames(judged, context)
  const seen = new Map<string, string>()
  for (const [name, field] of Object.entries(fields)) {
    const at = [...path, name]
    const use = reserved.get(name)
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (use) report(context, at, use, 'Leave the field out, or write another name.')
    if (twin)
      report(context, at, `The name differs from \`${twin}\` only in upper and lower case.`, 'Write another name.')
    checkFieldName(at, context)
    checkField(at, field, 'resource', context)
    checkFormerName(at, field, fields, context)
  }
}

const keyKinds: readonly Kind[] = ['text', 'enum', 'country', 'currency', 'date', 'integer']

/** Checks `key`, the field that replaces generated ids. */
function checkKey({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name]
  const { key, prefix, fields, settings } = given
  if (key === undefined) return
  if (prefix !== undefined) {
    const reason = 'The `key` identifies an item, so no id with a prefix is generated.'
    report(context, [...path, 'prefix'], reason, 'Leave out `prefix` or `key`.')
  }
  if (isObject(settings) && isObject(settings.resource) && settings.resource.id !== undefined) {
    const reason = 'The `key` identifies an item, so no id is generated.'
    report(context, [...path, 'settings', 'resource', 'id'], reason, 'Leave out this setting or `key`.')
  }
  checkKeyField([...path, 'key'], key, isObject(fields) ? fields : {}, context)
}

/** A key must always have a value, and the value must fit into a URL. */
function checkKeyField(path: DeclarationPath, key: unknown, fields: UncheckedObject, context: DeclarationCheck): void {
  if (!hasMember(fields, key)) {
    report(context, path, `There is no field ${valueInWords(key)}.`, nameHint(key, Object.keys(fields), 'Declare it.'))
    return
  }
  const field = soundField(fields[key], context)
  if (!field) return
  if (!keyKinds.includes(field.kind)) {
    const mend = `Write the name of a field of kind ${listInWords(keyKinds)}.`
    report(context, path, `A field of kind ${field.kind} cannot be the key.`, mend)
  }
  const { optional, default: usual, fill, readOnly, writeOnly, read, write, personal, fold } = field.options
  const given = { default: usual !== undefined, fill: fill !== undefined }
  const said = Object.entries({ optional, ...given, readOnly, writeOnly, read, write, personal, fold })
    .filter(([, one]) => one)
    .map(([one]) => `\`${one}\``)
  if (said.length === 0) return
  const reason = `The field \`${key}\` is declared with ${listInWords(said, 'and')}, but a key is required in every item and visible to every caller as it is.`
  report(context, path, reason, `Leave out ${listInWords(said, 'and')} there.`)
}

const accessKeys = ['read', 'write', 'create', 'replace', 'change', 'remove']

/** Access must be declared for every operation that the resource offers. */
function checkAccess({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name, 'access']
  const offered = checkMethods(['resources', name, 'methods'], given.methods, context)
  const { access } = given
  const mend =
    "Write access: 'public', 'authenticated' or a scope, or an object of them, as { read: 'public', write: 'orders:write' }."
  if (access === undefined) {
    report(context, path, 'The resource declares no `access`.', mend)
    return
  }
  if (typeof access !== 'string' && !isObject(access)) {
    report(context, path, `\`access\` is ${valueInWords(access)}.`, mend)
    return
  }
  if (isObject(access)) checkKnownKeys(path, access, accessKeys, [], context)
  for (const [key, rule] of Object.entries(isObject(access) ? access : { '': access })) {
    if (rule !== undefined && !Array.isArray(rule) && (key === '' || accessKeys.includes(key)))
      checkRule(key ? [...path, key] : path, rule, context)
  }
  const open = offered.filter((one) => ruleFor(access as Access, one) === undefined)
  if (open.length === 0) return
  const rule = open.some((one) => one === 'list' || one === 'read') ? 'read' : 'write'
  const otherwise = hasMember(context.pairs, name) ? '' : ', or leave it out of `methods`'
  const reason = `No rule of \`access\` covers ${listInWords(open, 'and')}.`
  report(context, path, reason, `Write a rule for it, as ${rule}: 'public'${otherwise}.`)
}

/** Checks that an access rule is `public`, `authenticated` or a declared scope. */
export function checkRule(path: DeclarationPath, rule: unknown, context: DeclarationCheck): void {
  const rules = ['public', 'authenticated', ...Object.keys(context.scopes)]
  if (typeof rule === 'string' && rules.includes(rule)) return
  if (Array.isArray(rule)) {
    report(context, path, 'Only `access` of a resource has alternatives.', "Write 'authenticated' or a scope here.")
    return
  }
  report(
    context,
    path,
    `There is no scope ${valueInWords(rule)}.`,
    `${nameHint(rule, rules)} Scopes are declared in \`scopes\` of the service.`,
  )
}

/** Checks `methods`, and returns the offered operations. */
function checkMethods(path: DeclarationPath, methods: unknown, context: DeclarationCheck): typeof operations {
  if (methods === undefined) return operations
  const listed: readonly unknown[] = Array.isArray(methods) ? methods : []
  if (listed.length === 0)
    report(
      context,
      path,
      Array.isArray(methods) ? 'The list of methods is empty.' : `\`methods\` is ${valueInWords(methods)}.`,
      "List the methods, as methods: ['list', 'read'].",
    )
  for (const [i, one] of listed.entries()) {
    if (!operations.some((operation) => operation === one))
      report(context, path, `There is no method ${valueInWords(one)}.`, nameHint(one, operations))
    if (listed.indexOf(one) < i)
      report(context, path, `${valueInWords(one)} is listed twice.`, 'Write each method once.')
  }
  return operations.filter((one) => listed.includes(one))
}
