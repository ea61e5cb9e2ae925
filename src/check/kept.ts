/** Finds promises of an older version that a change would drop: values that are unique, and references to rows. Part 9, versions. */
import { before, type Change } from '../resources/change.ts'
import { resolved } from '../resources/declaration.ts'
import type { Field, Fields } from '../resources/field.ts'
import { referencesIn } from '../resources/relations.ts'
import { has } from './bounds.ts'
import type { Scene } from './carried.ts'
import { otherPlain, plain, termsIn } from './plain.ts'
import { note, type Path } from './soundness.ts'

type Document = Readonly<Record<string, unknown>>

/** A field of before that functions of the change make of others, and what the change makes of old and of new documents. */
interface Made {
  readonly name: string
  readonly field: Field
  readonly path: Path
  readonly trial: Trial
}

interface Trial {
  readonly old: Readonly<Record<string, Field>>
  readonly now: Readonly<Record<string, Field>>
  /** The fields of the new version that are made of an old document; null where its function throws. */
  readonly up: (document: Document) => Document | null
  readonly down: (document: Document) => Document | null
}

export function checkPromises(scene: Scene): void {
  const { change, found } = scene
  if (change.begins || change.ends || !promising(scene)) return
  const trial = trialOf(scene)
  for (const one of madeBy(scene, trial)) {
    const { name, field, path } = one
    if (field.options.unique && !staysUnique(one, scene))
      note(
        { found },
        path,
        `\`${name}\` is unique before ${change.version}, and nothing keeps it unique from then on: two items could have one value.`,
        `Let ${change.version} have a unique field that \`request\` makes of \`${name}\` alone, or keep \`${name}\` under \`renamed\`.`,
      )
    if (jointly(one, scene).some((names) => !staysUnique(one, scene, [names])))
      note(
        { found },
        path,
        `\`${name}\` is unique together with others before ${change.version}, and \`request\` makes one value of several, or several of one.`,
        `Let \`request\` make it of the old value alone, another one for each, which \`response\` gives back.`,
      )
    const today = trialField(one)
    if (today && field.kind === 'ref' && today.target === field.target && endOf(today) !== endOf(field))
      note(
        { found },
        path,
        `\`${name}\` is kept by \`onDelete: '${endOf(field)}'\` before ${change.version}, and versions cannot differ in that.`,
        `Write onDelete: '${endOf(today)}' here too, or at the field itself what was published.`,
      )
    if (refersIn(field) && !staysReference(one))
      note(
        { found },
        path,
        `\`${name}\` refers to ${targetsIn(field).join(' and ')} before ${change.version}, and nothing checks that from then on: it could hold ids of nobody.`,
        `Let ${change.version} have a reference that \`request\` makes of \`${name}\` and \`response\` gives back, or keep \`${name}\` under \`renamed\`.`,
      )
  }
}

const endOf = ({ options }: Field): string => options.onDelete ?? 'restrict'
const trialField = ({ path, trial }: Made): Field | undefined =>
  path.at(-2) === 'retyped' ? trial.now[path.at(-1) as string] : undefined

/** Whether a field of before promises anything: functions are tried for these alone. */
function promising({ change, around, own }: Scene): boolean {
  const { removed = {}, retyped = {}, moved = {} } = change
  if (own.uniques?.flat().some((name) => has(retyped, name))) return true
  const away = Object.values(moved).flatMap(({ field }) => field ?? [])
  const all = [...Object.values(removed), ...Object.values(retyped), ...away]
  return all.map((one) => resolved(one, around.concepts ?? {})).some((one) => one.options.unique || refersIn(one))
}

const oldName = ({ renamed = {} }: Change, name: string): string =>
  Object.keys(renamed).find((old) => renamed[old] === name) ?? name

