/** Machine: the states, transitions and operations of a resource, prepared for requests. Part 3, states. */
import { addViolation } from '../errors/pointer.ts'
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import { checkMembers, type ValueCheck } from '../fields/check-members.ts'
import type { Field, Fields } from '../fields/field.ts'
import type { ValueRules } from '../fields/kind.ts'
import { absentValue, valueCheckOf } from '../fields/value-check.ts'
import { durationMilliseconds, timestampOf } from '../formats/time-texts.ts'
import {
  type AccessRule,
  type DeclarationContext,
  type ResourceDeclaration,
  type RowAlternatives,
  resolveConcepts,
  rowAlternatives,
  ruleFor,
} from './declaration.ts'
import { ruleSource } from './own-operations.ts'
import { type Marker, stateNames, type TransitionDeclaration } from './states.ts'

type Document = Record<string, unknown>

/** A field of the body of a transition or an operation, or of the output of an operation. */
export interface InputField {
  readonly name: string
  readonly field: Field
  readonly check: ValueCheck
  /** The value if it is left out; undefined if it is required. */
  readonly absent: unknown
}

/** The sources of the values that a transition sets. */
interface TransitionSource {
  readonly time: number
  /** The id of the caller; null if it has none. */
  readonly caller: string | null
  readonly input: ReadonlyMap<string, unknown>
}

export interface Transition {
  readonly name: string
  readonly from: readonly string[]
  readonly to: string
  readonly rule: AccessRule
  /** The items that the inherited rule allows it on; undefined if its rule is the same for all. */
  readonly rowRule?: RowAlternatives | undefined
  readonly input: readonly InputField[]
  /** The names of inputs by the field that each sets. */
  readonly inputs: ReadonlyMap<string, string>
  /** The fields that it sets, including the state. */
  readonly values: (source: TransitionSource) => Document
}

/** The refusal of a write in a state that does not allow it. `allowed` lists the states that do, and may be empty. */
export function stateProblem(title: string, state: string, refused: string, allowed: string): Problem {
  const possible = allowed === '' ? 'no state allows that' : `that is possible while it is ${allowed}`
  return new Problem('invalid-state', `${title} is ${state} and ${refused}; ${possible}.`)
}

/** A transition or an operation as a version declares it, and the newest one, which is carried out. */
export interface ServedAction<T> {
  readonly own: T
  readonly today: T
  /** Converts inputs of the version to the newest ones, and newest names back to those of the version; null if they are the same. */
  readonly older: {
    readonly convert: (input: Document) => Document
    readonly names: (input: string) => readonly string[]
    /** Converts a body as it was sent, so that bodies of different versions can be compared. */
    readonly payload: (body: Document) => Document
  } | null
  /** The status of its refusal, and the version that withdrew it; null if it is carried out. */
  readonly refused: { readonly status: 409 | 410; readonly version: string } | null
}

export type ServedTransition = ServedAction<Transition>

export interface ServedOperation extends ServedAction<OwnOperation> {
  /** Converts an output as JSON to that of the version; null if they are the same. */
  readonly answer: ((output: string) => string) | null
}

/** A transition by the clock: some time after the state was entered, or at the time in a field. */
export interface TimedTransition extends Pick<Transition, 'name' | 'from' | 'to' | 'values'> {
  readonly after: number | null
  readonly at: string | null
  readonly catchUp: boolean
}

/** A transition by the clock as a version declares it, and the newest one, by which callers may carry it out. */
export interface ServedTimer {
  readonly own: TimedTransition
  readonly today: Pick<Transition, 'to'>
}

export interface Machine {
  readonly field: string
  readonly states: readonly string[]
  /** The transitions that callers carry out, and those by the clock. */
  readonly transitions: readonly Transition[]
  readonly timed: readonly TimedTransition[]
  /** The states that allow a write; null if all states do. */
  readonly writable: { readonly [O in 'change' | 'remove']: readonly string[] | null }
}

