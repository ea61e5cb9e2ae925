/** Action proposal: the parts of a proposed change that concern states, transitions, timers and operations. Part 9, versioning. */
// long because: transitions and operations are proposed by the same functions
import type { FieldTerms } from '../fields/kind.ts'
import { oldValuesByNew, type ValueMap } from '../resources/repoint.ts'
import { fieldCode, valueCode } from './code.ts'
import { isSameValue, type ResourceContract } from './contract.ts'
import type { Difference } from './difference.ts'
import type { StateContract, TimedContract, TransitionContract } from './state-contract.ts'

interface ContractPair {
  readonly before: ResourceContract
  readonly after: ResourceContract
  readonly found: readonly Difference[]
}

/** Lines of a change, their descriptions, and the fields without a placeholder. */
export interface ProposedLines {
  readonly lines: readonly string[]
  readonly says: readonly string[]
  readonly lacking: readonly string[]
}

/** Values of the state in both versions, as the proposed change maps them. */
interface MappedStates {
  readonly mapped: Readonly<Record<string, ValueMap>>
  readonly shown: Readonly<Record<string, ValueMap>>
}

/** Whether fields are sent or answered. */
export type FormKind = 'input' | 'output'
type ProposeFields = (form: ContractPair, kind: FormKind) => ProposedLines
/** The source code of members by name; undefined leaves one out. */
type Code = Readonly<Record<string, string | undefined>>

/** `proposeFields` proposes the changes of inputs. */
export function proposeStates(pair: ContractPair, values: MappedStates, proposeFields: ProposeFields): ProposedLines {
  const { before, found } = pair
  const isFound = (place: string) => found.some((one) => one.place.endsWith(place))
  const allowed = (['change', 'remove'] as const).filter((key) => isFound(`.states.writable.${key}`))
  const writable = allowed.map((key) => [key, valueCode(before.states?.writable[key] ?? null)] as const)
  const below = isFound('.parent.while') ? valueCode(before.while ?? null) : undefined
  const { code, lacking, says } = transitionsCode(pair, values, proposeFields)
  const { field, initial } = before.states ?? {}
  const ended = pair.after.states ? undefined : objectCode({ field: valueCode(field), initial: valueCode(initial) })
  const parts = {
    states: before.states && ended,
    ...{ transitions: code, writable: objectCode(Object.fromEntries(writable)), while: below },
  }
  return {
    lines: Object.entries(parts).flatMap(([name, text]) => (text === undefined ? [] : [`  ${name}: ${text},`])),
    says: [...says, ...(writable.length > 0 || below ? ['fewer states allow writes'] : [])],
    lacking,
  }
}

/** An object without the members that are left out; undefined if none is left. */
function objectCode(members: Code): string | undefined {
  const entries = Object.entries(members).filter(([, text]) => text !== undefined)
  const named = entries.map(([name, text]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : valueCode(name)}: ${text}`)
  return named.length === 0 ? undefined : `{ ${named.join(', ')} }`
}

interface TransitionsCode extends Omit<ProposedLines, 'lines'> {
  readonly code: string | undefined
}

function transitionsCode(pair: ContractPair, values: MappedStates, proposeFields: ProposeFields): TransitionsCode {
  const [was, is] = [pair.before.states, pair.after.states]
  if (!was) return { code: is && objectCode({ written: writtenCode(pair.before, is) }), says: [], lacking: [] }
  if (!is)
    return {
      code: objectCode({ withdrawn: objectCode(goneCode(pair.before, nothing)) }),
      says: ['the states ended'],
      lacking: [],
    }
  const former = inFormerWords(is, pair.after, values)
  const renamed = renamedTransition(was, former)
  const [formerName] = Object.keys(renamed)
  const withdrawn = goneCode(pair.before, former, formerName)
  const started = Object.keys(is.timed).filter((name) => !was.timed[name])
  const again = Object.keys(withdrawn).filter((name) => is.transitions[name] ?? is.timed[name])
  const { changed, lacking } = changedCode(pair, former, proposeFields)
  const added = [...new Set([...started, ...again])]
  const code = objectCode({
    added: added.length > 0 ? valueCode(added) : undefined,
    renamed: formerName === undefined ? undefined : valueCode(renamed),
    withdrawn: objectCode(withdrawn),
    changed: objectCode(changed),
  })
  return { code, says: actionsText({ renamed, withdrawn, added: started, changed }), lacking }
}

interface ActionParts {
  readonly renamed: ValueMap
  readonly withdrawn: Code
  readonly added: readonly string[]
  readonly changed: Code
}

function actionsText({ renamed, withdrawn, added, changed }: ActionParts): string[] {
  const named = (does: string, names: readonly string[]) =>
    names.length > 0 ? [`${names.map((name) => `\`${name}\``).join(', ')} ${does}`] : []
  return [
    ...Object.entries(renamed).map(([old, now]) => `\`${old}\` is called \`${now}\``),
    ...named('withdrawn', Object.keys(withdrawn)),
    ...named('added', added),
    ...named(
      'changed',
      Object.keys(changed).filter((name) => changed[name] !== undefined),
    ),
  ]
}

