/** Changed states: mistakes in the parts of a change about transitions, their inputs, and the states that allow writes. Part 9, versions. */
import { type DeclarationPath, report } from '../check/field-check.ts'
import { type DeclarationFault, hasMember } from '../check/kind-options.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { parentDeclarationOf } from '../resources/declaration.ts'
import { type StatesDeclaration, stateNames, type TransitionDeclaration } from '../resources/states.ts'
import {
  beginsStates,
  isFormerStates,
  oldStates,
  statesBefore,
  type WithdrawnTransition,
} from '../resources/states-before.ts'
import {
  checkActionNames,
  checkForm,
  checkParts,
  unmetInputFault,
  unmetValues,
  withdrawnActionFault,
  withdrawnMend,
} from './changed-actions.ts'
import type { ChangeCheck } from './value-sources.ts'

/** `checkFields` checks the parts of a change that name fields, for inputs too. */
export function checkChangedStates(check: ChangeCheck, checkFields: (inputs: ChangeCheck) => void): void {
  const { change, path, own, findings } = check
  const parts = change.transitions ?? {}
  const at = [...path, 'transitions']
  const isKnown = checkParts(at, parts, transitionParts, findings)
  checkFormerAllowance(check)
  checkFormerStates(check)
  const states = own.states ?? (isFormerStates(change.states) ? { ...change.states, transitions: {} } : undefined)
  if (!isKnown || (!states && Object.keys(parts).length === 0)) return
  const all = states?.transitions ?? {}
  checkActionNames(check, 'transitions', Object.keys(all))
  if (!states) return
  if (own.states) checkNewStates(check, own.states)
  for (const [name, one] of Object.entries(parts.withdrawn ?? {})) {
    const fault = withdrawnFault(one, check)
    if (fault) report({ findings }, [...at, 'withdrawn', name], ...fault)
  }
  for (const [name, { input: inputs }] of Object.entries(parts.changed ?? {})) {
    const fields = all[name]?.input ?? {}
    if (inputs) checkForm([...at, 'changed', name, 'input'], { ...check, own: { ...own, fields } }, inputs, checkFields)
  }
  checkWritten([...at, 'written'], check, states)
}

const transitionParts = ['added', 'renamed', 'withdrawn', 'changed', 'written']

/** Items can be in every state of the new version, so the version before needs a name for each. */
function checkNewStates({ change, path, findings }: ChangeCheck, states: StatesDeclaration): void {
  const before = statesBefore(states, change, (fields) => fields)
  if (!before) return
  const old = oldStates(states, change)
  const formerStates = stateNames(before)
  for (const state of stateNames(states).filter((one) => !formerStates.includes(old([one])[0] as string)))
    report(
      { findings },
      [...path, 'transitions'],
      `Before ${change.version} there is no state \`${state}\`, but items can be in it.`,
      `Write which state older versions see, as shown: { ${states.field}: { ${state}: '${formerStates[0]}' } }.`,
    )
}

/** If a version ends the states, it keeps their field, or `removed` has the field with a value for old answers. */
function checkFormerStates({ change, path, own, findings }: ChangeCheck): void {
  const { states, removed = {}, renamed = {} } = change
  const refuse = (reason: string, mend: string) => report({ findings }, [...path, 'states'], reason, mend)
  if (states === undefined) return
  if (own.states)
    refuse(`${change.resource} still has states.`, 'Leave it out, and name what differs in `transitions`.')
  else if (!isFormerStates(states))
    refuse(`It is ${valueInWords(states)}.`, "Write states: { field: 'status', initial: 'draft' }.")
  else if (!hasMember(own.fields, renamed[states.field] ?? states.field) && !hasMember(removed, states.field))
    refuse(`There is no field \`${states.field}\`.`, 'Declare it in `removed`, or keep it as a field.')
}

