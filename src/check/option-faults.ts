/** Option faults: options of a field that do not fit its kind, its place or each other. Part 2, fields. */
import { searchedIn } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { fieldKind, generalOptions, type ValueRules } from '../fields/kind.ts'
import { absentValue, valueInWords } from '../fields/value-check.ts'
import { listInWords } from '../formats/naming.ts'
import { type DeclarationFault, kindOptionFaults, nameHint, type UncheckedObject } from './kind-options.ts'

/** The faults of a field as declared; `field` is the same with its concept resolved, undefined if that failed. */
export function fieldFaults(
  declared: Field,
  field: Field | undefined,
  site: FieldSite,
  rules: ValueRules,
): DeclarationFault[] {
  if (!field) return [...optionFaults(declared, declared, site, rules)]
  if (field.kind === 'file' && site !== 'resource' && site !== 'concept') return [innerFileFault]
  return [
    ...optionFaults(declared, field, site, rules),
    ...kindOptionFaults(field, rules),
    ...queryFaults(field, rules),
    ...contradictionFaults(field, site, rules),
  ]
}

const innerFileFault: DeclarationFault = [
  'A file has a URL of its own, so it must be a field of a resource.',
  'Move it there; for several files of an item, declare a resource below it with one file each.',
]

const flagOptions = 'optional immutable readOnly writeOnly unique sort fold search personal deprecated'.split(' ')

function* optionFaults(
  { kind, options }: Field,
  field: Field,
  site: FieldSite,
  { kinds }: ValueRules,
): Generator<DeclarationFault> {
  const said = options as UncheckedObject
  const allowed = fieldKind(kind, kinds).options.filter((name) => fieldKind(field.kind, kinds).options.includes(name))
  for (const name of Object.keys(said).filter((one) => said[one] !== undefined && !allowed.includes(one))) {
    yield [`A field of kind ${field.kind} has no option \`${name}\`.`, nameHint(name, allowed)]
  }
  const [useless, where, mend] = uselessOptions[site]
  for (const name of useless) {
    const inherited = lastingOptions.includes(name) && (field.options as UncheckedObject)[name] === true
    if (said[name] !== undefined || inherited) yield [`\`${name}\` has no effect ${where}.`, mend]
  }
  for (const name of flagOptions.filter((one) => said[one] !== undefined && typeof said[one] !== 'boolean')) {
    yield [`\`${name}\` is ${valueInWords(said[name])}.`, `Write ${name}: true, or leave it out.`]
  }
  const { was, ownMeaning, onDelete } = said
  if (was !== undefined && (typeof was !== 'string' || was === '')) {
    yield [`\`was\` is ${valueInWords(was)}.`, "Write the name that the field had before, as was: 'surname'."]
  }
  for (const [name, example] of [
    ['title', 'Name on the card'],
    ['description', 'As on the passport.'],
  ] as const) {
    const text = said[name]
    if (text !== undefined && (typeof text !== 'string' || text.trim() === ''))
      yield [`\`${name}\` is ${valueInWords(text)}.`, `Write a text, as ${name}: '${example}'.`]
  }
  if (ownMeaning !== undefined && (typeof ownMeaning !== 'string' || ownMeaning.trim() === '')) {
    yield [
      `\`ownMeaning\` is ${valueInWords(ownMeaning)}.`,
      'Write in a few words why this field differs from others of its name.',
    ]
  }
  if (onDelete !== undefined && onDelete !== 'restrict' && onDelete !== 'cascade') yield onDeleteFault(onDelete)
}

/** The fault of an unknown rule for dependents. R138. */
export const onDeleteFault = (value: unknown): DeclarationFault => [
  `\`onDelete\` is ${valueInWords(value)}.`,
  "Write onDelete: 'restrict' or 'cascade'.",
]

const filterForms: readonly string[] = ['range', 'like', 'gt', 'lt', 'ne']

/** The faults of `filter`, `sort`, `unique` and `search`. */
function* queryFaults(field: Field, { kinds }: ValueRules): Generator<DeclarationFault> {
  const { kind } = field
  const { filter, sort, unique, writeOnly } = field.options
  const { order, options } = fieldKind(kind, kinds)
  const forms = filterForms.filter(
    (form) => form === 'ne' || (form === 'like' ? options.includes('fold') : order === 'range'),
  )
  const isFiltered = filter !== undefined && filter !== false
  const listed: readonly unknown[] = Array.isArray(filter) ? filter : filter === true ? [] : [filter]
  if (isFiltered && order === 'none')
    yield [
      `Lists cannot be filtered by a field of kind ${kind}.`,
      kind === 'object' ? 'Write `filter` at the fields inside it.' : 'Leave `filter` out.',
    ]
  else if (isFiltered) {
    if (Array.isArray(filter) && filter.length === 0)
      yield ['`filter` is an empty list.', 'Write filter: true for plain equality.']
    for (const form of listed.filter((one) => !forms.includes(one as string))) {
      yield [`A field of kind ${kind} has no filter ${valueInWords(form)}.`, nameHint(form, ['true', ...forms])]
    }
  }
  if (sort && (order === 'none' || order === 'equality'))
    yield [`Lists cannot be sorted by a field of kind ${kind}.`, 'Leave `sort` out.']
  if (unique && order === 'none') yield [`A field of kind ${kind} cannot be unique.`, 'Leave `unique` out.']
  yield* searchFaults(field, kinds)
  const revealing = Object.entries({ filter, sort, unique, search: searchedIn(field).length > 0 })
    .filter(([, value]) => value)
    .map(([name]) => name)
  if (writeOnly && revealing.length > 0)
    yield [
      `The field is \`writeOnly\`, but \`${listInWords(revealing, 'and')}\` would reveal its value.`,
      `Leave ${listInWords(revealing, 'and')} out, or \`writeOnly\`.`,
    ]
}