/** Whether a transition still exists: one of the same name that leads to another state is another transition. */
const isKept = <T extends { readonly to: string }>(had: T, has: T | undefined): has is T => has?.to === had.to

/** The code of the transitions and timers that the new version lacks, except for the renamed transition. */
function goneCode(before: ResourceContract, is: Actions, formerName?: string): Code {
  const { transitions = {}, timed = {} } = before.states ?? {}
  const lost = Object.entries(transitions).filter(
    ([name, one]) => !isKept(one, is.transitions[name]) && name !== formerName,
  )
  const stopped = Object.entries(timed).filter(([name, one]) => !isKept(one, is.timed[name]))
  return Object.fromEntries([
    ...lost.map(([name, one]) => [name, withdrawnCode(name, one, before, is)]),
    ...stopped.map(([name, one]) => [name, valueCode(one)]),
  ])
}

type Actions = Pick<StateContract, 'transitions' | 'timed'>
const nothing: Actions = { transitions: {}, timed: {} }

/** For a field that clients wrote: the transitions without required input that lead to its values. */
function writtenCode({ fields }: ResourceContract, { field, transitions }: StateContract): string | undefined {
  const pairs = (fields[field]?.values ?? []).flatMap((value) => {
    const [name] = Object.entries(transitions).find(([, one]) => one.to === value && !needsInput(one)) ?? []
    return name === undefined ? [] : [[value, valueCode(name)]]
  })
  return objectCode(Object.fromEntries(pairs))
}

const needsInput = ({ input }: TransitionContract): boolean => Object.values(input).some(({ required }) => required)

/** Older versions show a new state as the state that it replaced: as the former initial state, or as the former end of its transition. */
export function formerEnds(
  values: Readonly<Record<string, string>>,
  was?: StateContract,
  is?: StateContract,
): Record<string, string> {
  const all = ({ initial, transitions, timed }: StateContract) => [
    ['', initial] as const,
    ...Object.entries({ ...transitions, ...timed }).map(([name, { to }]) => [name, to] as const),
  ]
  const ends = new Map(was && all(was))
  const pairs = (is ? all(is) : []).filter(([name, to]) => Object.hasOwn(values, to) && ends.has(name))
  return Object.fromEntries(pairs.toReversed().map(([name, to]) => [to, ends.get(name) as string]))
}

