/** Transition mistakes: the names, states, inputs and settings of the transitions of a resource. Part 3, states. */
import { boundsOf, isNarrower } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import { firstFault, isObject, valueCheckOf, valueInWords } from '../fields/value-check.ts'
import { isKebab, isPlural, pluralOf, toKebab, verbIn } from '../formats/naming.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import { nounOf } from '../formats/verb-nouns.ts'
import { type Access, ruleFor } from '../resources/declaration.ts'
import { isMarker } from '../resources/machine.ts'
import { transitionKeys } from '../resources/states.ts'
import {
  checkField,
  checkFieldName,
  type DeclarationCheck,
  type DeclarationPath,
  report,
  soundField,
} from './field-check.ts'
import { type DeclarationFault, hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys, checkRule, parentNameOf, type ResourceCheck } from './resource-check.ts'

/** The names of states, which URLs need not escape. */
const statePattern = /^[A-Za-z][A-Za-z0-9_-]*$/

export const isStateName = (state: unknown): state is string => typeof state === 'string' && statePattern.test(state)

/** Checks the name of a state. */
export function checkStateName(path: DeclarationPath, state: unknown, context: DeclarationCheck): void {
  if (isStateName(state)) return
  const mend = "Write letters, digits, dashes and underscores, as 'draft'."
  report(context, path, `The state is ${valueInWords(state)}.`, mend)
}

export function checkTransitions(path: DeclarationPath, judged: ResourceCheck, context: DeclarationCheck): void {
  const { transitions } = judged.given.states as UncheckedObject
  if (!isObject(transitions) || Object.keys(transitions).length === 0) {
    const reason = isObject(transitions)
      ? 'There are no transitions.'
      : `\`transitions\` is ${valueInWords(transitions)}.`
    report(context, path, reason, "Write at least one, as transitions: { closures: { from: ['open'], to: 'closed' } }.")
    return
  }
  for (const [name, transition] of Object.entries(transitions)) {
    const at = [...path, name]
    checkActionName(at, judged, context)
    if (isObject(transition)) checkTransition(at, transition, judged, context)
    else
      report(context, at, `It is ${valueInWords(transition)}.`, "Write an object, as { from: ['open'], to: 'closed' }.")
  }
  if (!context.isOlder) checkEndless(path, transitions, context)
}

/** Refuses cycles of transitions by the time in a field that keeps its value: they would run for ever. */
function checkEndless(path: DeclarationPath, transitions: UncheckedObject, context: DeclarationCheck): void {
  const keepsTime = ({ at, set }: UncheckedObject) => {
    const next = isObject(set) && typeof at === 'string' && Object.hasOwn(set, at) ? set[at] : undefined
    return typeof at === 'string' && (next === undefined || isMarker(next))
  }
  const timed = Object.entries(transitions).filter(
    (one): one is [string, UncheckedObject] => isObject(one[1]) && Array.isArray(one[1].from) && keepsTime(one[1]),
  )
  for (const [name, transition] of timed) {
    const reached = new Set([transition.to])
    for (const state of reached)
      for (const [, { from, to }] of timed) if ((from as unknown[]).includes(state)) reached.add(to)
    if ((transition.from as unknown[]).some((state) => reached.has(state)))
      report(
        context,
        [...path, name],
        `It would take place again and again, as the time in \`${transition.at}\` stays the same.`,
        `Write set: { ${transition.at}: null }, or let it lead to a state that no such transition leaves.`,
      )
  }
}

/** The name of a transition or an operation is the last part of a URL: a plural noun. R2. */
export function checkActionName(
  path: DeclarationPath,
  { name: own, settings }: ResourceCheck,
  context: DeclarationCheck,
): void {
  const name = path.at(-1) as string
  const kebab = toKebab(name)
  const verb = verbIn(kebab, settings.path.verbs)
  const noun = nounOf(kebab) ?? pluralOf(kebab)
  const mend =
    isKebab(noun) && noun !== name ? `Write \`${noun}\`.` : 'Write a plural noun in kebab-case, as `cancellations`.'
  if (verb)
    report(context, path, `The name contains the verb \`${verb}\`; the method of a request says what is done.`, mend)
  else if (!isKebab(name) || !isPlural(kebab))
    report(context, path, 'The name is not a plural noun in kebab-case.', mend)
  const child = Object.entries(context.resources).find(([other, one]) => other === name && parentNameOf(one) === own)
  if (child)
    report(context, path, `The list of \`${name}\` has the same URL.`, 'Write another name for one of the two.')
}

