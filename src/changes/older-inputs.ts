/** Older inputs: converts the inputs and outputs of the transitions and operations of older versions. Part 9, versions. */
import type { Violation } from '../errors/problem.ts'
import type { InputField, ServedAction, ServedOperation } from '../resources/machine.ts'
import { readInput } from '../resources/machine.ts'
import type { Resource } from '../resources/resource.ts'
import { type NewestAction, newestAction } from '../resources/states-before.ts'
import { type ChangeStep, compileConversion, identityMapping, mapDown, mapUp } from './conversion.ts'
import { runConversion } from './conversion-error.ts'
import { type NamesOfField, olderNames, renameViolation, withOlderNames } from './queries.ts'
import type { Representation } from './representation.ts'

type Changes = NewestAction<ChangeStep>['changes']
interface Input {
  readonly input: readonly InputField[]
}

const namesOf = (fields: readonly InputField[]): string[] => fields.map(({ name }) => name)

/** Converts the inputs of an action as the fields of items are converted; null if they are the same. */
export function olderInput(own: Input, today: Input, changes: Changes): ServedAction<Input>['older'] {
  const steps = changes.flatMap(({ step, was }) => (was.input ? [{ ...step, change: was.input }] : []))
  const [from, to] = [namesOf(own.input), namesOf(today.input)]
  if (steps.length === 0 && from.join() === to.join()) return null
  const convertAll = compileConversion(steps.reduce(mapUp, identityMapping('', from)), to)
  const convert = (input: Record<string, unknown>) => {
    const values = convertAll(input)
    const some = to.map((name, i) => [name, values[i]] as const).filter(([, value]) => value !== undefined)
    return Object.fromEntries(some)
  }
  const absent = Object.fromEntries(from.map((name) => [name, null]))
  return {
    convert,
    names: (input) => olderNames(steps.toReversed(), input),
    payload: (body) => {
      const members = Object.entries(convert({ ...absent, ...body })).filter(([, value]) => value !== null)
      return { ...Object.fromEntries(members), ...convert(body) }
    },
  }
}

interface Output {
  readonly output: readonly InputField[]
}

/** Converts the output of an operation as answers are converted; null if it is the same. */
function olderOutput(own: Output, today: Output, changes: Changes, resource: Resource): ServedOperation['answer'] {
  const steps = changes.toReversed().flatMap(({ step, name, was }) => {
    const fields = step.own.operations?.[name]?.output ?? {}
    return was.output ? [{ ...step, change: was.output, own: { ...step.own, fields } }] : []
  })
  const [from, to] = [namesOf(today.output), namesOf(own.output)]
  if (steps.length === 0 && from.join() === to.join()) return null
  const nowhere = () => undefined // members of an output do not move to other resources
  const down = steps.reduce((program, step) => mapDown(program, step, nowhere), identityMapping(resource.name, from))
  const convert = compileConversion(down, to)
  return (text) => {
    const output = JSON.parse(text)
    const values = runConversion(resource, output, 0, () => convert(output))
    const members = own.output.map(({ name, absent }, i) => [name, values[i] ?? absent ?? null])
    return JSON.stringify(Object.fromEntries(members))
  }
}

/** Converts the output that an older version's operation has given; null if it is the same. */
function newerOutput(own: Output, today: Output, changes: Changes): StoredOperation['result'] {
  const steps = changes.flatMap(({ step, was }) => (was.output ? [{ ...step, change: was.output }] : []))
  const from = namesOf(own.output)
  if (steps.length === 0 && from.join() === namesOf(today.output).join()) return null
  const convert = compileConversion(steps.reduce(mapUp, identityMapping('', from)), namesOf(today.output))
  return (output) => {
    const values = convert(output)
    const members = today.output.map(({ name, absent }, i) => [name, values[i] ?? absent] as const)
    return members.some(([, value]) => value === undefined) ? null : Object.fromEntries(members)
  }
}

