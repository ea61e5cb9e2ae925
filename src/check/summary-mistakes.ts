/** Summary mistakes: the names of summaries, their fields, and the members of their answers. Part 4, list parameters. R236. */
import { lengthsOf, longestSorted } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { type FieldKinds, fieldKind } from '../fields/kind.ts'
import {
  fixedMembers,
  type SummaryDeclaration,
  type SummaryFunction,
  summaryKeys,
  summaryMembers,
  summarySegment,
  timeParts,
} from '../fields/summary.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { isInCase, isKebab, listInWords, toCase, toKebab } from '../formats/naming.ts'
import { importSegment } from '../resources/own-operations.ts'
import { type NamedFields, namedFields } from './consistency.ts'
import { type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { type DeclarationFault, hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys, type ResourceCheck } from './resource-check.ts'

const numbers = ['integer', 'bigint', 'decimal']
const times = ['date', 'timestamp']
const kindsOf: Readonly<Record<SummaryFunction, readonly string[]>> = {
  sum: numbers,
  average: numbers,
  min: [...numbers, ...times],
  max: [...numbers, ...times],
}

const example = "byStatus: { group: ['status', { month: 'createdAt' }], sum: ['total'] }"

export function checkSummaries(judged: ResourceCheck, context: DeclarationCheck): void {
  const { summaries, methods, operations } = judged.given
  const path = ['resources', judged.name, 'summaries']
  if (summaries === undefined) return
  // It may be empty: an older version can lack the fields of all summaries, and still reserves their path, so that it is not
  // a key.
  if (!isObject(summaries)) {
    const reason = `\`summaries\` is ${valueInWords(summaries)}.`
    return void report(context, path, reason, `Write an object, as summaries: { ${example} }.`)
  }
  if (Array.isArray(methods) && !methods.includes('list'))
    report(
      context,
      path,
      'The resource has no list to summarize.',
      "Add 'list' to `methods`, or leave `summaries` out.",
    )
  if (isObject(operations) && hasMember(operations, summarySegment))
    report(context, path, `An operation is called \`${summarySegment}\`.`, 'Write another name for the operation.')
  const segments = new Map<string, string>()
  const fields = namedFields(judged, context)
  for (const [name, summary] of Object.entries(summaries)) {
    checkName([...path, name], segments, judged, context)
    if (isObject(summary)) checkSummary([...path, name], summary, fields, judged, context)
    else report(context, [...path, name], `It is ${valueInWords(summary)}.`, `Write an object, as ${example}.`)
  }
}

/** Exports are answers of the list. R238. */
export function checkExports({ name, given: { exports, methods } }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name, 'exports']
  if (exports !== undefined && typeof exports !== 'boolean')
    report(context, path, `\`exports\` is ${valueInWords(exports)}.`, 'Write exports: true, or leave it out.')
  if (exports === true && Array.isArray(methods) && !methods.includes('list'))
    report(context, path, 'The resource has no list to export.', "Add 'list' to `methods`, or leave `exports` out.")
}

/** Imports create items, with the keys of lines in their content. R238. */
export function checkImports(
  { name, given: { imports, methods, operations }, settings }: ResourceCheck,
  context: DeclarationCheck,
): void {
  const path = ['resources', name, 'imports']
  if (imports !== undefined && typeof imports !== 'boolean')
    report(context, path, `\`imports\` is ${valueInWords(imports)}.`, 'Write imports: true, or leave it out.')
  if (imports !== true) return
  if (Array.isArray(methods) && !methods.includes('create'))
    report(context, path, 'Items cannot be created.', "Add 'create' to `methods`, or leave `imports` out.")
  if (isObject(operations) && hasMember(operations, importSegment))
    report(context, path, `An operation is called \`${importSegment}\`.`, 'Write another name for the operation.')
  if (settings.idempotency.required && settings.idempotency.bodyField === null)
    report(
      context,
      path,
      'Each item needs an idempotency key, and a line has no header for it.',
      'Leave `idempotency.bodyField` at its default, or set `idempotency: { required: false }`.',
    )
}

/** The name is a segment of the URL, in kebab-case there. */
function checkName(
  path: DeclarationPath,
  segments: Map<string, string>,
  { settings: { naming } }: ResourceCheck,
  context: DeclarationCheck,
): void {
  const name = path.at(-1) as string
  const segment = toKebab(name)
  const twin = segments.get(segment)
  segments.set(segment, name)
  if (!isInCase(name, naming) && !isKebab(name)) {
    const better = toCase(name, naming)
    report(
      context,
      path,
      `The name ${valueInWords(name)} is neither in ${naming === 'camel' ? 'camelCase' : 'snake_case'} nor in kebab-case.`,
      `Write \`${isInCase(better, naming) ? better : toCase('by-status', naming)}\`.`,
    )
  } else if (twin !== undefined)
    report(context, path, `Its URL would be that of \`${twin}\`, which ends in ${segment}.`, 'Write another name.')
}