/** Fields that `response` makes, or that have another type: of what is dropped only null is left, which promises nothing. */
function madeBy({ change, path }: Scene, trial: Trial): Made[] {
  const { removed = {}, retyped = {}, moved = {} } = change
  const answer = trial.down(sample(trial.now))
  const gone = Object.keys(removed).filter((name) => change.response && (answer === null || has(answer, name)))
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

function trialOf({ change, own, around }: Scene): Trial {
  const concepts = around.concepts ?? {}
  const whole = (fields: Fields = {}) =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, resolved(field, concepts)]))
  const older = before(around, change).resources[change.was ?? change.resource]
  const { request, response, retyped = {} } = change
  const run = (make: ((document: never) => Document) | undefined, document: Document): Document | null => {
    try {
      return { ...make?.(document as never) }
    } catch {
      return null // plain values are not enough to try it with
    }
  }
  const passed = (document: Document, name: (one: string) => [from: string, to: string]) =>
    Object.fromEntries(Object.keys(retyped).map((one) => [name(one)[1], document[name(one)[0]]]))
  const joined = (document: Document, made: Document | null, name: (one: string) => [from: string, to: string]) =>
    made && { ...passed(document, name), ...made }
  return {
    old: whole(older?.fields),
    now: whole(own.fields),
    up: (document) => joined(document, run(request, document), (one) => [oldName(change, one), one]),
    down: (document) => {
      const made = run(response, document)
      // What was renamed besides is returned under its new name.
      const named =
        made && Object.fromEntries(Object.entries(made).map(([one, value]) => [oldName(change, one), value]))
      return joined(document, named, (one) => [one, oldName(change, one)])
    },
  }
}

const managed = { id: 'id', createdAt: '2026-01-31T09:30:00.000Z', updatedAt: '2026-01-31T09:30:00.000Z' }

const sample = (
  fields: Trial['old'],
  make: (field: Field) => unknown = (field) => plain(termsIn(field)),
): Document => ({
  ...managed,
  ...Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, make(field)])),
})

const other = (field: Field): unknown => otherPlain(termsIn(field))
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The names that are unique together with a field of another type, which is one of them. */
const jointly = ({ path }: Made, { own }: Scene): readonly (readonly string[])[] =>
  path.at(-2) === 'retyped' ? (own.uniques ?? []).filter((names) => names.includes(path.at(-1) as string)) : []

/** The names of the new version that alone or together may keep the values of an older field unique. */
function keepers(
  { trial }: Made,
  { change: { added = [], retyped = {} }, own }: Scene,
): readonly (readonly string[])[] {
  const fresh = [...added, ...Object.keys(retyped)].filter((one) => has(trial.now, one))
  const alone = fresh.filter((one) => trial.now[one]?.options.unique).map((one) => [one])
  return [...alone, ...(own.uniques ?? []).filter((names) => names.every((one) => fresh.includes(one)))]
}

/** Whether fields that are unique in the new version follow from the old one, and from it and those unique with it alone. */
function staysUnique(one: Made, scene: Scene, sets = keepers(one, scene)): boolean {
  const { name, field, trial } = one
  const first = sample(trial.old)
  const joint = jointly(one, scene).flat()
  const kept = joint.map((now) => oldName(scene.change, now)).map((old) => [old, first[old]])
  const [own1, others, own2] = [
    first,
    { ...sample(trial.old, other), ...Object.fromEntries(kept), [name]: first[name] },
    { ...first, [name]: other(field) },
  ].map(trial.up)
  return sets.some((names) => {
    if (!own1 || !others || !own2) return true
    const of = (made: Document) => names.map((one) => made[one] ?? null)
    if (!same(of(own1), of(others)) || same(of(own1), of(own2))) return false
    const shown = trial.down({ ...sample(trial.now), ...own1 })
    const again = shown && trial.up({ ...first, [name]: shown[name] })
    return !again || same(of(again), of(own1))
  })
}

const refersIn = (field: Field): boolean => targetsIn(field).length > 0

function targetsIn({ kind, target, item, fields = {} }: Field): string[] {
  if (kind === 'ref') return [target as string]
  return [...new Set([...(item ? [item] : []), ...Object.values(fields)].flatMap(targetsIn))]
}

const someone = 'id_of_somebody'

/** A value whose references all name one row. */
function pointing(field: Field): unknown {
  const { kind, item, fields = {} } = field
  if (kind === 'ref') return someone
  if (kind === 'list') return item && refersIn(item) ? [pointing(item)] : plain(termsIn(field))
  if (kind !== 'object') return plain(termsIn(field))
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, pointing(one)]))
}

/** Whether the new version checks what the old one refers to, and gives back nothing but what it checked. */
function staysReference({ name, field, trial }: Made): boolean {
  const made = trial.up({ ...sample(trial.old), [name]: pointing(field) })
  const checked = Object.entries(trial.now).some(([one, now]) =>
    made === null ? refersIn(now) : idsIn(now, made[one]).includes(someone),
  )
  if (!checked) return false
  const given = trial.down(sample(trial.now, pointing))
  return given === null || idsIn(field, given[name]).every((id) => id === someone)
}

function idsIn(field: Field, value: unknown): readonly unknown[] {
  try {
    return referencesIn(field, value, '').map(({ id }) => id)
  } catch {
    return [] // a value of another shape
  }
}
