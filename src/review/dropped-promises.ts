/** Dropped promises: uniqueness and references of an older version that a change would drop. Part 9, versions. */

import { type DeclarationPath, report } from '../check/field-check.ts'
import { hasMember } from '../check/kind-options.ts'
import type { Field, Fields } from '../fields/field.ts'
import { plainValues } from '../fields/value-terms.ts'
import { type Change, declarationBefore } from '../resources/change.ts'
import { resolveConcepts } from '../resources/declaration.ts'
import { referencesIn } from '../resources/references.ts'
import { isSameJson } from '../rows/collection.ts'
import { managedMembers } from './unseen-fields.ts'
import type { ChangeCheck } from './value-sources.ts'

type Document = Readonly<Record<string, unknown>>

/** A field of the old version whose values the functions of a change compute, and a trial of these functions. */
interface ConvertedField {
  readonly name: string
  readonly field: Field
  readonly path: DeclarationPath
  readonly trial: ConversionTrial
}

interface ConversionTrial {
  /** Two simple values of a field; the other one may break its bounds. */
  readonly plain: (field: Field) => unknown
  readonly other: (field: Field) => unknown
  readonly old: Readonly<Record<string, Field>>
  readonly now: Readonly<Record<string, Field>>
  /** Converts an old document to the fields of the new version; null if the function throws. */
  readonly up: (document: Document) => Document | null
  readonly down: (document: Document) => Document | null
}

export function checkDroppedPromises(check: ChangeCheck): void {
  const { change, findings } = check
  if (change.begins || change.ends || !promisesAnything(check)) return
  const trial = trialOf(check)
  for (const one of convertedFields(check, trial)) {
    const { name, field, path } = one
    if (field.options.unique && !staysUnique(one, check))
      report(
        { findings },
        path,
        `\`${name}\` is unique before ${change.version}, but no unique field of ${change.version} keeps it so: two items could get the same value.`,
        `Declare a unique field in ${change.version} that \`request\` computes from \`${name}\` alone, or use \`renamed\` for \`${name}\`.`,
      )
    if (jointUniques(one, check).some((names) => !staysUnique(one, check, [names])))
      report(
        { findings },
        path,
        `\`${name}\` is part of \`uniques\` before ${change.version}, but \`request\` maps different values to one, or one value to different ones.`,
        `Let \`request\` compute it from the old value alone, a different one for each, so that \`response\` can restore the old value.`,
      )
    const today = fieldNow(one)
    if (today && field.kind === 'ref' && today.target === field.target && onDeleteOf(today) !== onDeleteOf(field))
      report(
        { findings },
        path,
        `\`${name}\` has \`onDelete: '${onDeleteOf(field)}'\` before ${change.version} and '${onDeleteOf(today)}' now, but all versions must have the same.`,
        `Write onDelete: '${onDeleteOf(today)}' here too, or onDelete: '${onDeleteOf(field)}' at the field itself.`,
      )
    if (hasReference(field) && !staysReference(one))
      report(
        { findings },
        path,
        `\`${name}\` refers to ${referenceTargets(field).join(' and ')} before ${change.version}, but ${change.version} does not check it: it could hold ids of items that do not exist.`,
        `Declare a reference in ${change.version} that \`request\` computes from \`${name}\` and \`response\` gives back, or use \`renamed\` for \`${name}\`.`,
      )
  }
}

const onDeleteOf = ({ options }: Field): string => options.onDelete ?? 'restrict'
const fieldNow = ({ path, trial }: ConvertedField): Field | undefined =>
  path.at(-2) === 'retyped' ? trial.now[path.at(-1) as string] : undefined

/** Whether an old field is unique or a reference. The functions are tried only if there is such a field. */
function promisesAnything({ change, declaration, own }: ChangeCheck): boolean {
  const { removed = {}, retyped = {}, moved = {} } = change
  if (own.uniques?.flat().some((name) => hasMember(retyped, name))) return true
  const away = Object.values(moved).flatMap(({ field }) => field ?? [])
  const all = [...Object.values(removed), ...Object.values(retyped), ...away]
  return all
    .map((one) => resolveConcepts(one, declaration.concepts ?? {}))
    .some((one) => one.options.unique || hasReference(one))
}

const oldName = ({ renamed = {} }: Change, name: string): string =>
  Object.keys(renamed).find((old) => renamed[old] === name) ?? name

/** The removed fields that `response` still gives, the retyped ones, and moved unique ones. */
function convertedFields({ change, path }: ChangeCheck, trial: ConversionTrial): ConvertedField[] {
  const { removed = {}, retyped = {}, moved = {} } = change
  const answer = trial.down(sampleDocument(trial.now, trial.plain))
  const gone = Object.keys(removed).filter((name) => change.response && (answer === null || hasMember(answer, name)))
  const others = Object.keys(retyped).filter((name) => trial.now[name])
  const away = Object.keys(moved).filter((name) => moved[name]?.field?.options.unique)
  const parts = { removed: gone, retyped: others, moved: away }
  return Object.entries(parts).flatMap(([part, names]) =>
    names.flatMap((name) => {
      const field = trial.old[oldName(change, name)]
      return field ? [{ name: oldName(change, name), field, path: [...path, part, name], trial }] : []
    }),
  )
}

