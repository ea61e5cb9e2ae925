/** Changed states: mistakes in what a change says of transitions, their inputs, and the states that allow writes. Part 9, versions. */
import { type DeclarationPath, report } from '../check/field-check.ts'
import { type DeclarationFault, hasMember, nameHint } from '../check/kind-options.ts'
import { boundsOf, isNarrower } from '../fields/bounds.ts'
import type { Fields } from '../fields/field.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { parentDeclarationOf, resolveConcepts } from '../resources/declaration.ts'
import { type StatesDeclaration, stateNames, type TransitionDeclaration } from '../resources/states.ts'
import {
  beginsStates,
  isFormerStates,
  oldStates,
  statesBefore,
  type WithdrawnTransition,
} from '../resources/states-before.ts'
import { type ChangeCheck, checkValueSources, isOmittable } from './value-sources.ts'

type Transitions = StatesDeclaration['transitions']

/** `checkFields` checks the parts of a change that name fields, for inputs too. */
export function checkChangedStates(scene: ChangeCheck, checkFields: (inputs: ChangeCheck) => void): void {
  const { change, path, own, found } = scene
  const parts = change.transitions ?? {}
  const at = [...path, 'transitions']
  const strange = Object.keys(parts).filter((one) => !transitionParts.includes(one))
  for (const key of strange)
    report({ found }, [...at, key], `\`${key}\` is not known here.`, nameHint(key, transitionParts))
  checkFormerAllowance(scene)
  checkFormerStates(scene)
  const states = own.states ?? (isFormerStates(change.states) ? { ...change.states, transitions: {} } : undefined)
  if (strange.length > 0 || (!states && Object.keys(parts).length === 0)) return
  const all = states?.transitions ?? {}
  checkNamesOfTransitions(scene, all)
  if (!states) return
  if (own.states) checkNewStates(scene, own.states)
  for (const [name, one] of Object.entries(parts.withdrawn ?? {})) {
    const fault = withdrawnFault(one, scene)
    if (fault) report({ found }, [...at, 'withdrawn', name], ...fault)
  }
  for (const [name, { input: inputs }] of Object.entries(parts.changed ?? {})) {
    const fields = all[name]?.input ?? {}
    if (inputs)
      checkInputs([...at, 'changed', name, 'input'], { ...scene, own: { ...own, fields } }, inputs, checkFields)
  }
  checkWritten([...at, 'written'], scene, states)
}

const transitionParts = ['added', 'renamed', 'withdrawn', 'changed', 'written']

/** Items can be in every state of the new version, so the version before needs a name for each. */
function checkNewStates({ change, path, found }: ChangeCheck, states: StatesDeclaration): void {
  const before = statesBefore(states, change, (fields) => fields)
  if (!before) return
  const old = oldStates(states, change)
  const known = stateNames(before)
  for (const state of stateNames(states).filter((one) => !known.includes(old([one])[0] as string)))
    report(
      { found },
      [...path, 'transitions'],
      `Before ${change.version} there is no state \`${state}\`, but items can be in it.`,
      `Write which state older versions see, as shown: { ${states.field}: { ${state}: '${known[0]}' } }.`,
    )
}

/** States that ended leave their field, or `removed` has it with a value for old answers. */
function checkFormerStates({ change, path, own, found }: ChangeCheck): void {
  const { states, removed = {}, renamed = {} } = change
  const refuse = (reason: string, mend: string) => report({ found }, [...path, 'states'], reason, mend)
  if (states === undefined) return
  if (own.states)
    refuse(`${change.resource} still has states.`, 'Leave it out, and name what differs in `transitions`.')
  else if (!isFormerStates(states))
    refuse(`It is ${valueInWords(states)}.`, "Write states: { field: 'status', initial: 'draft' }.")
  else if (!hasMember(own.fields, renamed[states.field] ?? states.field) && !hasMember(removed, states.field))
    refuse(`There is no field \`${states.field}\`.`, 'Declare it in `removed`, or keep it as a field.')
}

/** Named transitions must exist, and no two may have had the same name. */
function checkNamesOfTransitions({ change, path, found }: ChangeCheck, all: Transitions): void {
  const { added = [], renamed = {}, withdrawn = {}, changed = {}, written = {} } = change.transitions ?? {}
  const known = Object.keys(all)
  const named = [...added, ...Object.values(renamed), ...Object.keys(changed), ...Object.values(written)]
  for (const name of named.filter((one) => !known.includes(one)))
    report(
      { found },
      [...path, 'transitions'],
      `There is no transition ${valueInWords(name)} in ${change.version}.`,
      nameHint(name, known),
    )
  const kept = known.filter((name) => !added.includes(name) && !Object.values(renamed).includes(name))
  for (const [part, names] of Object.entries({ renamed, withdrawn }))
    for (const name of Object.keys(names).filter((one) => kept.includes(one)))
      report(
        { found },
        [...path, 'transitions', part, name],
        `Before ${change.version} there would be two transitions \`${name}\`.`,
        'Write another name, or name the other one in `added` or `renamed` too.',
      )
}

const withdrawnMend =
  "Write by: '…' with a transition that is carried out in its place, or refused: 409 or refused: 410."

