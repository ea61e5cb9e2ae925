/** Changed operations: mistakes in the parts of a change about operations, their inputs and outputs. Part 9, versions. */
import { report } from '../check/field-check.ts'
import { type DeclarationFault, hasMember } from '../check/kind-options.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import type { WithdrawnOperation } from '../resources/states-before.ts'
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

const operationParts = ['added', 'renamed', 'withdrawn', 'changed']

/** `checkFields` checks the parts of a change that name fields, for inputs and outputs too. */
export function checkChangedOperations(check: ChangeCheck, checkFields: (form: ChangeCheck) => void): void {
  const { change, path, own, findings } = check
  const parts = change.operations ?? {}
  const at = [...path, 'operations']
  if (!checkParts(at, parts, operationParts, findings)) return
  const all = own.operations ?? {}
  checkActionNames(check, 'operations', Object.keys(all))
  for (const [name, one] of Object.entries(parts.withdrawn ?? {})) {
    const fault = withdrawnFault(one, check)
    if (fault) report({ findings }, [...at, 'withdrawn', name], ...fault)
  }
  for (const [name, forms] of Object.entries(parts.changed ?? {})) {
    if (!checkParts([...at, 'changed', name], forms, ['input', 'output'], findings)) continue
    for (const key of ['input', 'output'] as const) {
      const fields = all[name]?.[key] ?? {}
      const form = forms[key]
      const place = [...at, 'changed', name, key]
      if (form) checkForm(place, { ...check, own: { ...own, fields } }, form, checkFields, key === 'output')
    }
  }
}

function withdrawnFault(gone: WithdrawnOperation, check: ChangeCheck): DeclarationFault | undefined {
  if (!isObject(gone)) return [`It is ${valueInWords(gone)}.`, "Write an object, as { at: 'item', refused: 410 }."]
  if (gone.at !== 'item' && gone.at !== 'collection')
    return [`\`at\` is ${valueInWords(gone.at)}.`, "Write at: 'collection' or at: 'item', as it was declared."]
  return withdrawnActionFault(gone, (by) => replacedFault({ ...gone, by }, check))
}

/** The mistake if an operation cannot be carried out as another one. */
function replacedFault(
  { by, at, input = {}, output = {}, asynchronous }: WithdrawnOperation & { readonly by: string },
  check: ChangeCheck,
): DeclarationFault | undefined {
  const all = check.own.operations ?? {}
  const other = hasMember(all, by) ? all[by] : undefined
  if (!other) return [`There is no operation ${valueInWords(by)}.`, withdrawnMend]
  if (other.at !== at || other.asynchronous !== asynchronous)
    return [
      `It was ${wayOf(at, asynchronous)}, but \`${by}\` is ${wayOf(other.at, other.asynchronous)}.`,
      'Write refused: 410.',
    ]
  const lost = unmetValues(output, other.output ?? {}, check)
  if (lost.length > 0)
    return [
      `\`${by}\` does not answer what its consumers expect: \`${lost.join('`, `')}\`.`,
      'Add this to its output, or write refused: 410.',
    ]
  return unmetInputFault(by, other.input ?? {}, input, check)
}

const wayOf = (at: string, asynchronous: true | undefined): string =>
  `${asynchronous ? 'asynchronous and ' : ''}at the ${at}`
