/** Finds what is wrong with a field: its name, what it refers to, what it consists of, its default. Part 2, fields. */
import type { Violation } from '../errors/problem.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Field, Kind } from '../resources/field.ts'
import { cased, isCased, oneOf } from '../resources/naming.ts'
import type { Settings } from '../resources/settings.ts'
import { checkOf, isObject } from '../resources/values.ts'
import { type Fault, type Given, general, guessed, has, kindFaults, shown, takes, texts } from './bounds.ts'

/** The names that lead to a place in the declaration. */
export type Path = readonly string[]
export type Finding = Omit<Mistake, 'place'> & { readonly path: Path }

/** What everything is judged against, and what was found so far. */
export interface Ground {
  readonly settings: Settings
  readonly resources: Given
  readonly concepts: Given
  /** The concepts without a mistake. */
  readonly sound: Map<string, Field>
  readonly scopes: Given
  readonly found: Finding[]
}

/** `resources.orders.fields.total`, other names in brackets. */
export function placeOf(path: Path): string {
  const text = path.map((name) => (/^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`)).join('')
  return text === '' ? 'service' : text.replace(/^\./, '')
}

export function note({ found }: Pick<Ground, 'found'>, path: Path, ...[reason, mend]: Fault): void {
  found.push({ path, reason, mend })
}

/** Where a field stands: a `member` is in an object, an `inner` one in an object of a list, an `item` in a list. */
export type Place = 'resource' | 'concept' | 'member' | 'inner' | 'item'

const ordered: readonly Kind[] = [...texts, 'integer', 'bigint', 'decimal', 'timestamp', 'date']
/** The kinds whose values have an order. */
export const sortable: readonly Kind[] = [...ordered, 'boolean', 'enum', 'ref', 'country', 'currency']
/** The kinds that can be filtered by and kept unique. */
export const comparable: readonly Kind[] = [...sortable, 'duration', 'interval']

const lasting = ['unique', 'immutable', 'readOnly', 'writeOnly']
const ruled = ['read', 'write']
const own = [...lasting, ...ruled, 'ownMeaning']
/** Options that would have no effect where the field stands. */
const idle: Readonly<Record<Place, readonly [options: readonly string[], where: string, mend: string]>> = {
  resource: [[], '', ''],
  concept: [['was', 'fill', 'ownMeaning', ...ruled], 'at a concept', 'Write it at the fields that use the concept.'],
  member: [own, 'inside an object', 'Write it at the whole object, or make this a field of its own.'],
  inner: [
    [...own, 'filter', 'sort', 'fold'],
    'inside a list',
    'Leave it out, or make a resource of what the list holds.',
  ],
  item: [
    [...general.filter((name) => name !== 'fill'), 'fold'],
    'at the item of a list',
    'Write it at the list; an item has bounds and a pattern.',
  ],
}

const mostDepth = 16

const isField = (given: unknown): given is Field => isObject(given) && has(takes, given.kind) && isObject(given.options)

/** A field with its concepts filled in; undefined where that is impossible. */
export function whole(given: unknown, sound: Ground['sound'], depth = 0): Field | undefined {
  if (!isField(given) || depth > mostDepth) return undefined
  if (given.kind === 'concept') {
    const concept = sound.get(given.target as string)
    return concept && { ...concept, options: { ...concept.options, ...given.options } }
  }
  if (given.kind === 'list') {
    const item = whole(given.item, sound, depth + 1)
    return item && { ...given, item }
  }
  if (given.kind === 'ref' && typeof given.target !== 'string') return undefined
  if (given.kind !== 'object') return given
  const members = Object.entries(given.fields ?? {}).map(([name, one]) => [name, whole(one, sound, depth + 1)] as const)
  const fields = Object.fromEntries(members) as Record<string, Field>
  return members.every(([, one]) => one) ? { ...given, fields } : undefined
}

/** What has to be the same wherever a name is used. R37. */
export function structure({ kind, item, fields = {}, target }: Field): string {
  if (kind === 'list') return `a list of ${structure(item as Field)}`
  if (kind === 'ref') return `a reference to ${target}`
  if (kind !== 'object') return kind
  const names = Object.keys(fields).sort()
  return `{ ${names.map((name) => `${name}: ${structure(fields[name] as Field)}`).join(', ')} }`
}

/** Whether a name is written as names in bodies are. R41a. */
export function checkName(path: Path, ground: Ground): void {
  const { naming } = ground.settings
  const name = path.at(-1) as string
  const better = cased(name, naming)
  const mend = isCased(better, naming)
    ? `Write \`${better}\`.`
    : 'Write letters and digits, beginning with a small letter.'
  if (!isCased(name, naming))
    note(ground, path, `The name is not in ${naming === 'camel' ? 'camelCase' : 'snake_case'}.`, mend)
  if (name === 'constructor' || name === 'prototype')
    note(ground, path, 'The name has a meaning of its own in JavaScript.', 'Write another name.')
}

/** Whether a resource is named whose items are known by one id. */
export function checkTarget(path: Path, target: unknown, ground: Ground): void {
  const { resources } = ground
  if (!has(resources, target)) {
    note(
      ground,
      path,
      `There is no resource ${shown(target)}.`,
      guessed(target, Object.keys(resources), 'Declare it in `resources`.'),
    )
    return
  }
  const { key, parent } = isObject(resources[target]) ? resources[target] : {}
  if (key === undefined || parent === undefined) return
  const mend = `Name the resource they lie below, or leave out \`key\` at \`${target}\` so that they get ids.`
  note(ground, path, `The items of \`${target}\` have a composite key, so one id does not name them.`, mend)
}

/** All mistakes of a field and of what it holds. */
export function checkField(path: Path, given: unknown, place: Place, ground: Ground, depth = 0): void {
  const before = ground.found.length
  if (!isField(given)) {
    const kind = has(takes, given) ? given : 'text'
    note(ground, path, `It is ${shown(given)}, not a field.`, `Write a field, as f.${kind}().`)
    return
  }
  if (depth > mostDepth) {
    note(ground, path, `It lies more than ${mostDepth} levels deep.`, 'Make a resource of what lies so deep.')
    return
  }
  const field = given.kind === 'concept' ? whole(given, ground.sound) : given
  for (const fault of fieldFaults(given, field, place, ground.settings)) note(ground, path, ...fault)
  if (given.kind === 'concept') checkConcept(path, given, place, ground)
  else checkInside(path, given, place, ground, depth)
  const complete = whole(given, ground.sound)
  if (ground.found.length > before || !complete) return
  const check = checkOf(complete, { settings: ground.settings, isId: () => true })
  for (const option of ['default', 'fill'] as const) {
    const faults: Violation[] = []
    if (complete.options[option] !== undefined) check(complete.options[option], `/${option}`, faults)
    const mend = `Write a ${option} that it allows.`
    if (faults[0]) note(ground, path, `The field refuses its own ${option}: ${faults[0].message}`, mend)
  }
}

/** What a field refers to or consists of. */
function checkInside(
  path: Path,
  { kind, item, fields, target }: Field,
  place: Place,
  ground: Ground,
  depth: number,
): void {
  if (kind === 'ref') checkTarget(path, target, ground)
  if (kind === 'list') checkField([...path, 'item'], item, 'item', ground, depth + 1)
  if (kind !== 'object') return
  const members = isObject(fields) ? Object.entries(fields) : []
  for (const [name, one] of members) {
    checkName([...path, name], ground)
    checkField([...path, name], one, place === 'item' || place === 'inner' ? 'inner' : 'member', ground, depth + 1)
    checkFormer([...path, name], one, fields as Given, ground)
  }
  if (members.length === 0)
    note(ground, path, 'The object has no fields.', 'Write them, or f.metadata() for keys that callers choose.')
}

/** The name that a field had before cannot be that of another one beside it. */
export function checkFormer(path: Path, given: unknown, beside: Given, ground: Ground): void {
  const { was } = isField(given) ? given.options : {}
  if (was !== undefined && has(beside, was))
    note(ground, path, `\`was\` names \`${was}\`, which is still declared.`, 'Leave out `was` or that field.')
}

/** A concept is used under its own name or as the end of one. R37. */
function checkConcept(path: Path, { target }: Field, place: Place, ground: Ground): void {
  const { concepts, settings } = ground
  if (!has(concepts, target)) {
    const mend = guessed(target, Object.keys(concepts), 'Declare it in `concepts` of the service.')
    note(ground, path, `There is no concept ${shown(target)}.`, mend)
    return
  }
  const name = path.at(-1) as string
  const end = settings.naming === 'camel' ? target.charAt(0).toUpperCase() + target.slice(1) : `_${target}`
  if (place === 'concept' || place === 'item' || name === target || name.endsWith(end)) return
  const mend = `Write \`${target}\`, or a name that ends with it, as \`billing${end}\`.`
  note(ground, path, `The name does not say that the field is the concept \`${target}\`.`, mend)
}

/** Faults of a field as it is written; `field` is the same with its concept filled in, where there is one. */
function fieldFaults(given: Field, field: Field | undefined, place: Place, settings: Settings): Fault[] {
  if (!field) return [...optionFaults(given, given, place)]
  return [
    ...optionFaults(given, field, place),
    ...kindFaults(field, settings),
    ...askFaults(field),
    ...jointFaults(field, place),
  ]
}

const flags = ['optional', 'immutable', 'readOnly', 'writeOnly', 'unique', 'sort', 'fold']

function* optionFaults({ kind, options }: Field, field: Field, place: Place): Generator<Fault> {
  const said = options as Given
  const allowed = takes[kind].filter((name) => takes[field.kind].includes(name))
  for (const name of Object.keys(said).filter((one) => said[one] !== undefined && !allowed.includes(one))) {
    yield [`A field of kind ${field.kind} has no option \`${name}\`.`, guessed(name, allowed)]
  }
  const [useless, where, mend] = idle[place]
  for (const name of useless) {
    const inherited = lasting.includes(name) && (field.options as Given)[name] === true
    if (said[name] !== undefined || inherited) yield [`\`${name}\` has no effect ${where}.`, mend]
  }
  for (const name of flags.filter((one) => said[one] !== undefined && typeof said[one] !== 'boolean')) {
    yield [`\`${name}\` is ${shown(said[name])}.`, `Write ${name}: true, or leave it out.`]
  }
  const { was, ownMeaning, onDelete } = said
  if (was !== undefined && (typeof was !== 'string' || was === '')) {
    yield [`\`was\` is ${shown(was)}.`, "Write the name that the field had before, as was: 'surname'."]
  }
  if (ownMeaning !== undefined && (typeof ownMeaning !== 'string' || ownMeaning.trim() === '')) {
    yield [
      `\`ownMeaning\` is ${shown(ownMeaning)}.`,
      'Write in a few words why this field differs from others of its name.',
    ]
  }
  if (onDelete !== undefined && onDelete !== 'restrict' && onDelete !== 'cascade') yield deletion(onDelete)
}

/** The fault of an unknown rule for dependents. R138. */
export const deletion = (given: unknown): Fault => [
  `\`onDelete\` is ${shown(given)}.`,
  "Write onDelete: 'restrict' or 'cascade'.",
]

const filterForms: readonly string[] = ['range', 'like', 'gt', 'lt', 'ne']

/** Filters, sorting and uniqueness, as far as the kind allows them. */
function* askFaults({ kind, options: { filter, sort, unique, writeOnly } }: Field): Generator<Fault> {
  const forms = filterForms.filter((form) => form === 'ne' || (form === 'like' ? texts : ordered).includes(kind))
  const asked = filter !== undefined && filter !== false
  const listed: readonly unknown[] = Array.isArray(filter) ? filter : filter === true ? [] : [filter]
  if (asked && !comparable.includes(kind))
    yield [
      `A field of kind ${kind} cannot be filtered by.`,
      kind === 'object' ? 'Write `filter` at the fields inside it.' : 'Leave `filter` out.',
    ]
  else if (asked) {
    if (Array.isArray(filter) && filter.length === 0)
      yield ['`filter` names no form.', 'Write filter: true for plain equality.']
    for (const form of listed.filter((one) => !forms.includes(one as string))) {
      yield [`A field of kind ${kind} has no filter ${shown(form)}.`, guessed(form, ['true', ...forms])]
    }
  }
  if (sort && !sortable.includes(kind)) yield [`A field of kind ${kind} cannot be sorted by.`, 'Leave `sort` out.']
  if (unique && !comparable.includes(kind)) yield [`A field of kind ${kind} cannot be unique.`, 'Leave `unique` out.']
  const tells = Object.entries({ filter, sort, unique })
    .filter(([, value]) => value)
    .map(([name]) => name)
  if (writeOnly && tells.length > 0)
    yield [
      `The field is \`writeOnly\`, but \`${oneOf(tells, 'and')}\` would tell what it holds.`,
      `Leave ${oneOf(tells, 'and')} out, or \`writeOnly\`.`,
    ]
}

/** Options that contradict each other. */
function* jointFaults(field: Field, place: Place): Generator<Fault> {
  const { readOnly, writeOnly, optional, default: given, fill, unique } = field.options
  const empty = given === undefined && !optional && field.kind !== 'list' && field.kind !== 'metadata'
  if (readOnly && writeOnly)
    yield ['The field is `readOnly` and `writeOnly`, so that nobody could use it.', 'Leave one of the two out.']
  else if (readOnly && empty && place === 'resource') {
    yield [
      'The field is `readOnly`, and a new item would have no value for it.',
      'Add `optional: true` or a `default`.',
    ]
  }
  if (field.kind === 'ref' && given !== undefined)
    yield [
      'A reference cannot have a default, as no item is sure to exist.',
      'Write `optional: true` instead, or leave it required.',
    ]
  if (fill !== undefined && (unique || field.kind === 'ref'))
    yield [
      `The field has a \`fill\`, and ${unique ? 'no two items may have the same value' : 'no item is sure to exist'}.`,
      'Leave `fill` out, and mend the rows with the declaration before.',
    ]
}
