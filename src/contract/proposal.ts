/** Proposal: a change that claims breaking differences, ready to be pasted into a declaration. Part 9, versioning. */

import type { FieldTerms } from '../fields/kind.ts'
import { listInWords } from '../formats/naming.ts'
import { type FormKind, formerEnds, type ProposedLines, proposeOperations, proposeStates } from './action-proposal.ts'
import { fieldCode, valueCode } from './code.ts'
import type { ResourceContract } from './contract.ts'
import { convertExpression } from './convert.ts'
import { answersOnly, type Difference, type FieldExposure, requestsOnly, weighShift } from './difference.ts'
import { valueShifts } from './field-differences.ts'
import { formerFields, placeholderCode } from './placeholder.ts'

/** A resource with breaking differences, and the version that would publish them. */
export interface UnclaimedDifferences {
  readonly resource: string
  readonly version: string
  readonly before: ResourceContract
  readonly after: ResourceContract
  readonly found: readonly Difference[]
  /** The former names of fields by their current ones, as far as the declaration gives them. */
  readonly former: Readonly<Record<string, string>>
}

interface ChangeParts {
  readonly renamed: Record<string, string>
  readonly removed: Record<string, FieldTerms>
  readonly added: Record<string, FieldTerms>
  readonly retyped: Record<string, FieldTerms>
  readonly required: Record<string, FieldTerms>
  /** Enums that differ only in their values: the removed old values, and the added new ones. */
  readonly mapped: Record<string, Record<string, string>>
  readonly shown: Record<string, Record<string, string>>
  readonly withdrawn: readonly string[]
}

/** A change to paste, or the fields that lack a placeholder, so that no change can claim the differences. */
export interface ProposedChange {
  readonly change?: string
  readonly lacking: readonly string[]
}

/** Proposes a change; without source code if no change can claim the differences, or if a placeholder is missing. */
export function proposeChange(unclaimed: UnclaimedDifferences): ProposedChange {
  const { resource, version } = unclaimed
  const parts = changeParts(unclaimed)
  const fields = proposeFields(parts, unclaimed.after)
  const proposeForm = (form: Pick<UnclaimedDifferences, 'before' | 'after' | 'found'>, kind: FormKind) => {
    const own = changeParts({ ...unclaimed, ...form, former: {} })
    return { ...proposeFields(own, form.after, kind), says: [] }
  }
  const actions = [proposeStates(unclaimed, parts, proposeForm), proposeOperations(unclaimed, proposeForm)]
  const lacking = [fields, ...actions].flatMap((one) => one.lacking)
  const lines = [fields, ...actions].flatMap((one) => one.lines)
  if (lines.length === 0 || lacking.length > 0) return { lacking }
  const about = `${[...aboutParts(parts), ...actions.flatMap(({ says }) => says)].join('; ')}.`
  const change = [`.change('${version}', '${resource}', {`, `  about: ${valueCode(about)},`, ...lines, '})']
  return { change: change.join('\n'), lacking }
}

/** The lines of a change that concern fields. Inputs are not answered, and outputs are not sent. */
function proposeFields(parts: ChangeParts, after: ResourceContract, kind?: FormKind): Omit<ProposedLines, 'says'> {
  const request = kind === 'output' ? [] : requestSources(parts, after)
  const response = kind === 'input' ? [] : responseSources(parts, after)
  const required = Object.entries(parts.required).map(
    ([name, terms]): FieldSource => [name, terms.unique ? undefined : placeholderCode(terms)],
  )
  const lacking = [...request, ...response, ...required].flatMap(([name, text]) => (text === undefined ? [name] : []))
  const lines = [
    ...objectLine('renamed', parts.renamed, valueCode),
    ...objectLine('removed', parts.removed, fieldCode),
    ...(Object.keys(parts.added).length > 0 ? [`  added: ${valueCode(Object.keys(parts.added))},`] : []),
    ...objectLine('retyped', parts.retyped, fieldCode),
    ...objectLine('required', Object.fromEntries(required), String),
    ...objectLine('mapped', parts.mapped, valueCode),
    ...objectLine('shown', parts.shown, valueCode),
    ...(parts.withdrawn.length > 0 ? [`  methods: { withdrawn: ${valueCode(parts.withdrawn)} },`] : []),
    ...(request.length > 0 ? [`  request: (old) => (${objectCode(request)}),`] : []),
    ...(response.length > 0 ? [`  response: (now) => (${objectCode(response)}),`] : []),
  ]
  return { lines, lacking }
}