/** A withdrawn transition of callers is carried out as another one, or refused: older versions never lose it silently. */
function withdrawnFault(gone: WithdrawnTransition, check: ChangeCheck): DeclarationFault | undefined {
  if (!isObject(gone))
    return [`It is ${valueInWords(gone)}.`, "Write an object, as { from: ['open'], to: 'closed', refused: 410 }."]
  const { by, refused, after, at } = gone
  if (after !== undefined || at !== undefined) {
    const reason = 'It took place by the clock, so no request is refused or carried out.'
    return by === undefined && refused === undefined ? undefined : [reason, 'Leave out `by` and `refused`.']
  }
  return withdrawnActionFault(gone, (by) => replacedFault({ ...gone, by }, check))
}

/** The mistake if a transition cannot be carried out as another one. */
function replacedFault(
  { by, to, input = {} }: WithdrawnTransition & { readonly by: string },
  check: ChangeCheck,
): DeclarationFault | undefined {
  const states = check.own.states ?? { field: '', initial: '', transitions: {} }
  const other = callable(states, by)
  if (!other) return [`There is no transition ${valueInWords(by)} that callers carry out.`, withdrawnMend]
  const [end] = oldStates(states, check.change)([other.to])
  if (end !== to)
    return [
      `It leads to ${to}, but \`${by}\` leads to ${end}.`,
      'Name one that leads to the same state, or write refused: 410.',
    ]
  return unmetInputFault(by, other.input ?? {}, input, check)
}

/** A transition that callers carry out. */
function callable({ transitions }: StatesDeclaration, name: unknown): TransitionDeclaration | undefined {
  const one = hasMember(transitions, name) ? transitions[name as string] : undefined
  return one && one.after === undefined && one.at === undefined ? one : undefined
}

/** Checks the transition for each state that older versions write: it must lead to the state and need no input. */
function checkWritten(path: DeclarationPath, check: ChangeCheck, states: StatesDeclaration): void {
  const { change, findings } = check
  const { written = {} } = change.transitions ?? {}
  if (Object.keys(written).length > 0 && !beginsStates(states, change))
    report(
      { findings },
      path,
      `Before ${change.version} nobody wrote \`${states.field}\`, as it was a state.`,
      `Leave it out, or write the former field into \`retyped\`, as ${states.field}: f.enum(['…']).`,
    )
  for (const [value, name] of Object.entries(written)) {
    const refuse = (reason: string, mend: string) => report({ findings }, [...path, value], reason, mend)
    const one = callable(states, name)
    const wanted = change.mapped?.[states.field]?.[value] ?? value
    if (!one) refuse(`\`${name}\` is not a transition that callers carry out.`, 'Name one that they do.')
    else if (unmetValues(one.input ?? {}, {}, check).length > 0)
      refuse(
        `\`${name}\` needs input, which no write of a value has.`,
        'Leave the value out: then writing it is refused with 409.',
      )
    else if (one.to !== wanted && !change.request)
      refuse(
        `\`${name}\` leads to ${one.to} and not to ${wanted}.`,
        `Name a transition that leads to ${wanted}, or say in \`mapped\` what ${value} is called now.`,
      )
  }
}

/** Checks the lists of states that allowed writes before a change. */
function checkFormerAllowance({ change, path, own, findings }: ChangeCheck): void {
  const isListed = (one: unknown) => one === undefined || one === null || Array.isArray(one)
  const { writable = {}, while: below } = change
  if (change.writable !== undefined && own.states?.writable === undefined)
    report({ findings }, [...path, 'writable'], 'Every state allows writes now.', 'Leave it out.')
  if (below !== undefined && parentDeclarationOf(own)?.while === undefined)
    report({ findings }, [...path, 'while'], 'Every state of the owner allows writes now.', 'Leave it out.')
  for (const [at, one] of Object.entries({
    'writable.change': writable.change,
    'writable.remove': writable.remove,
    while: below,
  }))
    if (!isListed(one))
      report(
        { findings },
        [...path, ...at.split('.')],
        `It is ${valueInWords(one)}.`,
        "List the states, as ['draft'], or write null for all.",
      )
}
