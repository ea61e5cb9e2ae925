/** Changed actions: mistakes in the parts of a change about transitions or operations, which both share. Part 9, versions. */
import { type DeclarationPath, report } from '../check/field-check.ts'
import { type DeclarationFault, nameHint } from '../check/kind-options.ts'
import { boundsOf, isNarrower } from '../fields/bounds.ts'
import type { Fields } from '../fields/field.ts'
import { valueInWords } from '../fields/value-check.ts'
import { resolveConcepts } from '../resources/declaration.ts'
import type { ChangedActions, ChangedTransitions, WithdrawnAction } from '../resources/states-before.ts'
import { type ChangeCheck, checkValueSources, isOmittable } from './value-sources.ts'

/** Reports unknown parts; returns whether there are none. */
export function checkParts(
  path: DeclarationPath,
  parts: object,
  known: readonly string[],
  findings: ChangeCheck['findings'],
): boolean {
  const strange = Object.keys(parts).filter((one) => !known.includes(one))
  for (const key of strange) report({ findings }, [...path, key], `\`${key}\` is not known here.`, nameHint(key, known))
  return strange.length === 0
}

type Kind = 'transitions' | 'operations'

/** Named actions must exist, and no two may have had the same name. */
export function checkActionNames({ change, path, findings }: ChangeCheck, kind: Kind, known: readonly string[]): void {
  const parts: ChangedActions & Pick<ChangedTransitions, 'written'> = change[kind] ?? {}
  const { added = [], renamed = {}, withdrawn = {}, changed = {}, written = {} } = parts
  const named = [...added, ...Object.values(renamed), ...Object.keys(changed), ...Object.values(written)]
  for (const name of named.filter((one) => !known.includes(one)))
    report(
      { findings },
      [...path, kind],
      `There is no ${kind.slice(0, -1)} ${valueInWords(name)} in ${change.version}.`,
      nameHint(name, known),
    )
  const kept = known.filter((name) => !added.includes(name) && !Object.values(renamed).includes(name))
  for (const [part, names] of Object.entries({ renamed, withdrawn }))
    for (const name of Object.keys(names).filter((one) => kept.includes(one)))
      report(
        { findings },
        [...path, kind, part, name],
        `Before ${change.version} there would be two ${kind} \`${name}\`.`,
        'Write another name, or name the other one in `added` or `renamed` too.',
      )
}

export const withdrawnMend =
  "Write by: '…' with another one that is carried out in its place, or refused: 409 or refused: 410."

/** A withdrawn action of callers is carried out as another one, or refused: older versions never lose it silently. */
export function withdrawnActionFault(
  { by, refused }: WithdrawnAction,
  replacedFault: (by: string) => DeclarationFault | undefined,
): DeclarationFault | undefined {
  if ((by === undefined) === (refused === undefined)) return ['It does not say what its requests get.', withdrawnMend]
  if (by !== undefined) return replacedFault(by)
  return refused === 409 || refused === 410 ? undefined : [`\`refused\` is ${valueInWords(refused)}.`, withdrawnMend]
}

/** The needed fields whose values the available ones do not provide, or not within the same bounds. */
export function unmetValues(needed: Fields, available: Fields, { declaration, rules }: ChangeCheck): string[] {
  const resolve = (fields: Fields, name: string) =>
    fields[name] && resolveConcepts(fields[name], declaration.concepts ?? {})
  return Object.keys(needed).filter((name) => {
    const [is, was] = [resolve(needed, name), resolve(available, name)]
    if (!is || !was) return is && !isOmittable(is, rules)
    return isNarrower(boundsOf(was, rules), boundsOf(is, rules)) || (isOmittable(was, rules) && !isOmittable(is, rules))
  })
}

/** The mistake if requests cannot be carried out as those of another action. */
export function unmetInputFault(
  by: string,
  needed: Fields,
  available: Fields,
  check: ChangeCheck,
): DeclarationFault | undefined {
  const lost = unmetValues(needed, available, check)
  const needs = `Its requests do not give \`${by}\` what it needs: \`${lost.join('`, `')}\`.`
  return lost.length === 0 ? undefined : [needs, 'Make these inputs optional there, or write refused: 410.']
}

/** Checks changed inputs and outputs like fields of items, except that inputs are never answered and outputs never sent. */
export function checkForm(
  path: DeclarationPath,
  check: ChangeCheck,
  form: object,
  checkFields: (form: ChangeCheck) => void,
  isOutput = false,
): void {
  const { version, resource, about } = check.change
  const { states: _, derived: __, uniques: ___, ...own } = check.own
  const sent = { ...check, own, path, change: { version, resource, about, ...form } }
  checkFields(sent)
  // Inputs are never answered and outputs never sent, so this direction needs no values.
  const oneWay = isOutput ? { request: () => ({}) } : { response: () => ({}) }
  checkValueSources({ ...sent, change: { ...sent.change, ...oneWay } })
  const { retyped = {}, request, response } = sent.change as typeof check.change
  const retypedFields = Object.fromEntries(Object.keys(retyped).map((name) => [name, own.fields[name]])) as Fields
  if ((isOutput ? response : request) !== undefined || check.findings.length > 0) return
  const [needed, available, way] = isOutput
    ? [retyped, retypedFields, 'response: (now)']
    : [retypedFields, retyped, 'request: (old)']
  for (const name of unmetValues(needed, available, check))
    report(
      check,
      [...path, 'retyped', name],
      isOutput
        ? `Values of \`${name}\` may not fit the old output.`
        : `Old values of \`${name}\` may not fit the new input.`,
      `Write ${way} => ({ ${name}: … }).`,
    )
}