/** A field with the source code of its value; undefined if it needs a placeholder and there is none. */
type FieldSource = readonly [name: string, text: string | undefined]

const objectCode = (written: readonly FieldSource[]): string =>
  `{ ${written.map(([name, text]) => `${name}: ${text}`).join(', ')} }`

/** Explains why no change is proposed. */
export const unclaimableText = (names: readonly string[]): string =>
  `No change can declare this: there is no placeholder for ${listInWords(
    names.map((name) => `\`${name}\``),
    'and',
  )}, as unique values and references cannot be made up. Make it optional, or keep what was locked.`

/** The new fields that the `request` function computes from an old body. */
function requestSources({ added, removed, retyped, renamed }: ChangeParts, after: ResourceContract): FieldSource[] {
  const ofAdded = Object.entries(added).flatMap(([name, terms]): FieldSource[] => {
    const source = sourceField(terms, removed)
    if (terms.readOnly || (!terms.required && source === undefined)) return []
    return [[name, valueSource(terms, 'old', removed, source)]]
  })
  const changed = Object.entries(retyped).flatMap(([name, old]): FieldSource[] => {
    const terms = after.fields[name] as FieldTerms
    if (!isOtherKind(old, terms) && (terms.readOnly || !mayNotFit(old, terms, requestsOnly))) return []
    return [[name, convertExpression(`old.${formerName(name, renamed)}`, old, terms)]]
  })
  return [...ofAdded, ...changed]
}

/** The old fields that the `response` function computes from a new item. */
function responseSources({ added, removed, retyped }: ChangeParts, after: ResourceContract): FieldSource[] {
  const ofRemoved = Object.entries(removed).flatMap(([name, terms]): FieldSource[] =>
    terms.writeOnly && !terms.required ? [] : [[name, valueSource(terms, 'now', added, sourceField(terms, added))]],
  )
  const changed = Object.entries(retyped).flatMap(([name, old]): FieldSource[] => {
    const terms = after.fields[name] as FieldTerms
    if (!isOtherKind(old, terms) && (old.writeOnly || !mayNotFit(old, terms, answersOnly))) return []
    return [[name, convertExpression(`now.${name}`, terms, old)]]
  })
  return [...ofRemoved, ...changed]
}

/** Whether values of one field may not fit the other. */
const mayNotFit = (old: FieldTerms, now: FieldTerms, way: FieldExposure): boolean =>
  valueShifts(old, now).some((one) => weighShift(one, way) === 'breaking') ||
  old.item !== undefined ||
  old.fields !== undefined

/** Whether the kind differs, so that values must be converted in both directions. */
const isOtherKind = (old: FieldTerms, now: FieldTerms): boolean => old.kind !== now.kind

const formerName = (name: string, renamed: Readonly<Record<string, string>>): string =>
  Object.keys(renamed).find((old) => renamed[old] === name) ?? name

/** The field to compute a value from: of the same kind, and unique if the value must be. */
function sourceField(terms: FieldTerms, candidates: Readonly<Record<string, FieldTerms>>): string | undefined {
  return Object.keys(candidates).find((name) => {
    const { kind, to, unique } = candidates[name] as FieldTerms
    return kind === terms.kind && to === terms.to && (unique === true || !terms.unique)
  })
}

/** Converts the source field, or else uses a placeholder; a unique field that cannot be null has no placeholder. */
function valueSource(
  terms: FieldTerms,
  from: 'old' | 'now',
  candidates: Readonly<Record<string, FieldTerms>>,
  source: string | undefined,
): string | undefined {
  if (source !== undefined) return convertExpression(`${from}.${source}`, candidates[source] as FieldTerms, terms)
  return terms.unique && !terms.nullable ? undefined : placeholderCode(terms)
}

function changeParts({ before, after, found, former }: UnclaimedDifferences): ChangeParts {
  const top = ({ place }: Difference) => /^resources\.[^.]+\.fields\.([^.[]+)/.exec(place)?.[1]
  const named = (what: Difference['what'], whole = true) =>
    found
      .filter((one) => one.what === what && (!whole || one.place.split('.').length === 4))
      .flatMap((one) => top(one) ?? [])
  const gone = new Set(named('field-removed'))
  const come = new Set(Object.keys(after.fields).filter((name) => !Object.hasOwn(before.fields, name)))
  const renamed = renamedFields(before, after, gone, come, former)
  for (const [old, now] of Object.entries(renamed)) {
    gone.delete(old)
    come.delete(now)
  }
  const touched = new Set(found.filter(({ weight }) => weight === 'breaking').flatMap((one) => top(one) ?? []))
  const kept = [...touched].filter((name) => Object.hasOwn(before.fields, name) && Object.hasOwn(after.fields, name))
  const both = (name: string) => [before.fields[name], after.fields[name]] as [FieldTerms, FieldTerms]
  const required = kept.filter((name) => onlyRequired(...both(name)))
  const enums = kept.filter((name) => isState(name, name, before, after) || isOnlyOtherValues(...both(name)))
  const pick = (names: Iterable<string>, { fields }: ResourceContract) =>
    Object.fromEntries([...names].map((name) => [name, fields[name] as FieldTerms]))
  const changed = kept.filter((name) => !required.includes(name) && !enums.includes(name))
  const others = Object.entries(renamed).filter(
    ([old, now]) => !isState(old, now, before, after) && isDifferent(before.fields[old], after.fields[now]),
  )
  const renamedAndChanged = Object.fromEntries(others.map(([old, now]) => [now, before.fields[old] as FieldTerms]))
  return {
    renamed,
    removed: formerFields(pick(gone, before), before),
    added: pick(come, after),
    retyped: formerFields({ ...pick(changed, before), ...renamedAndChanged }, before, after.fields),
    required: pick(required, after),
    ...otherValues(enums, renamed, before, after),
    withdrawn: before.operations.filter((name) => !after.operations.includes(name)),
  }
}

/** Whether one field could be the other under a new name: same kind, target and uniqueness. */
const isAlike = (one: FieldTerms | undefined, other: FieldTerms | undefined): boolean =>
  one !== undefined && one.kind === other?.kind && one.to === other.to && one.unique === other.unique

const isDifferent = (one: FieldTerms | undefined, other: FieldTerms | undefined): boolean =>
  JSON.stringify(one) !== JSON.stringify(other)

/** Whether a field holds the state in both versions; clients never wrote it. */
const isState = (old: string, now: string, before: ResourceContract, after: ResourceContract): boolean =>
  before.states?.field === old && after.states?.field === now

/** The values of enums that only one version has. A removed state was probably renamed if exactly one state was added. */
function otherValues(
  enums: readonly string[],
  renamed: Readonly<Record<string, string>>,
  before: ResourceContract,
  after: ResourceContract,
): Pick<ChangeParts, 'mapped' | 'shown'> {
  const states = Object.entries(renamed).filter(([old, now]) => isState(old, now, before, after))
  const parts = [...enums.map((name) => [name, name]), ...states].map(([old = '', now = '']) => {
    const [was, is] = [before.fields[old], after.fields[now]] as [FieldTerms, FieldTerms]
    const only = (one: FieldTerms, other: FieldTerms) =>
      (one.values ?? []).filter((name) => !other.values?.includes(name))
    const [gone, come] = [only(was, is), only(is, was)]
    if (isState(old, now, before, after) && gone.length === 1 && come.length === 1)
      return { mapped: [[now, { [gone[0] as string]: come[0] as string }] as const], shown: [] }
    const [mapped, shown] = [goneValues(now, [was, is], true), goneValues(now, [is, was], false)]
    return {
      mapped,
      shown: shown.map(
        ([own, values]) => [own, { ...values, ...formerEnds(values, before.states, after.states) }] as const,
      ),
    }
  })
  return {
    mapped: Object.fromEntries(parts.flatMap(({ mapped }) => mapped)),
    shown: Object.fromEntries(parts.flatMap(({ shown }) => shown)),
  }
}

/** Maps the values that only `one` has to the first value of `other`; with `keeps`, that value also maps to itself. */
function goneValues(name: string, [one, other]: readonly [FieldTerms, FieldTerms], keeps: boolean) {
  const to = other.values?.[0] as string
  const gone = (one.values ?? []).filter((value) => !other.values?.includes(value))
  const own = keeps && one.values?.includes(to) ? [to] : []
  return gone.length > 0 ? [[name, Object.fromEntries([...own, ...gone].map((value) => [value, to]))] as const] : []
}

/** Renames from the declaration, and a guess if exactly one field was removed and exactly one like it was added. */
function renamedFields(
  before: ResourceContract,
  after: ResourceContract,
  gone: ReadonlySet<string>,
  come: ReadonlySet<string>,
  former: UnclaimedDifferences['former'],
): Record<string, string> {
  const said = [...come]
    .filter((name) => gone.has(former[name] ?? ''))
    .map((name) => [former[name] as string, name] as const)
  const [old, ...others] = [...gone].filter((name) => !said.some(([one]) => one === name))
  const known = new Set(said.map(([, name]) => name))
  const alike = [...come].filter((name) => !known.has(name) && isAlike(before.fields[old ?? ''], after.fields[name]))
  const guessed =
    old !== undefined && others.length === 0 && alike.length === 1 ? [[old, alike[0] as string] as const] : []
  return Object.fromEntries([...said, ...guessed])
}

/** Whether the only difference is that the field has become required. */
function onlyRequired(before: FieldTerms, after: FieldTerms): boolean {
  const rest = ({ required, nullable, default: usual, ...others }: FieldTerms) => JSON.stringify(others)
  return before.nullable === true && after.required === true && rest(before) === rest(after)
}

/** Whether an enum differs only in its values. */
function isOnlyOtherValues(before: FieldTerms, after: FieldTerms): boolean {
  const rest = ({ values, ...others }: FieldTerms) => JSON.stringify(others)
  return before.kind === 'enum' && after.kind === 'enum' && rest(before) === rest(after)
}

function objectLine<T>(name: string, members: Readonly<Record<string, T>>, write: (one: T) => string): string[] {
  const all = Object.entries(members).map(([own, one]) => `${own}: ${write(one)}`)
  return all.length === 0 ? [] : [`  ${name}: { ${all.join(', ')} },`]
}

function aboutParts({ renamed, removed, added, retyped, required, mapped, shown, withdrawn }: ChangeParts): string[] {
  const names = (all: object) =>
    Object.keys(all)
      .map((name) => `\`${name}\``)
      .join(', ')
  return [
    ...Object.entries(renamed).map(([old, now]) => `\`${old}\` is called \`${now}\``),
    ...(names(removed) ? [`${names(removed)} removed`] : []),
    ...(names(added) ? [`${names(added)} added`] : []),
    ...(names({ ...mapped, ...shown }) ? [`values of ${names({ ...mapped, ...shown })} changed`] : []),
    ...(names(retyped) ? [`${names(retyped)} changed`] : []),
    ...(names(required) ? [`${names(required)} must be sent`] : []),
    ...(withdrawn.length > 0 ? [`${withdrawn.join(', ')} removed`] : []),
  ]
}