/** The machine of a resource; null if it declares no states. */
export function machineOf(
  { states, access, fields }: ResourceDeclaration,
  { concepts }: Pick<DeclarationContext, 'concepts'>,
  rules: ValueRules,
): Machine | null {
  if (!states) return null
  const { field, transitions, writable = {} } = states
  const rule = ruleFor(access, 'change')
  const rowRule = rowAlternatives(access, 'change')
  const stored = (name: string, value: unknown) => {
    const target = resolveConcepts(fields[name] as Field, concepts)
    return valueCheckOf(target, rules)(value, '', [])
  }
  const all = Object.entries(transitions).map(([name, one]) => ({
    one,
    transition: { name, from: one.from, to: one.to, ...settingsOf(one, field, stored) },
  }))
  const isTimed = ({ after, at }: TransitionDeclaration) => after !== undefined || at !== undefined
  return {
    field,
    states: stateNames(states),
    transitions: all.flatMap(({ one, transition }) =>
      isTimed(one)
        ? []
        : [
            {
              ...{ ...transition, input: inputFields(one.input ?? {}, concepts, rules) },
              ...(one.access === undefined ? { rule: rule as AccessRule, rowRule } : { rule: one.access }),
            },
          ],
    ),
    timed: all.flatMap(({ one, transition }) => {
      const after = one.after === undefined ? null : (durationMilliseconds(one.after) ?? null)
      return isTimed(one) ? [{ ...transition, after, at: one.at ?? null, catchUp: one.catchUp === true }] : []
    }),
    writable: { change: writable.change ?? null, remove: writable.remove ?? null },
  }
}

/** The fields of a body that is not an item. */
export const inputFields = (input: Fields, concepts: DeclarationContext['concepts'], rules: ValueRules): InputField[] =>
  Object.entries(input).map(([name, declared]) => {
    const field = resolveConcepts(declared, concepts)
    const check = valueCheckOf(field, rules)
    return { name, field, check, absent: absentValue(field, rules, check) }
  })

export const isMarker = (value: unknown): value is Marker =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Marker>).marker === 'string'

/** `stored` converts a constant into its stored form. */
function settingsOf(
  { set = {}, to }: TransitionDeclaration,
  state: string,
  stored: (field: string, value: unknown) => unknown,
): Pick<Transition, 'values' | 'inputs'> {
  const all = Object.entries(set).map(
    ([field, value]) => [field, isMarker(value) ? value : stored(field, value)] as const,
  )
  const inputs = all.flatMap(([field, value]) =>
    isMarker(value) && value.marker === 'input' ? [[field, value.name] as const] : [],
  )
  const values = (source: TransitionSource): Document => ({
    ...Object.fromEntries(all.map(([field, value]) => [field, isMarker(value) ? markedValue(value, source) : value])),
    [state]: to,
  })
  return { values, inputs: new Map(inputs) }
}

function markedValue({ marker, name }: Marker, { time, caller, input }: TransitionSource): unknown {
  if (marker === 'now') return timestampOf(time)
  return marker === 'caller' ? caller : (input.get(name) ?? null)
}

/** The values of an input, in their stored form. Throws all mistakes of the body. */
export function readInput(
  input: readonly InputField[],
  body: Document,
  settings: Parameters<typeof checkMembers>[4],
): ReadonlyMap<string, unknown> {
  const faults: Violation[] = []
  const byName = new Map(input.map((one) => [one.name, one]))
  for (const { name, absent } of input)
    if (absent === undefined && !Object.hasOwn(body, name))
      addViolation(faults, `/${name}`, 'field-required', 'is required.')
  const check = (name: string) => byName.get(name)?.check
  const checked = checkMembers(body, '', faults, { names: byName, check }, settings, {})
  if (faults.length > 0) throw invalidBody(faults)
  return new Map(input.map(({ name, absent }) => [name, Object.hasOwn(checked, name) ? checked[name] : absent]))
}

/** The inputs of a transition that is carried out without a body for it: their defaults. */
export const absentInput = ({ input }: Transition): ReadonlyMap<string, unknown> =>
  new Map(input.map(({ name, absent }) => [name, absent]))

/** An operation that a resource declares. R88. */
export interface OwnOperation {
  readonly name: string
  /** Whether a worker runs it after the answer. */
  readonly asynchronous: boolean
  readonly at: 'collection' | 'item'
  readonly rule: AccessRule
  readonly rowRule?: RowAlternatives | undefined
  readonly input: readonly InputField[]
  readonly output: readonly InputField[]
}

export const ownOperationsOf = (
  { operations = {}, access }: ResourceDeclaration,
  { concepts }: Pick<DeclarationContext, 'concepts'>,
  rules: ValueRules,
): readonly OwnOperation[] =>
  Object.entries(operations).map(([name, { at, input = {}, output = {}, access: own, asynchronous = false }]) => ({
    ...{ name, at, asynchronous, rule: own ?? (ruleFor(access, ruleSource(at)) as AccessRule) },
    ...(own === undefined && { rowRule: rowAlternatives(access, ruleSource(at)) }),
    input: inputFields(input, concepts, rules),
    output: inputFields(output, concepts, rules),
  }))
