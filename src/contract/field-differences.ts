/** Field differences: compares fields, judging each difference by how consumers meet it. Part 9, versioning. */

import type { FieldTerms } from '../fields/kind.ts'
import type { ResourceContract } from './contract.ts'
import type { Difference, DifferenceKind, FieldExposure, ValueShift } from './difference.ts'
import { breakReason, weighShift } from './difference.ts'
import { ownShifts } from './shifts.ts'
import type { Weight } from './weight.ts'

/** The requests and answers that both contracts have, in which consumers can meet a field. */
export interface SharedTraffic {
  /** Whether whole bodies are sent, so that required fields matter. */
  readonly whole: boolean
  readonly changes: boolean
  readonly sends: boolean
  readonly answers: boolean
  readonly lists: boolean
}

export function sharedTraffic(before: ResourceContract, after: ResourceContract): SharedTraffic {
  const has = (name: string) => before.operations.includes(name) && after.operations.includes(name)
  const whole = has('create') || has('replace')
  const changes = has('replace') || has('change')
  return {
    whole,
    changes,
    sends: whole || changes,
    answers: whole || changes || has('read') || has('list'),
    lists: has('list'),
  }
}

export type TermsByName = { readonly [name: string]: FieldTerms }

/** The differences of all fields, and of the fields and items in them. */
export function fieldDifferences(
  at: string,
  before: TermsByName,
  after: TermsByName,
  traffic: SharedTraffic,
): Difference[] {
  const gone = Object.entries(before).filter(([name]) => !Object.hasOwn(after, name))
  const come = Object.entries(after).filter(([name]) => !Object.hasOwn(before, name))
  const kept = Object.entries(after).filter(([name]) => Object.hasOwn(before, name))
  return [
    ...gone.map(([name, terms]) => removedField(`${at}.${name}`, terms, traffic)),
    ...come.map(([name, terms]) => addedField(`${at}.${name}`, terms, traffic)),
    ...kept.flatMap(([name, terms]) => differencesOfField(`${at}.${name}`, before[name] as FieldTerms, terms, traffic)),
  ]
}

const isSent = ({ readOnly }: FieldTerms): boolean => readOnly !== true
const isAnswered = ({ writeOnly }: FieldTerms): boolean => writeOnly !== true

function removedField(place: string, terms: FieldTerms, { sends, answers, lists }: SharedTraffic): Difference {
  const [input, output] = [sends && isSent(terms), answers && isAnswered(terms)]
  const met = input || output || (lists && terms.filter !== undefined)
  const says = `is gone.${output ? ' Consumers read it.' : input ? ' Requests that send it are refused.' : ''}`
  return fieldDifference(
    place,
    met ? 'breaking' : 'none',
    says,
    'Keep it; when nobody uses it any more, leave it out of the next version.',
    'field-removed',
  )
}

function addedField(place: string, terms: FieldTerms, { whole, sends, answers }: SharedTraffic): Difference {
  const needed = whole && isSent(terms) && terms.required === true
  const met = needed || (sends && isSent(terms)) || (answers && isAnswered(terms))
  const says = needed ? 'is new and has to be sent. Requests without it are refused.' : 'is new.'
  return fieldDifference(
    place,
    needed ? 'breaking' : met ? 'additive' : 'none',
    says,
    'Give it a `default`, or make it `optional`.',
    'field-added',
  )
}

function fieldDifference(
  place: string,
  weight: Weight,
  says: string,
  mend: string,
  what: DifferenceKind = 'field-changed',
): Difference {
  const name = place.slice(place.lastIndexOf('.') + 1)
  return { place, weight, says: `\`${name}\` ${says}`, mend: weight === 'breaking' ? mend : '', what }
}

