/** State mistakes: the states of a resource, the writes that they allow, and the states that writes of children need. Part 3. */
import { isObject, valueInWords } from '../fields/value-check.ts'
import { listInWords } from '../formats/naming.ts'
import { stateField } from '../resources/service-fields.ts'
import { type StatesDeclaration, stateNames, statesKeys } from '../resources/states.ts'
import { checkFieldName, type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys, checkText, parentNameOf, type ResourceCheck, serviceNames } from './resource-check.ts'
import { checkStateName, checkTransitions, isStateName } from './transition-mistakes.ts'

/**
 * Checks the states of all resources. Returns the resources with the fields of their states, which the other checks
 * treat like declared ones. A mistake elsewhere in the states leaves the field, so that no other check misses it.
 */
export function checkStates(context: DeclarationCheck): UncheckedObject {
  const sound = Object.entries(context.resources).map(([name, given]) => {
    if (!isObject(given) || given.states === undefined) return [name, given] as const
    const before = context.findings.length
    checkOwnStates({ name, given, settings: context.settings }, context)
    const found = context.findings.slice(before)
    if (found.length === 0) return [name, withField(given, given.states as StatesDeclaration)] as const
    return [name, found.some(({ path }) => path[3] === 'field') ? given : withNamedStates(given)] as const
  })
  return Object.fromEntries(sound)
}

const withField = (given: UncheckedObject, states: StatesDeclaration): UncheckedObject => ({
  ...given,
  fields: { ...(given.fields as UncheckedObject), [states.field]: stateField(states) },
})

/** Adds the field of the states, with those states that have valid names, to a resource whose states have mistakes. */
function withNamedStates(given: UncheckedObject): UncheckedObject {
  const { field, initial, transitions } = isObject(given.states) ? given.states : {}
  const all = isObject(transitions) ? Object.values(transitions).filter(isObject) : []
  const states = [initial, ...all.flatMap(({ from, to }) => [...(Array.isArray(from) ? from : []), to])]
  const [first, ...others] = [...new Set(states.filter(isStateName))]
  if (typeof field !== 'string' || first === undefined) return given
  return withField(given, { field, initial: first, transitions: { named: { from: others, to: first } } })
}

function checkOwnStates(judged: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', judged.name, 'states']
  const { states } = judged.given
  if (!isObject(states)) {
    const mend = "Write an object, as states: { field: 'status', initial: 'open', transitions: { … } }."
    report(context, path, `\`states\` is ${valueInWords(states)}.`, mend)
    return
  }
  checkKnownKeys(path, states, statesKeys, [], context)
  checkStateField([...path, 'field'], states.field, judged, context)
  checkStateName([...path, 'initial'], states.initial, context)
  checkTransitions([...path, 'transitions'], judged, context)
  checkWritable([...path, 'writable'], states, context)
  for (const key of ['titles', 'descriptions'] as const) checkStateTexts([...path, key], states, context)
}

/** Checks the titles or the descriptions of the states. */
function checkStateTexts(path: DeclarationPath, states: UncheckedObject, context: DeclarationCheck): void {
  const name = path.at(-1) as string
  const texts = states[name] ?? {}
  if (!isObject(texts)) {
    const mend = `Write an object, as ${name}: { ${states.initial}: '…' }.`
    report(context, path, `\`${name}\` is ${valueInWords(texts)}.`, mend)
    return
  }
  const names = soundStates(states)
  if (names !== null) checkKnownKeys(path, texts, names, [], context)
  for (const [state, text] of Object.entries(texts)) checkText([...path, state], text, context)
}

function checkStateField(path: DeclarationPath, name: unknown, judged: ResourceCheck, context: DeclarationCheck): void {
  const fields = isObject(judged.given.fields) ? judged.given.fields : {}
  if (typeof name !== 'string') {
    report(context, path, `\`field\` is ${valueInWords(name)}.`, "Write the name of the field, as field: 'status'.")
    return
  }
  const use = serviceNames(judged, context).get(name)
  if (use) report(context, path, use, 'Write another name.')
  if (hasMember(fields, name))
    report(
      context,
      path,
      `\`fields\` declares \`${name}\` too; \`states\` adds the field itself.`,
      `Leave \`${name}\` out of \`fields\`.`,
    )
  const before = context.findings.length
  checkFieldName([...path, name], context)
  context.findings.splice(before, Infinity, ...context.findings.slice(before).map((one) => ({ ...one, path })))
}

function checkWritable(path: DeclarationPath, declared: UncheckedObject, context: DeclarationCheck): void {
  const { writable } = declared
  const states = soundStates(declared)
  if (writable === undefined || states === null) return
  if (!isObject(writable)) {
    report(context, path, `\`writable\` is ${valueInWords(writable)}.`, "Write writable: { change: ['draft'] }.")
    return
  }
  checkKnownKeys(path, writable, ['change', 'remove'], [], context)
  for (const key of ['change', 'remove'])
    if (writable[key] !== undefined) checkStateList([...path, key], writable[key], states, context)
}

/** Checks a list of states of a machine; it may be empty. */
function checkStateList(
  path: DeclarationPath,
  listed: unknown,
  states: readonly string[],
  context: DeclarationCheck,
): void {
  if (!Array.isArray(listed)) {
    report(context, path, `It is ${valueInWords(listed)}.`, `List the states, as ['${states[0]}'].`)
    return
  }
  for (const state of listed.filter((one) => !states.includes(one)))
    report(context, path, `There is no state ${valueInWords(state)}.`, nameHint(state, states))
}

/** Checks the states of the parent in which children can be written. */
export function checkParentStates({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const path = ['resources', name, 'parent', 'while']
  const { parent } = given
  if (!isObject(parent) || parent.while === undefined) return
  const above = parentNameOf(given)
  const owner = hasMember(context.resources, above) ? context.resources[above] : undefined
  if (!isObject(owner)) return // reported already
  if (owner.states === undefined) {
    report(
      context,
      path,
      `\`${above}\` declares no \`states\`.`,
      `Leave \`while\` out, or declare the states of \`${above}\`.`,
    )
    return
  }
  const states = soundStates(owner.states)
  if (states) checkStateList(path, parent.while, states, context)
}

/** The states of a valid declaration; null if its mistakes are reported already. */
function soundStates(states: unknown): readonly string[] | null {
  const { initial, transitions } = isObject(states) ? states : {}
  const all = isObject(transitions) ? Object.values(transitions) : []
  const sound = all.every((one) => isObject(one) && Array.isArray(one.from) && typeof one.to === 'string')
  return typeof initial === 'string' && sound ? stateNames(states as StatesDeclaration) : null
}

/** Warnings about states that cannot be reached from the initial one, and about states without a transition out. */
export function stateWarnings(name: string, states: StatesDeclaration): string[] {
  const { initial, transitions, entered } = states
  if (entered) return [] // the engine enters these states
  const all = Object.values(transitions)
  const reached = new Set([initial])
  for (const state of reached) for (const { from, to } of all) if (from.includes(state)) reached.add(to)
  const lost = stateNames(states).filter((one) => !reached.has(one))
  const ends = stateNames(states).filter((one) => !all.some(({ from }) => from.includes(one)))
  return [
    ...(lost.length > 0 ? [`${name}: no transition leads to ${listInWords(lost, 'and')} from ${initial}.`] : []),
    ...(ends.length > 0 ? [`${name}: no transition leads out of ${listInWords(ends, 'and')}.`] : []),
  ]
}