function checkTransition(
  path: DeclarationPath,
  transition: UncheckedObject,
  judged: ResourceCheck,
  context: DeclarationCheck,
): void {
  checkKnownKeys(path, transition, transitionKeys, [], context)
  const { from, to, access } = transition
  if (!Array.isArray(from) || from.length === 0)
    report(
      context,
      [...path, 'from'],
      `\`from\` is ${Array.isArray(from) ? 'an empty list' : valueInWords(from)}.`,
      "List the states in which it is possible, as from: ['draft'].",
    )
  else for (const state of from) checkStateName([...path, 'from'], state, context)
  checkStateName([...path, 'to'], to, context)
  if (access !== undefined) checkRule([...path, 'access'], access, context)
  if (access === undefined && transition.after === undefined && transition.at === undefined)
    checkRuleOf(path, 'change', judged, context)
  checkTimer(path, transition, judged, context)
  checkInput([...path, 'input'], transition.input, context)
  checkInputExample(path, transition, context)
  checkSettings([...path, 'set'], transition, judged, context)
}

/** Checks that the resource has a rule for the methods whose rule an action without `access` has. */
export function checkRuleOf(
  path: DeclarationPath,
  method: 'create' | 'change',
  { given: { access } }: ResourceCheck,
  context: DeclarationCheck,
): void {
  if (isObject(access) && ruleFor(access as Access, method) === undefined)
    report(context, path, 'No rule of `access` covers it.', "Write access: 'authenticated' or a scope.")
}

/** Checks a transition by the clock: no caller carries it out, so it has no access rule and no input. */
function checkTimer(
  path: DeclarationPath,
  transition: UncheckedObject,
  judged: ResourceCheck,
  context: DeclarationCheck,
): void {
  const { after, at, catchUp } = transition
  if (catchUp !== undefined && (catchUp !== true || after === undefined))
    report(context, [...path, 'catchUp'], '`catchUp` has an effect only as `true` beside `after`.', 'Leave it out.')
  if (after === undefined && at === undefined) return
  const mend = 'Leave it out: the transition takes place by the clock.'
  for (const key of ['access', 'input'].filter((one) => transition[one] !== undefined))
    report(context, [...path, key], `No caller carries it out, so \`${key}\` has no effect.`, mend)
  if (after !== undefined && at !== undefined)
    report(context, path, '`after` and `at` exclude each other.', 'Leave one of the two out.')
  if (after !== undefined && (typeof after !== 'string' || !(durationMilliseconds(after) ?? 0)))
    report(
      context,
      [...path, 'after'],
      `\`after\` is ${valueInWords(after)}.`,
      "Write an ISO 8601 duration of weeks, days, hours, minutes and seconds, as after: 'P7D'.",
    )
  const fields = isObject(judged.given.fields) ? judged.given.fields : {}
  const named = hasMember(fields, at) ? soundField(fields[at], context) : undefined
  if (at !== undefined && named?.kind !== 'timestamp') {
    const times = Object.keys(fields).filter((one) => soundField(fields[one], context)?.kind === 'timestamp')
    const reason = `There is no timestamp field ${valueInWords(at)}.`
    report(context, [...path, 'at'], reason, nameHint(at, times, 'Declare it with f.timestamp().'))
  }
}

/** Checks the fields of an input or an output. */
export function checkInput(path: DeclarationPath, input: unknown, context: DeclarationCheck): void {
  if (input === undefined) return
  if (!isObject(input)) {
    const key = path.at(-1)
    report(
      context,
      path,
      `\`${key}\` is ${valueInWords(input)}.`,
      `Write an object of fields, as ${key}: { reason: f.text() }.`,
    )
    return
  }
  for (const [name, field] of Object.entries(input)) {
    checkFieldName([...path, name], context)
    checkField([...path, name], field, 'input', context)
  }
}