/** The faults of `search`, also of the fields inside. R235. */
function* searchFaults(field: Field, kinds: ValueRules['kinds']): Generator<DeclarationFault> {
  const { item, options } = field
  if (options.search && item && !fieldKind(item.kind, kinds).options.includes('fold'))
    yield [`A list of fields of kind ${item.kind} has no words to search.`, 'Leave `search` out.']
  if (options.read && searchedIn(field).length > 0)
    yield [
      'The field needs a scope to be read, but `search` would tell every caller about its words.',
      'Leave `search` out, or `read`.',
    ]
}

/** The faults of options that contradict each other. */
function* contradictionFaults(field: Field, site: FieldSite, rules: ValueRules): Generator<DeclarationFault> {
  const { readOnly, writeOnly, default: defaultValue, fill, unique, derived } = field.options
  const empty = absentValue(field, rules) === undefined
  if (readOnly && writeOnly)
    yield ['The field is `readOnly` and `writeOnly`, so no client could use it.', 'Leave one of the two out.']
  else if (readOnly && empty && site === 'resource' && derived === undefined) {
    yield [
      'The field is `readOnly`, and a new item would have no value for it.',
      'Add `optional: true` or a `default`.',
    ]
  }
  if (field.kind === 'ref' && defaultValue !== undefined)
    yield [
      'A reference cannot have a default, as the item may not exist.',
      'Write `optional: true` instead, or leave it required.',
    ]
  if (fill !== undefined && (unique || field.kind === 'ref'))
    yield [
      `The field has a \`fill\`, but ${unique ? 'its values must be unique' : 'the item that it names may not exist'}.`,
      'Leave `fill` out, and correct the rows with the former declaration.',
    ]
  yield* personalFaults(field, site, rules)
}

/** An erasure gives a field the value of a new item that leaves it out. */
function* personalFaults({ kind, options }: Field, site: FieldSite, rules: ValueRules): Generator<DeclarationFault> {
  const { personal, unique, default: defaultValue, derived } = options
  if (personal !== true || ['concept', 'item', 'input'].includes(site) || derived !== undefined) return
  if (absentValue({ kind, options }, rules) === undefined)
    yield [
      'The field is `personal`, and would have no value when its item is erased.',
      'Add `optional: true`, or a `default` that takes its place.',
    ]
  else if (unique && defaultValue !== undefined)
    yield [
      'The field is `personal`, and two erased items would have its default, but its values must be unique.',
      'Write `optional: true` in place of the `default`.',
    ]
}

/**
 * Where a field is declared: `member` in an object, `inner` in an object inside a list, `item` as the item of a list,
 * `input` in the body of a transition.
 */
export type FieldSite = 'resource' | 'concept' | 'member' | 'inner' | 'item' | 'input'

const lastingOptions = ['unique', 'immutable', 'readOnly', 'writeOnly', 'derived']

const scopeOptions = ['read', 'write']

const ownFieldOptions = [...lastingOptions, ...scopeOptions, 'ownMeaning']

/** The options that would have no effect at each site. */
const uselessOptions: Readonly<Record<FieldSite, readonly [options: readonly string[], where: string, mend: string]>> =
  {
    resource: [[], '', ''],
    concept: [
      ['was', 'fill', 'ownMeaning', ...scopeOptions],
      'at a concept',
      'Write it at the fields that use the concept.',
    ],
    member: [ownFieldOptions, 'inside an object', 'Write it at the whole object, or make this a field of its own.'],
    inner: [
      [...ownFieldOptions, 'filter', 'sort', 'fold', 'search'],
      'inside a list',
      'Leave it out, or make the items of the list a resource.',
    ],
    item: [
      [...generalOptions.filter((name) => name !== 'fill'), 'fold', 'search'],
      'at the item of a list',
      'Write it at the list; its item takes bounds and a pattern only.',
    ],
    input: [
      [...ownFieldOptions, 'filter', 'sort', 'fold', 'search', 'was', 'fill', 'personal'],
      'in a field that is not stored',
      'Leave it out; inputs, outputs and the fields of errors take bounds, a pattern, `optional` and a `default`.',
    ],
  }
