/** Operation mistakes: the names, inputs, outputs and rules of the operations of a resource. Part 4, methods. R88. */
import { isObject, valueInWords } from '../fields/value-check.ts'
import { operationKeys, ruleSource } from '../resources/own-operations.ts'
import { type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { hasMember, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys, checkRule, parentNameOf, type ResourceCheck } from './resource-check.ts'
import { checkActionName, checkInput, checkRuleOf } from './transition-mistakes.ts'

export function checkOperations(judged: ResourceCheck, ground: DeclarationCheck): void {
  const { operations } = judged.given
  const path = ['resources', judged.name, 'operations']
  if (operations === undefined) return
  if (!isObject(operations)) {
    const mend = "Write an object, as operations: { quotes: { at: 'collection', output: { … } } }."
    report(ground, path, `\`operations\` is ${valueInWords(operations)}.`, mend)
    return
  }
  for (const [name, given] of Object.entries(operations)) {
    const at = [...path, name]
    checkActionName(at, judged, ground)
    checkTwin(at, judged, ground)
    if (isObject(given)) checkOperation(at, given, judged, ground)
    else report(ground, at, `It is ${valueInWords(given)}.`, "Write an object, as { at: 'collection', output: { … } }.")
  }
}

/** A transition has the URL of an item's operation, and its handler has the same key as that of any operation. */
function checkTwin(path: DeclarationPath, { given: { states } }: ResourceCheck, ground: DeclarationCheck): void {
  const name = path.at(-1)
  if (isObject(states) && isObject(states.transitions) && hasMember(states.transitions, name))
    report(ground, path, 'A transition has the same name.', 'Write another name for one of the two.')
}

function checkOperation(
  path: DeclarationPath,
  given: UncheckedObject,
  judged: ResourceCheck,
  ground: DeclarationCheck,
): void {
  const { asynchronous, ...rest } = given
  if (asynchronous !== undefined)
    report(ground, [...path, 'asynchronous'], '`asynchronous` is not built yet.', 'Leave it out.')
  checkKnownKeys(path, rest, operationKeys, [], ground)
  const { at, access } = given
  if (at !== 'collection' && at !== 'item')
    report(ground, [...path, 'at'], `\`at\` is ${valueInWords(at)}.`, "Write at: 'collection' or at: 'item'.")
  const owner = parentNameOf(judged.given)
  if (at === 'collection' && owner !== undefined && judged.given.key !== undefined)
    report(
      ground,
      [...path, 'at'],
      `\`${judged.name}\` have no URL of their own, only below one of \`${owner}\`.`,
      `Declare it at: 'item' of \`${owner}\`.`,
    )
  if (access === undefined) checkRuleOf(path, ruleSource(at), judged, ground)
  else checkRule([...path, 'access'], access, ground)
  for (const key of ['input', 'output']) checkInput([...path, key], given[key], ground)
}