/** Checks the example of a body: it has the fields of the input, and values that they allow. */
export function checkInputExample(path: DeclarationPath, action: UncheckedObject, context: DeclarationCheck): void {
  const { example } = action
  if (example === undefined) return
  const at = [...path, 'example']
  const fields = isObject(action.input) ? action.input : {}
  if (!isObject(example)) {
    report(context, at, `\`example\` is ${valueInWords(example)}.`, "Write a body, as example: { carrier: 'DHL' }.")
    return
  }
  for (const name of new Set([...Object.keys(fields), ...Object.keys(example)])) {
    const field = soundField(fields[name], context)
    const isNeeded = field?.options.optional !== true && field?.options.default === undefined
    if (!hasMember(fields, name))
      report(context, [...at, name], 'It is not an input.', nameHint(name, Object.keys(fields)))
    if (!field || (example[name] === undefined && !isNeeded)) continue
    const fault = firstFault(valueCheckOf(field, context.rules), example[name], `/${name}`)
    if (fault) report(context, [...at, name], `The input refuses it: ${fault.message}`, 'Write a value that it allows.')
  }
}

/** Checks the fields that a transition sets, and whether their values always fit. */
function checkSettings(
  path: DeclarationPath,
  { set, input }: UncheckedObject,
  judged: ResourceCheck,
  context: DeclarationCheck,
): void {
  if (set === undefined) return
  if (!isObject(set)) {
    report(context, path, `\`set\` is ${valueInWords(set)}.`, 'Write an object, as set: { placedAt: now }.')
    return
  }
  const fields = isObject(judged.given.fields) ? judged.given.fields : {}
  const isDerived = (one: string) => soundField(fields[one], context)?.options.derived !== undefined
  const names = Object.keys(fields).filter((one) => one !== judged.given.key && !isDerived(one))
  for (const [name, value] of Object.entries(set)) {
    const at = [...path, name]
    if (!names.includes(name)) report(context, at, 'It is not a field that can be set.', nameHint(name, names))
    const target = soundField(fields[name], context)
    if (!names.includes(name) || !target) continue
    const fault = isMarker(value)
      ? markerFault(value.marker, value.name, target, isObject(input) ? input : {}, context)
      : constantFault(name, value, target, context)
    if (fault) report(context, at, ...fault)
  }
}

function constantFault(
  name: string,
  value: unknown,
  target: Field,
  { rules }: DeclarationCheck,
): DeclarationFault | undefined {
  const fault = firstFault(valueCheckOf(target, rules), value, `/${name}`)
  return (
    fault && [
      `The field refuses ${valueInWords(value)}: ${fault.message}`,
      'Write a value that the field allows, or `now`, `caller` or `input(…)`.',
    ]
  )
}

/** The least length of a text that has room for the id of any caller. */
const callerLength = 255

function markerFault(
  marker: string,
  name: string,
  target: Field,
  inputs: UncheckedObject,
  context: DeclarationCheck,
): DeclarationFault | undefined {
  const { kind, options } = target
  if (marker === 'now')
    return kind === 'timestamp'
      ? undefined
      : [`\`now\` is a timestamp, and the field is of kind ${kind}.`, 'Declare the field with f.timestamp().']
  if (marker === 'caller') {
    const fits =
      kind === 'text' &&
      options.optional &&
      options.pattern === undefined &&
      Number(options.max ?? callerLength) >= callerLength
    return fits
      ? undefined
      : [
          'The field cannot hold the id of every caller, and null where there is none.',
          'Declare the field as f.text({ optional: true }).',
        ]
  }
  if (marker !== 'input') return [`There is no marker ${valueInWords(marker)}.`, 'Write `now`, `caller` or `input(…)`.']
  if (!hasMember(inputs, name))
    return [`There is no input ${valueInWords(name)}.`, nameHint(name, Object.keys(inputs), 'Declare it in `input`.')]
  const source = soundField(inputs[name], context)
  if (!source || !isNarrower(boundsOf(source, context.rules), boundsOf(target, context.rules))) return undefined
  return [
    `The input \`${name}\` allows values that the field refuses.`,
    'Declare both with the same bounds, and both or none as optional.',
  ]
}