/** The states of the newest version, each with the name that it had before. */
function inFormerWords(
  is: StateContract,
  { fields }: ResourceContract,
  { mapped, shown }: MappedStates,
): StateContract {
  const { field } = is
  const down = oldValuesByNew(fields[field]?.values ?? [], mapped[field] ?? {}, shown[field] ?? {})
  const old = (name: string) => down.get(name) ?? name
  const named = <T extends TimedContract | TransitionContract>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(
      Object.entries(all).map(([name, one]): [string, T] => [
        name,
        { ...one, from: [...new Set(one.from.map(old))].toSorted(), to: old(one.to) },
      ]),
    )
  return { ...is, transitions: named(is.transitions), timed: named(is.timed) }
}

/** A guess: if exactly one transition was removed and exactly one like it was added, it was renamed. */
function renamedTransition(was: StateContract, is: StateContract): Record<string, string> {
  const [lost, ...others] = Object.entries(was.transitions).filter(([name]) => !is.transitions[name])
  const come = Object.entries(is.transitions).filter(([name]) => !was.transitions[name])
  const alike = come.filter(([, one]) => JSON.stringify(one) === JSON.stringify(lost?.[1]))
  return lost && others.length === 0 && alike.length === 1 ? { [lost[0]]: (alike[0] as (typeof alike)[0])[0] } : {}
}

/** A withdrawn transition: carried out as one that does the same from the same states, or else refused. */
function withdrawnCode(
  name: string,
  { from, to, input }: TransitionContract,
  { paths }: ResourceContract,
  { transitions }: Actions,
): string | undefined {
  const [path, methods] = Object.entries(paths).find(([one]) => one.endsWith(`/${name}`)) ?? []
  const access = methods?.POST
  const usual = paths[path?.slice(0, -name.length - 1) ?? '']?.PATCH
  const [by] =
    Object.entries(transitions).find(
      ([, one]) => one.to === to && from.every((state) => one.from.includes(state)) && !needsInput(one),
    ) ?? []
  const inputs = Object.entries(input).map(([one, terms]) => [one, fieldCode(terms)])
  return objectCode({
    from: valueCode(from),
    to: valueCode(to),
    access: access === undefined || access === usual ? undefined : valueCode(access),
    input: objectCode(Object.fromEntries(inputs)),
    ...(by === undefined ? { refused: '410' } : { by: valueCode(by) }),
  })
}

type Terms = Readonly<Record<string, FieldTerms>>

/** The change of an input or an output, whose differences are at `place`; undefined if there are none. */
function formCode(
  { before, after, found }: ContractPair,
  place: string,
  [had, has]: readonly [Terms, Terms],
  propose: (form: ContractPair) => ProposedLines,
): { readonly code: string; readonly lacking: readonly string[] } | undefined {
  const own = found.flatMap((one) => {
    const [, field] = one.place.split(place)
    return field === undefined ? [] : [{ ...one, place: `resources.x.fields.${field}` }]
  })
  if (own.length === 0) return undefined
  const only = ({ states: _, while: __, ...rest }: ResourceContract, fields: Terms) => ({
    ...rest,
    ...{ fields, operations: [] },
  })
  const { lines, lacking } = propose({ before: only(before, had), after: only(after, has), found: own })
  return { code: `{ ${lines.map((one) => one.trim().replace(/,$/, '')).join(', ')} }`, lacking }
}

/** What was different about transitions that both versions have. */
function changedCode(
  pair: ContractPair,
  former: StateContract,
  proposeFields: ProposeFields,
): { readonly changed: Code; readonly lacking: readonly string[] } {
  const { before, found } = pair
  const was = before.states as StateContract
  const lacking: string[] = []
  const called = Object.entries(was.transitions).map(([name, had]) => {
    const has = former.transitions[name]
    if (!isKept(had, has)) return [name, undefined]
    const place = `.states.transitions.${name}`
    const isNarrower = !had.from.every((state) => has.from.includes(state))
    const input = formCode(pair, `${place}.input.`, [had.input, has.input], (form) => proposeFields(form, 'input'))
    lacking.push(...(input?.lacking ?? []))
    return [name, objectCode({ from: isNarrower ? valueCode(had.from) : undefined, input: input?.code })]
  })
  const timed = Object.entries(was.timed).map(([name, had]) => {
    const has = former.timed[name]
    const { from, to: _, ...when } = had
    const isFound = found.some(({ place }) => place.endsWith(`.states.transitions.${name}`))
    if (!isKept(had, has) || !isFound || isSameValue(had, has)) return [name, undefined]
    return [name, valueCode({ ...(from.join() !== has.from.join() && { from }), ...when })]
  })
  return { changed: Object.fromEntries([...called, ...timed]), lacking }
}