/** A withdrawn transition of callers is carried out as another one, or refused: older versions never lose it silently. */
function withdrawnFault(gone: WithdrawnTransition, scene: ChangeCheck): DeclarationFault | undefined {
  if (!isObject(gone))
    return [`It is ${valueInWords(gone)}.`, "Write an object, as { from: ['open'], to: 'closed', refused: 410 }."]
  const { by, refused, after, at } = gone
  if (after !== undefined || at !== undefined) {
    const reason = 'It took place by the clock, so no request is refused or carried out.'
    return by === undefined && refused === undefined ? undefined : [reason, 'Leave out `by` and `refused`.']
  }
  if ((by === undefined) === (refused === undefined)) return ['It does not say what its requests get.', withdrawnMend]
  if (by !== undefined) return replacedFault({ ...gone, by }, scene)
  return refused === 409 || refused === 410 ? undefined : [`\`refused\` is ${valueInWords(refused)}.`, withdrawnMend]
}

/** The mistake if a transition cannot be carried out as another one. */
function replacedFault(
  { by, to, input = {} }: WithdrawnTransition & { readonly by: string },
  scene: ChangeCheck,
): DeclarationFault | undefined {
  const states = scene.own.states ?? { field: '', initial: '', transitions: {} }
  const other = callable(states, by)
  if (!other) return [`There is no transition ${valueInWords(by)} that callers carry out.`, withdrawnMend]
  const [end] = oldStates(states, scene.change)([other.to])
  if (end !== to)
    return [
      `It leads to ${to}, but \`${by}\` leads to ${end}.`,
      'Name one that leads to the same state, or write refused: 410.',
    ]
  const lost = unmetInputs(other.input ?? {}, input, scene)
  const needs = `Its requests do not give \`${by}\` what it needs: \`${lost.join('`, `')}\`.`
  return lost.length === 0 ? undefined : [needs, 'Make these inputs optional there, or write refused: 410.']
}

/** A transition that callers carry out. */
function callable({ transitions }: StatesDeclaration, name: unknown): TransitionDeclaration | undefined {
  const one = hasMember(transitions, name) ? transitions[name as string] : undefined
  return one && one.after === undefined && one.at === undefined ? one : undefined
}

/** The inputs that need a value which the given ones do not have, or not within the same bounds. */
function unmetInputs(needed: Fields, given: Fields, { around, rules }: ChangeCheck): string[] {
  const whole = (fields: Fields, name: string) => fields[name] && resolveConcepts(fields[name], around.concepts ?? {})
  return Object.keys(needed).filter((name) => {
    const [is, was] = [whole(needed, name), whole(given, name)]
    if (!is || !was) return is && !isOmittable(is, rules)
    return isNarrower(boundsOf(was, rules), boundsOf(is, rules)) || (isOmittable(was, rules) && !isOmittable(is, rules))
  })
}

/** Inputs change as the fields of items do, except that they are never answered. */
function checkInputs(
  path: DeclarationPath,
  scene: ChangeCheck,
  inputs: object,
  checkFields: (inputs: ChangeCheck) => void,
): void {
  const { version, resource, about } = scene.change
  const { states: _, derived: __, uniques: ___, ...own } = scene.own
  const sent = { ...scene, own, path, change: { version, resource, about, ...inputs } }
  checkFields(sent)
  // Nobody is answered an input, so a removed one needs no value.
  const answered = { response: () => ({}) }
  checkValueSources({ ...sent, change: { ...sent.change, ...answered } })
  const { retyped = {}, request } = sent.change as typeof scene.change
  const known = Object.fromEntries(Object.keys(retyped).map((name) => [name, own.fields[name]])) as Fields
  if (request === undefined && scene.found.length === 0)
    for (const name of unmetInputs(known, retyped, scene))
      report(
        scene,
        [...path, 'retyped', name],
        `Old values of \`${name}\` may not fit the new input.`,
        `Write request: (old) => ({ ${name}: … }).`,
      )
}

/** A state that older versions write is carried out as a transition that leads to it and needs no input. */
function checkWritten(path: DeclarationPath, scene: ChangeCheck, states: StatesDeclaration): void {
  const { change, found } = scene
  const { written = {} } = change.transitions ?? {}
  if (Object.keys(written).length > 0 && !beginsStates(states, change))
    report(
      { found },
      path,
      `Before ${change.version} nobody wrote \`${states.field}\`, as it was a state.`,
      `Leave it out, or write the field of before into \`retyped\`, as ${states.field}: f.enum(['…']).`,
    )
  for (const [value, name] of Object.entries(written)) {
    const refuse = (reason: string, mend: string) => report({ found }, [...path, value], reason, mend)
    const one = callable(states, name)
    const wanted = change.mapped?.[states.field]?.[value] ?? value
    if (!one) refuse(`\`${name}\` is not a transition that callers carry out.`, 'Name one that they do.')
    else if (unmetInputs(one.input ?? {}, {}, scene).length > 0)
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
function checkFormerAllowance({ change, path, own, found }: ChangeCheck): void {
  const isListed = (one: unknown) => one === undefined || one === null || Array.isArray(one)
  const { writable = {}, while: below } = change
  if (change.writable !== undefined && own.states?.writable === undefined)
    report({ found }, [...path, 'writable'], 'Every state allows writes now.', 'Leave it out.')
  if (below !== undefined && parentDeclarationOf(own)?.while === undefined)
    report({ found }, [...path, 'while'], 'Every state of the owner allows writes now.', 'Leave it out.')
  for (const [at, one] of Object.entries({
    'writable.change': writable.change,
    'writable.remove': writable.remove,
    while: below,
  }))
    if (!isListed(one))
      report(
        { found },
        [...path, ...at.split('.')],
        `It is ${valueInWords(one)}.`,
        "List the states, as ['draft'], or write null for all.",
      )
}