function differencesOfField(
  place: string,
  before: FieldTerms,
  after: FieldTerms,
  traffic: SharedTraffic,
): Difference[] {
  const isFile = before.kind === 'file' && after.kind === 'file'
  const way: FieldExposure = {
    input: traffic.sends && (isFile || (isSent(before) && isSent(after))),
    output: traffic.answers && isAnswered(before) && isAnswered(after),
    filter: traffic.lists && before.filter !== undefined && after.filter !== undefined,
  }
  const shifts = valueShifts(before, after)
  return [
    // The limits of a file concern only uploads: answers state the type and the length of each content.
    ...shifts.map((shift) => shiftDifference(place, shift, isFile ? { ...way, output: false } : way)),
    ...sendingDifferences(place, before, after, traffic, way),
    ...promiseDifferences(place, before, after, traffic, way),
    ...queryDifferences(place, before, after, traffic),
    ...innerDifferences(place, before, after, traffic, way),
  ]
}

function shiftDifference(place: string, shift: ValueShift, way: FieldExposure): Difference {
  const says = `${shift.says} ${breakReason(shift, way)}`.trimEnd()
  return fieldDifference(place, weighShift(shift, way), says, 'Leave it as it was.')
}

/** The shifts of the allowed values, including null. */
export const valueShifts = (before: FieldTerms, after: FieldTerms): ValueShift[] => [
  ...ownShifts(before, after),
  ...nullShifts(before, after),
]

function nullShifts({ nullable: was }: FieldTerms, { nullable: is }: FieldTerms): ValueShift[] {
  if (was === is) return []
  const effect = is ? 'widens' : 'narrows'
  return [{ says: is ? 'may be null now.' : 'cannot be null any more.', input: effect, output: effect, filters: false }]
}

/** Whether the field must, may or must not be sent, and its default. */
function sendingDifferences(
  place: string,
  before: FieldTerms,
  after: FieldTerms,
  traffic: SharedTraffic,
  { input }: FieldExposure,
): Difference[] {
  const say = (weight: Weight, says: string, mend = '') => [fieldDifference(place, weight, says, mend)]
  const needed = traffic.whole && after.required === true
  if (isSent(before) && !isSent(after))
    return say(
      traffic.sends ? 'breaking' : 'none',
      'cannot be sent any more. Requests that send it are refused.',
      'Leave out `readOnly`.',
    )
  if (!isSent(before) && isSent(after)) {
    const mend = 'Give it a `default`, or make it `optional`.'
    if (needed) return say('breaking', 'has to be sent now. Requests without it are refused.', mend)
    return say(traffic.sends ? 'additive' : 'none', 'can be sent now.')
  }
  if (before.required !== after.required) {
    const met = input && traffic.whole
    if (!after.required) return say(met ? 'additive' : 'none', 'need not be sent any more.')
    const mend = 'Give it a `default`, or leave it `optional`.'
    return say(met ? 'breaking' : 'none', 'has to be sent now. Requests without it are refused.', mend)
  }
  const [was, is] = [before, after].map((terms) => JSON.stringify(terms.default ?? null))
  if (was === is || after.required) return []
  const says = `is ${is} instead of ${was} where it is not sent.`
  return say(input && traffic.whole ? 'breaking' : 'none', says, `Leave the default as it was, ${was}.`)
}

const notUnique = 'need not be unique any more. Consumers may find and send a value twice.'