/** `proposeFields` proposes the changes of inputs and outputs. */
export function proposeOperations(pair: ContractPair, proposeFields: ProposeFields): ProposedLines {
  const { before, after, found } = pair
  const [was, is] = [formsOf(before), formsOf(after)]
  const isLost = (name: string) => found.some(({ place }) => place.endsWith(`.operations.${name}`))
  const lost = Object.keys(was).filter(isLost)
  const come = Object.keys(is).filter((name) => !was[name])
  const like = (name: string, among: readonly string[]) => among.filter((one) => isSameValue(was[name], is[one]))
  const [first = ''] = lost
  const alike = like(first, come)
  const renamed: ValueMap = lost.length === 1 && alike.length === 1 ? { [first]: alike[0] as string } : {}
  const gone = lost.filter((name) => !Object.hasOwn(renamed, name))
  const withdrawn = gone.map((name) => [name, withdrawnOperation(name, before, like(name, Object.keys(is))[0])])
  const lacking: string[] = []
  const changed = Object.entries(was).map(([name, had]) => {
    const codes = (['input', 'output'] as const).map((kind) => {
      const [terms, place] = [is[name]?.[kind] ?? {}, `.operations.${name}.${kind}.`]
      const form = formCode(pair, place, [had[kind], terms], (own) => proposeFields(own, kind))
      lacking.push(...(form?.lacking ?? []))
      return [kind, form?.code]
    })
    return [name, objectCode(Object.fromEntries(codes))]
  })
  const added = gone.filter((name) => is[name])
  const parts = { renamed, added: [], withdrawn: Object.fromEntries(withdrawn), changed: Object.fromEntries(changed) }
  const code = objectCode({
    added: added.length > 0 ? valueCode(added) : undefined,
    renamed: Object.keys(renamed).length > 0 ? valueCode(renamed) : undefined,
    withdrawn: objectCode(parts.withdrawn),
    changed: objectCode(parts.changed),
  })
  return { lines: code === undefined ? [] : [`  operations: ${code},`], says: actionsText(parts), lacking }
}

/** The operations of a contract, each with its place. */
const formsOf = ({ calls = {}, paths }: ResourceContract) =>
  Object.fromEntries(Object.entries(calls).map(([name, one]) => [name, { ...one, at: placeOf(name, paths).at }]))

function placeOf(name: string, paths: ResourceContract['paths']) {
  const [path = '', methods] = Object.entries(paths).find(([one]) => one.endsWith(`/${name}`)) ?? []
  const at = path.slice(0, -name.length - 1).endsWith('}') ? 'item' : 'collection'
  return { at, access: methods?.POST } as const
}

/** A withdrawn operation: carried out as one that has the same input and output, or else refused. */
function withdrawnOperation(name: string, { calls, paths }: ResourceContract, by: string | undefined) {
  const { input = {}, output = {}, asynchronous } = calls?.[name] ?? {}
  const { at, access } = placeOf(name, paths)
  const fields = (all: Terms) =>
    objectCode(Object.fromEntries(Object.entries(all).map(([one, t]) => [one, fieldCode(t)])))
  return objectCode({
    ...{ at: valueCode(at), access: access && valueCode(access), asynchronous: asynchronous && 'true' },
    ...{ input: fields(input), output: fields(output) },
    ...(by === undefined ? { refused: '410' } : { by: valueCode(by) }),
  })
}