function trialOf({ change, own, declaration, rules }: ChangeCheck): ConversionTrial {
  const concepts = declaration.concepts ?? {}
  const resolve = (fields: Fields = {}) =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, resolveConcepts(field, concepts)]))
  const older = declarationBefore(declaration, change).resources[change.was ?? change.resource]
  const { request, response, retyped = {} } = change
  const run = (make: ((document: never) => Document) | undefined, document: Document): Document | null => {
    try {
      return { ...make?.(document as never) }
    } catch {
      return null // the function needs more than sample values
    }
  }
  const passed = (document: Document, name: (one: string) => [from: string, to: string]) =>
    Object.fromEntries(Object.keys(retyped).map((one) => [name(one)[1], document[name(one)[0]]]))
  const joined = (document: Document, returned: Document | null, name: (one: string) => [from: string, to: string]) =>
    returned && { ...passed(document, name), ...returned }
  return {
    plain: (field) => plainValues(field, rules)[0],
    other: (field) => plainValues(field, rules)[1],
    old: resolve(older?.fields),
    now: resolve(own.fields),
    up: (document) => joined(document, run(request, document), (one) => [oldName(change, one), one]),
    down: (document) => {
      const returned = run(response, document)
      // `response` returns retyped fields that are also renamed under their new names.
      const named =
        returned && Object.fromEntries(Object.entries(returned).map(([one, value]) => [oldName(change, one), value]))
      return joined(document, named, (one) => [one, oldName(change, one)])
    },
  }
}

const sampleDocument = (fields: ConversionTrial['old'], make: (field: Field) => unknown): Document => ({
  ...managedMembers,
  ...Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, make(field)])),
})

/** The `uniques` that contain a retyped field. */
const jointUniques = ({ path }: ConvertedField, { own }: ChangeCheck): readonly (readonly string[])[] =>
  path.at(-2) === 'retyped' ? (own.uniques ?? []).filter((names) => names.includes(path.at(-1) as string)) : []

/** The unique fields of the new version, single or joint, that may keep the values of an old field unique. */
function uniquenessKeepers(
  { trial }: ConvertedField,
  { change: { added = [], retyped = {} }, own }: ChangeCheck,
): readonly (readonly string[])[] {
  const fresh = [...added, ...Object.keys(retyped)].filter((one) => hasMember(trial.now, one))
  const alone = fresh.filter((one) => trial.now[one]?.options.unique).map((one) => [one])
  return [...alone, ...(own.uniques ?? []).filter((names) => names.every((one) => fresh.includes(one)))]
}

/** Whether unique fields of the new version depend on the old field alone, or on it and those that are unique with it. */
function staysUnique(one: ConvertedField, check: ChangeCheck, sets = uniquenessKeepers(one, check)): boolean {
  const { name, field, trial } = one
  const first = sampleDocument(trial.old, trial.plain)
  const joint = jointUniques(one, check).flat()
  const kept = joint.map((now) => oldName(check.change, now)).map((old) => [old, first[old]])
  const [own1, others, own2] = [
    first,
    { ...sampleDocument(trial.old, trial.other), ...Object.fromEntries(kept), [name]: first[name] },
    { ...first, [name]: trial.other(field) },
  ].map(trial.up)
  return sets.some((names) => {
    if (!own1 || !others || !own2) return true
    const of = (document: Document) => names.map((one) => document[one] ?? null)
    if (!isSameJson(of(own1), of(others)) || isSameJson(of(own1), of(own2))) return false
    const shown = trial.down({ ...sampleDocument(trial.now, trial.plain), ...own1 })
    const again = shown && trial.up({ ...first, [name]: shown[name] })
    return !again || isSameJson(of(again), of(own1))
  })
}

const hasReference = (field: Field): boolean => referenceTargets(field).length > 0

function referenceTargets({ kind, target, item, fields = {} }: Field): string[] {
  if (kind === 'ref') return [target as string]
  return [...new Set([...(item ? [item] : []), ...Object.values(fields)].flatMap(referenceTargets))]
}

const anyId = 'id_of_somebody'

/** A sample value whose references all have the same id. */
function pointingValue(field: Field, trial: ConversionTrial): unknown {
  const { plain } = trial
  const { kind, item, fields = {} } = field
  if (kind === 'ref') return anyId
  if (kind === 'list') return item && hasReference(item) ? [pointingValue(item, trial)] : plain(field)
  if (kind !== 'object') return plain(field)
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, pointingValue(one, trial)]))
}

/** Whether the new version checks the references of the old field, and `response` gives back only checked ids. */
function staysReference({ name, field, trial }: ConvertedField): boolean {
  const document = trial.up({ ...sampleDocument(trial.old, trial.plain), [name]: pointingValue(field, trial) })
  const checked = Object.entries(trial.now).some(([one, now]) =>
    document === null ? hasReference(now) : idsIn(now, document[one]).includes(anyId),
  )
  if (!checked) return false
  const oldDocument = trial.down(sampleDocument(trial.now, (one) => pointingValue(one, trial)))
  return oldDocument === null || idsIn(field, oldDocument[name]).every((id) => id === anyId)
}

function idsIn(field: Field, value: unknown): readonly unknown[] {
  try {
    return referencesIn(field, value, '').map(({ id }) => id)
  } catch {
    return [] // the value does not have the structure of the field
  }
}