function checkSummary(
  path: DeclarationPath,
  summary: UncheckedObject,
  fields: NamedFields,
  judged: ResourceCheck,
  context: DeclarationCheck,
): void {
  const before = context.findings.length
  checkKnownKeys(path, summary, summaryKeys, [], context)
  for (const [key, listed] of Object.entries(summary).filter(
    ([name]) => hasMember(kindsOf, name) || name === 'group',
  )) {
    const at = [...path, key]
    if (listed === undefined) continue
    if (!Array.isArray(listed) || listed.length === 0) {
      const mend = `Write a list of fields, as ${key}: ['${key === 'group' ? 'status' : 'total'}'], or leave it out.`
      report(context, at, `It is ${Array.isArray(listed) ? 'an empty list' : valueInWords(listed)}.`, mend)
      continue
    }
    for (const one of listed)
      if (key === 'group') checkGroup(at, one, fields, context)
      else checkTerm(at, one, fields, (field) => valueFault(field, String(one), key as SummaryFunction), context)
  }
  if (context.findings.length === before) checkMembers(path, summary as SummaryDeclaration, judged, context)
}

function checkGroup(path: DeclarationPath, group: unknown, fields: NamedFields, context: DeclarationCheck): void {
  if (!isObject(group)) {
    checkTerm(path, group, fields, (field) => groupFault(field, String(group), context.rules.kinds), context)
    return
  }
  const [part, ...more] = Object.keys(group)
  const mend = `Write one of ${listInWords(timeParts)}, as { month: 'createdAt' }.`
  if (part === undefined || more.length > 0 || !timeParts.some((one) => one === part))
    return void report(context, path, `The group is ${valueInWords(group)}.`, mend)
  checkTerm(path, group[part], fields, (field) => partFault(field, String(group[part]), part), context)
}

/** Checks the name of a field; a field with mistakes of its own is reported elsewhere. */
function checkTerm(
  path: DeclarationPath,
  term: unknown,
  fields: NamedFields,
  faultOf: (field: Field) => DeclarationFault | undefined,
  context: DeclarationCheck,
): void {
  const [top = ''] = typeof term === 'string' ? term.split('.') : []
  if (fields.has(top) && !fields.get(top)) return
  const field = typeof term === 'string' ? fields.get(term) : undefined
  if (!field) {
    if (!fields.has(term as string))
      report(context, path, `There is no field ${valueInWords(term)}.`, nameHint(term, [...fields.keys()]))
    return
  }
  const fault =
    field.options.writeOnly || fields.get(top)?.options.writeOnly ? secretFault(String(term)) : faultOf(field)
  if (fault) report(context, path, ...fault)
}

const secretFault = (term: string): DeclarationFault => [
  `\`${term}\` is \`writeOnly\`, and a summary would tell its values.`,
  'Name another field.',
]

function groupFault({ kind, options, ...field }: Field, term: string, kinds: FieldKinds): DeclarationFault | undefined {
  if (term === 'id') return ['Each item would be a group, as its `id` is its own.', 'Name another field.']
  const { order, length } = fieldKind(kind, kinds)
  if (order === 'none')
    return [`Values of kind ${kind} make no groups.`, 'Name a field whose values can be filtered by.']
  if (options.fold)
    return [
      `Values of \`${term}\` are compared without regard to case, so a group has no value.`,
      'Name another field.',
    ]
  const longest = length === undefined ? 0 : lengthsOf({ options, ...field }, length).max
  if (longest <= longestSorted) return undefined
  return [
    `Values of \`${term}\` have up to ${longest} characters, which is too long for groups.`,
    `Write max: ${longestSorted} or less at the field, or name another one.`,
  ]
}

const partFault = ({ kind }: Field, term: string, part: string): DeclarationFault | undefined =>
  times.includes(kind)
    ? undefined
    : [`\`${term}\` is of kind ${kind}, which has no ${part}.`, `Name a field of kind ${listInWords(times)}.`]

function valueFault({ kind }: Field, term: string, of: SummaryFunction): DeclarationFault | undefined {
  if (kindsOf[of].includes(kind)) return undefined
  return [
    `\`${term}\` is of kind ${kind}, of which there is no ${of}.`,
    `Name a field of kind ${listInWords(kindsOf[of])}.`,
  ]
}

/** The members of an answer must have different names. */
function checkMembers(
  path: DeclarationPath,
  summary: SummaryDeclaration,
  { settings }: ResourceCheck,
  context: DeclarationCheck,
): void {
  const { groups, values } = summaryMembers(summary, settings.naming)
  const names = [...fixedMembers, ...[...groups, ...values].map(({ member }) => member)]
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice === undefined) return
  const why = fixedMembers.includes(twice)
    ? `Each group has a member \`${twice}\` already.`
    : `Two members would be called \`${twice}\`.`
  report(context, path, why, 'Name each field once, or give the field another name.')
}