/** An operation of a version, with the conversion of its stored outputs to the newest version. */
export interface StoredOperation extends ServedOperation {
  /** Converts a stored output to the newest one; returns null if a member cannot be computed. Null if both outputs are the same. */
  readonly result: ((output: Record<string, unknown>) => Record<string, unknown> | null) | null
}

/** The operations of a version, each with the newest one. */
export const servedOperations = (own: Resource, today: Resource, steps: readonly ChangeStep[]): StoredOperation[] =>
  own.operations.flatMap((one): StoredOperation[] => {
    const { name, changes, refused } = newestAction(steps, 'operations', one.name)
    if (refused) return [{ own: one, today: one, older: null, answer: null, result: null, refused }]
    return today.operations
      .filter((stored) => stored.name === name)
      .map((stored) => {
        const answer = olderOutput(one, stored, changes, today)
        const result = newerOutput(one, stored, changes)
        return { own: one, today: stored, older: olderInput(one, stored, changes), answer, result, refused }
      })
  })

/** The values of an input as the newest version has them. Throws all mistakes of the body, in the names of the version. */
export function readServedInput(
  { own, today, older }: ServedAction<Input>,
  body: Record<string, unknown>,
  settings: Parameters<typeof readInput>[2],
): ReadonlyMap<string, unknown> {
  const sent = readInput(own.input, body, settings)
  if (!older) return sent
  return withOlderNames(older, () => readInput(today.input, older.convert(Object.fromEntries(sent)), settings))
}

/** Returns the names that a version gives to a current input; undefined if there is no such input. */
export const inputNamesOf =
  ({ today, older }: ServedAction<Input>) =>
  (name: string): readonly string[] | undefined =>
    today.input.some((one) => one.name === name) ? (older?.names(name) ?? [name]) : undefined

/** How a version shows the statuses of an operation: its name and its inputs there, and the conversion of its output. */
export interface ShownOperation extends Pick<ServedOperation, 'answer'> {
  readonly name: string
  readonly namesOf: (input: string) => readonly string[] | undefined
}

/** Shows statuses with the names and results that the version has; `operations` are listed by their newest names. */
export function olderStatuses(
  plain: Representation,
  operations: ReadonlyMap<string, ShownOperation>,
  errors: ReadonlyMap<string, string>,
): Representation {
  const show = (doc: Readonly<Record<string, unknown>>): string => {
    const {
      name = doc.operation,
      answer = null,
      namesOf = () => undefined,
    } = operations.get(String(doc.operation)) ?? {}
    const error = doc.error as StatusError | null
    return JSON.stringify({
      ...{ ...doc, operation: name },
      ...(doc.result !== null &&
        answer && {
          result: runConversion(plain.today, doc, 0, () => JSON.parse(answer(JSON.stringify(doc.result)))),
        }),
      ...(error && { error: olderError(error, errors, (field) => namesOf(field) ?? [field]) }),
    })
  }
  return {
    ...plain,
    answer: (doc, _, _masked, document = JSON.parse(doc)) => show(document),
    answers: (docs, _, _masked, documents = JSON.parse(`[${docs}]`)) => documents.map(show).join(','),
  }
}

interface ErrorTypes {
  readonly type: string
  /** Missing in statuses of earlier releases, which have only the type and the message. */
  readonly types?: readonly string[]
}

/** An error as a status stores it. */
interface StatusError extends ErrorTypes {
  readonly cause?: StatusError
  readonly errors?: readonly (Violation & ErrorTypes)[]
}

/** An error with the types of the version, and with places in the input as it was sent. */
function olderError(error: StatusError, errors: ReadonlyMap<string, string>, names: NamesOfField): StatusError {
  const named = <T extends ErrorTypes>(one: T): T => ({
    ...{ ...one, type: errors.get(one.type) ?? one.type },
    ...(one.types && { types: one.types.map((type) => errors.get(type) ?? type) }),
  })
  const { cause, errors: all } = error
  if (all === undefined) return { ...named(error), ...(cause && { cause: olderError(cause, errors, names) }) }
  const places = all.flatMap((one) => renameViolation(one, names) as (typeof one)[]).map(named)
  return { ...named(error), cause: places[0] as StatusError, errors: places }
}
