/** Field check: the name, target, parts and default of a field. Part 2, fields. */
import type { Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import type { ValueRules } from '../fields/kind.ts'
import { isObject, valueCheckOf, valueInWords } from '../fields/value-check.ts'
import { isInCase, toCase, withCapital } from '../formats/naming.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Settings } from '../settings.ts'
import { type DeclarationFault, hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { type FieldSite, fieldFaults } from './option-faults.ts'

/** The path to a place in the declaration, as names. */
export type DeclarationPath = readonly string[]
export type Finding = Omit<Mistake, 'place'> & { readonly path: DeclarationPath }

/** The declaration being checked, and the mistakes found so far. */
export interface DeclarationCheck {
  readonly settings: Settings
  readonly rules: ValueRules
  /** The resources, those of pairs included. */
  readonly resources: UncheckedObject
  readonly pairs: UncheckedObject
  readonly concepts: UncheckedObject
  /** The concepts without a mistake. */
  readonly soundConcepts: Map<string, Field>
  readonly scopes: UncheckedObject
  /** Whether the declaration is that of an older version, whose transitions set what those of the newest set. */
  readonly isOlder: boolean
  readonly findings: Finding[]
}

/** A path as text: `resources.orders.fields.total`, with unusual names in brackets. */
export function pathText(path: DeclarationPath): string {
  const text = path.map((name) => (/^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`)).join('')
  return text === '' ? 'service' : text.replace(/^\./, '')
}

export function report(
  { findings }: Pick<DeclarationCheck, 'findings'>,
  path: DeclarationPath,
  ...[reason, mend]: DeclarationFault
): void {
  findings.push({ path, reason, mend })
}

const mostDepth = 16

export const isField = (value: unknown, { kinds }: Pick<ValueRules, 'kinds'>): value is Field =>
  isObject(value) && hasMember(kinds, value.kind) && isObject(value.options)

/** A field with its concepts resolved; undefined if that is impossible. */
export function soundField(
  declared: unknown,
  context: Pick<DeclarationCheck, 'soundConcepts' | 'rules'>,
  depth = 0,
): Field | undefined {
  if (!isField(declared, context.rules) || depth > mostDepth) return undefined
  if (declared.kind === 'concept') {
    const concept = context.soundConcepts.get(declared.target as string)
    return concept && { ...concept, options: { ...concept.options, ...declared.options } }
  }
  if (declared.kind === 'list') {
    const item = soundField(declared.item, context, depth + 1)
    return item && { ...declared, item }
  }
  if (declared.kind === 'ref' && typeof declared.target !== 'string') return undefined
  if (declared.kind !== 'object') return declared
  const members = Object.entries(declared.fields ?? {}).map(
    ([name, one]) => [name, soundField(one, context, depth + 1)] as const,
  )
  const fields = Object.fromEntries(members) as Record<string, Field>
  return members.every(([, one]) => one) ? { ...declared, fields } : undefined
}

/** The structure that a field must have wherever its name is used, as text. R37. */
export function structureOf({ kind, item, fields = {}, target }: Field): string {
  if (kind === 'list') return `a list of ${structureOf(item as Field)}`
  if (kind === 'ref') return `a reference to ${target}`
  if (kind !== 'object') return kind
  const names = Object.keys(fields).sort()
  return `{ ${names.map((name) => `${name}: ${structureOf(fields[name] as Field)}`).join(', ')} }`
}

/** Checks that a name follows the setting `naming`. R41a. */
export function checkFieldName(path: DeclarationPath, context: DeclarationCheck): void {
  const { naming } = context.settings
  const name = path.at(-1) as string
  const better = toCase(name, naming)
  const mend = isInCase(better, naming)
    ? `Write \`${better}\`.`
    : 'Write letters and digits, starting with a lowercase letter.'
  if (!isInCase(name, naming))
    report(context, path, `The name is not in ${naming === 'camel' ? 'camelCase' : 'snake_case'}.`, mend)
  if (name === 'constructor' || name === 'prototype')
    report(context, path, 'The name is reserved in JavaScript.', 'Write another name.')
}

/** Checks that the target is a resource whose items have a single id. */
export function checkReferenceTarget(path: DeclarationPath, target: unknown, context: DeclarationCheck): void {
  const { resources } = context
  if (!hasMember(resources, target)) {
    report(
      context,
      path,
      `There is no resource ${valueInWords(target)}.`,
      nameHint(target, Object.keys(resources), 'Declare it in `resources`.'),
    )
    return
  }
  const { key, parent } = isObject(resources[target]) ? resources[target] : {}
  if (key === undefined || parent === undefined) return
  const mend = `Refer to their parent resource, or leave out \`key\` at \`${target}\` so that they get ids.`
  report(context, path, `The items of \`${target}\` have a composite key, so one id does not name them.`, mend)
}

/** Checks a field and its parts. */
export function checkField(
  path: DeclarationPath,
  declared: unknown,
  site: FieldSite,
  context: DeclarationCheck,
  depth = 0,
): void {
  const before = context.findings.length
  if (!isField(declared, context.rules)) {
    const kind = hasMember(context.rules.kinds, declared) ? declared : 'text'
    report(context, path, `It is ${valueInWords(declared)}, not a field.`, `Write a field, as f.${kind}().`)
    return
  }
  if (depth > mostDepth) {
    report(
      context,
      path,
      `It is nested more than ${mostDepth} levels deep.`,
      'Move the inner fields into a resource of their own.',
    )
    return
  }
  const field = declared.kind === 'concept' ? soundField(declared, context) : declared
  if (field) checkIdentifier(path, field, context)
  for (const fault of fieldFaults(declared, field, site, context.rules)) report(context, path, ...fault)
  if (declared.kind === 'concept') checkConcept(path, declared, site, context)
  else checkInside(path, declared, site, context, depth)
  const complete = soundField(declared, context)
  if (context.findings.length > before || !complete) return
  const check = valueCheckOf(complete, context.rules)
  for (const option of ['default', 'fill', 'example'] as const) {
    const faults: Violation[] = []
    if (complete.options[option] !== undefined) check(complete.options[option], `/${option}`, faults)
    const mend = `Write a ${option} that the field allows.`
    if (faults[0]) report(context, path, `The field refuses its own ${option}: ${faults[0].message}`, mend)
  }
}

const identifierName = { camel: /^ids?$|Ids?$/, snake: /(^|_)ids?$/ }

/** A field that its name makes an identifier must not be a number; published versions may keep one. R35. */
function checkIdentifier(path: DeclarationPath, { kind, item }: Field, context: DeclarationCheck): void {
  const name = path.at(-1) as string
  const isList = kind === 'list'
  const isNumber = isList ? item?.kind === 'integer' : kind === 'integer' && !name.endsWith('s')
  if (context.isOlder || !isNumber || !identifierName[context.settings.naming].test(name)) return
  const mend = 'Write f.text(), f.bigint() for digits that are sent as a string, or another name.'
  report(context, path, 'By its name it is an identifier, and an identifier is a string, not a number.', mend)
}

/** Checks the target of a reference, the item of a list, or the members of an object. */
function checkInside(
  path: DeclarationPath,
  { kind, item, fields, target }: Field,
  site: FieldSite,
  context: DeclarationCheck,
  depth: number,
): void {
  if (kind === 'ref') checkReferenceTarget(path, target, context)
  if (kind === 'list') checkField([...path, 'item'], item, 'item', context, depth + 1)
  if (kind !== 'object') return
  const members = isObject(fields) ? Object.entries(fields) : []
  for (const [name, one] of members) {
    checkFieldName([...path, name], context)
    checkField([...path, name], one, site === 'item' || site === 'inner' ? 'inner' : 'member', context, depth + 1)
    checkFormerName([...path, name], one, fields as UncheckedObject, context)
  }
  if (members.length === 0)
    report(context, path, 'The object has no fields.', 'Declare them, or use f.metadata() if callers choose the keys.')
}

/** The former name of a field must not be the name of another field of the same object. */
export function checkFormerName(
  path: DeclarationPath,
  declared: unknown,
  siblings: UncheckedObject,
  context: DeclarationCheck,
): void {
  const { was } = isField(declared, context.rules) ? declared.options : {}
  if (was !== undefined && hasMember(siblings, was))
    report(context, path, `\`was\` names \`${was}\`, which is still declared.`, 'Leave out `was` or that field.')
}

/** A field of a concept must have the concept's name, or a name that ends with it. R37. */
function checkConcept(path: DeclarationPath, { target }: Field, site: FieldSite, context: DeclarationCheck): void {
  const { concepts, settings } = context
  if (!hasMember(concepts, target)) {
    const mend = nameHint(target, Object.keys(concepts), 'Declare it in `concepts` of the service.')
    report(context, path, `There is no concept ${valueInWords(target)}.`, mend)
    return
  }
  const name = path.at(-1) as string
  const end = settings.naming === 'camel' ? withCapital(target) : `_${target}`
  if (site === 'concept' || site === 'item' || name === target || name.endsWith(end)) return
  const mend = `Write \`${target}\`, or a name that ends with it, as \`billing${end}\`.`
  report(context, path, `The name does not say that the field is the concept \`${target}\`.`, mend)
}