// long because: one promise after the other
/** Compares the promises to consumers other than the allowed values. */
function promiseDifferences(
  place: string,
  before: FieldTerms,
  after: FieldTerms,
  traffic: SharedTraffic,
  way: FieldExposure,
): Difference[] {
  const turned = (name: 'writeOnly' | 'immutable' | 'unique' | 'fold') => before[name] !== after[name]
  const differences: Difference[] = []
  const say = (weight: Weight, says: string, mend = '') => differences.push(fieldDifference(place, weight, says, mend))
  const met = (weight: Weight, where: boolean): Weight => (where ? weight : 'none')
  if (turned('writeOnly')) {
    if (after.writeOnly)
      say(met('breaking', traffic.answers), 'is not answered any more. Consumers read it.', 'Leave out `writeOnly`.')
    else say(met('additive', traffic.answers), 'is answered now.')
  }
  if (turned('immutable')) {
    const mend = 'Leave out `immutable`.'
    const weight = met(after.immutable ? 'breaking' : 'additive', way.input && traffic.changes)
    say(weight, after.immutable ? 'cannot be changed any more.' : 'can be changed now.', mend)
  }
  if (turned('unique')) {
    const weight = met('breaking', way.input)
    if (after.unique) say(weight, 'is unique now. A value that another item has is refused.', 'Leave out `unique`.')
    else differences.push({ ...fieldDifference(place, weight, notUnique, 'Keep `unique`.', 'fixed'), part: 'unique' })
  }
  for (const name of ['read', 'write'] as const) {
    if (before[name] === after[name]) continue
    const scoped = after[name] !== undefined
    const says = scoped
      ? `needs the scope ${after[name]} to ${name === 'read' ? 'be seen' : 'be written'}.`
      : `needs no scope any more.`
    say(met(scoped ? 'breaking' : 'additive', name === 'read' ? way.output : way.input), says, `Leave out \`${name}\`.`)
  }
  if (before.derived !== undefined && after.derived !== undefined && before.derived !== after.derived) {
    const says = `follows from ${after.derived} instead of ${before.derived}. Consumers may read other values.`
    say(met('additive', way.output), says)
  }
  const compared = after.filter !== undefined || after.sort === true || after.unique === true
  if (turned('fold')) {
    const says = after.fold ? 'is compared case-insensitively.' : 'is compared case-sensitively.'
    say(met('breaking', compared && traffic.lists), says, `${after.fold ? 'Leave out' : 'Keep'} \`fold\`.`)
  }
  if (before.onDelete !== after.onDelete && before.to === after.to) {
    const says = `has \`onDelete: '${after.onDelete}'\` instead of '${before.onDelete}'.`
    const kept = fieldDifference(place, 'breaking', says, `Write onDelete: '${before.onDelete}'.`, 'fixed')
    differences.push({ ...kept, part: 'onDelete' })
  }
  return differences
}

/** Compares the filters and sorts of lists. */
function queryDifferences(
  place: string,
  before: FieldTerms,
  after: FieldTerms,
  { lists }: SharedTraffic,
): Difference[] {
  const differences: Difference[] = []
  const [had, has] = [before.filter ?? [], after.filter ?? []]
  const [gone, come] = [had.filter((one) => !has.includes(one)), has.filter((one) => !had.includes(one))]
  const forms = (names: readonly string[]) => names.map((name) => `[${name}]`).join(', ')
  const say = (weight: Weight, says: string, mend = '') =>
    differences.push(fieldDifference(place, lists ? weight : 'none', says, mend))
  if (gone.length > 0 && has.length === 0) say('breaking', 'cannot be used as a filter any more.', 'Keep its `filter`.')
  else if (gone.length > 0) say('breaking', `has no filter ${forms(gone)} any more.`, 'Keep the forms of its `filter`.')
  if (come.length > 0) say('additive', had.length === 0 ? 'can be used as a filter.' : `has the filter ${forms(come)}.`)
  if (before.sort && !after.sort) say('breaking', 'cannot be used as a sort any more.', 'Keep its `sort`.')
  if (!before.sort && after.sort) say('additive', 'can be used as a sort.')
  if (before.search && !after.search) {
    const weight = lists ? 'breaking' : 'none'
    const lost = fieldDifference(place, weight, 'is not found by `search` any more.', 'Keep its `search`.', 'fixed')
    differences.push({ ...lost, part: 'search' })
  }
  if (!before.search && after.search) say('additive', 'is found by `search`.')
  return differences
}

/** Compares items of lists and fields of objects, which are in the same requests and answers as their field. */
function innerDifferences(
  place: string,
  before: FieldTerms,
  after: FieldTerms,
  traffic: SharedTraffic,
  { input, output }: FieldExposure,
): Difference[] {
  const within = { ...traffic, whole: input, changes: traffic.changes && input, sends: input, answers: output }
  if (before.item && after.item)
    return differencesOfField(`${place}[]`, before.item, after.item, { ...within, lists: false })
  if (before.fields && after.fields) return fieldDifferences(place, before.fields, after.fields, within)
  return []
}
