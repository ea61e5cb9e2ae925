/** Derived mistakes: functions and aggregates of fields that do not fit, or would reveal hidden values. Part 2. */
import type { Field } from '../fields/field.ts'
import { isObject, valueCheckOf, valueInWords } from '../fields/value-check.ts'
import { listInWords } from '../formats/naming.ts'
import { completeDerivedField } from '../resources/derived-fields.ts'
import { samples } from '../resources/samples.ts'
import { checkAggregate } from './aggregate-mistakes.ts'
import { type DeclarationCheck, type DeclarationPath, report, soundField } from './field-check.ts'
import { hasMember, type UncheckedObject } from './kind-options.ts'
import type { ResourceCheck } from './resource-check.ts'

/** The fields of all resources as they are served, so that other checks see derived ones as read-only. */
export function withCompleteFields(resources: UncheckedObject): UncheckedObject {
  const complete = (field: unknown) =>
    isObject(field) && isObject(field.options) && field.options.derived !== undefined
      ? completeDerivedField(field as never)
      : field
  return Object.fromEntries(
    Object.entries(resources).map(([name, one]) => {
      if (!isObject(one) || !isObject(one.fields)) return [name, one]
      const fields = Object.entries(one.fields).map(([field, declared]) => [field, complete(declared)])
      return [name, { ...one, fields: Object.fromEntries(fields) }]
    }),
  )
}

/** Checks the derived fields of a resource. */
export function checkDerived(judged: ResourceCheck, context: DeclarationCheck): void {
  const { name, given } = judged
  const fields = isObject(given.fields) ? given.fields : {}
  const functions = functionsOf(['resources', name, 'derived'], given, context)
  for (const [field, one] of Object.entries(fields)) {
    const sound = soundField(one, context)
    if (sound?.options.derived === undefined || isFromNewest(sound)) continue
    const at = ['resources', name, 'fields', field]
    const make = functions[field]
    checkDerivedOptions(at, sound, given.key === field, context)
    if (isObject(sound.options.derived)) checkAggregate(at, sound, judged, context)
    else if (sound.options.derived !== true)
      report(
        context,
        at,
        `\`derived\` is ${valueInWords(sound.options.derived)}.`,
        "Write derived: true, or sum('order-lines', 'amount').",
      )
    else if (typeof make === 'function') checkFunction(at, sound, make as DerivingFunction, fields, context)
    else if (make === undefined)
      report(
        context,
        at,
        'The field is derived, and no function gives its value.',
        `Write derived: { ${field}: (item) => … } at the resource.`,
      )
  }
}

/** In older versions, the source of a derived field is that of the newest version. */
const isFromNewest = ({ options: { derived } }: Field): boolean => isObject(derived) && derived.of === 'newest'

/** The functions of derived fields, after a check of their names. */
function functionsOf(
  path: DeclarationPath,
  { derived, fields }: UncheckedObject,
  context: DeclarationCheck,
): UncheckedObject {
  if (derived === undefined) return {}
  if (!isObject(derived)) {
    report(context, path, `\`derived\` is ${valueInWords(derived)}.`, 'Write an object of functions, by field.')
    return {}
  }
  for (const [name, make] of Object.entries(derived)) {
    const field = isObject(fields) ? fields[name] : undefined
    const options = isObject(field) && isObject(field.options) ? field.options : {}
    if (options.derived !== true) {
      const reason = `\`${name}\` is not a field with \`derived: true\`.`
      report(context, [...path, name], reason, 'Write `derived: true` at the field, or leave the function out.')
    } else if (typeof make !== 'function')
      report(context, [...path, name], `It is ${valueInWords(make)}.`, 'Write a function of the other fields.')
  }
  return derived
}

type DerivingFunction = (document: unknown) => unknown

/** Calls a function with samples: it must be deterministic and only read fields that all readers of its field can. */
function checkFunction(
  path: DeclarationPath,
  field: Field,
  make: DerivingFunction,
  fields: UncheckedObject,
  context: DeclarationCheck,
): void {
  const sources = Object.entries(fields).flatMap(([name, one]) => {
    const sound = soundField(one, context)
    return sound && sound.options.derived !== true
      ? [{ name, field: sound, check: valueCheckOf(sound, context.rules), writeOnly: false }]
      : []
  })
  const seen = new Set<string>()
  for (const document of samples({ members: sources, rules: context.rules })) {
    const [once, again] = [resultOf(make, document, seen), resultOf(make, document, seen)]
    if (once === again) continue
    report(
      context,
      path,
      'Its function gives different values for the same item.',
      'Let it depend on the fields of the item alone.',
    )
    break
  }
  checkSources(path, field, seen, fields, context)
}

/** Checks that all readers of a derived field may read the fields that its function reads. */
function checkSources(
  path: DeclarationPath,
  field: Field,
  seen: ReadonlySet<string>,
  fields: UncheckedObject,
  context: DeclarationCheck,
): void {
  for (const name of [...seen].filter((one) => hasMember(fields, one))) {
    const { read, writeOnly, derived } = soundField(fields[name], context)?.options ?? {}
    if (derived === true)
      report(
        context,
        path,
        `Its function reads \`${name}\`, whose value is that of a function too.`,
        'Let it read the fields that both depend on.',
      )
    if (writeOnly)
      report(context, path, `Its function reads \`${name}\`, which is write-only.`, 'Leave one of the two out.')
    if (read !== undefined && read !== field.options.read)
      report(
        context,
        path,
        `Its function reads \`${name}\`, which can only be read with ${read}.`,
        `Write read: '${read}'.`,
      )
  }
}

/** The result of a function for a document, as a text; adds the fields that it reads to `seen`. */
function resultOf(make: DerivingFunction, document: Readonly<Record<string, unknown>>, seen: Set<string>): string {
  const watched = new Proxy(document, {
    get: (target, name) => {
      seen.add(String(name))
      return target[String(name)]
    },
    ownKeys: (target) => {
      for (const name of Object.keys(target)) seen.add(name)
      return Object.keys(target)
    },
  })
  try {
    return JSON.stringify(make(watched)) ?? ''
  } catch (error) {
    return String(error)
  }
}

function checkDerivedOptions(
  path: DeclarationPath,
  { options }: Field,
  isKey: boolean,
  context: DeclarationCheck,
): void {
  const useless = (['fill', 'immutable', 'writeOnly', 'write', 'was', 'personal'] as const).filter(
    (name) => options[name] !== undefined,
  )
  if (useless.length > 0)
    report(
      context,
      path,
      `The field is derived, and ${listInWords(
        useless.map((one) => `\`${one}\``),
        'and',
      )} would have no effect.`,
      'Leave it out.',
    )
  if (isKey) report(context, path, 'A derived field cannot be the key.', 'Write another key.')
}
