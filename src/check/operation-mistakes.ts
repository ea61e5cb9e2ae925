/** Operation mistakes: the names, inputs, outputs and rules of the operations of a resource, and their schedules. R88, R228. */
import { absentValue, isObject, valueInWords } from '../fields/value-check.ts'
import { nextTime } from '../formats/calendar.ts'
import { toKebab } from '../formats/naming.ts'
import { operationKeys, revisionSegment, ruleSource, scheduleKeys } from '../resources/own-operations.ts'
import { statusResource } from '../resources/service-fields.ts'
import { type DeclarationCheck, type DeclarationPath, isField, report, soundField } from './field-check.ts'
import { hasMember, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys, checkRule, parentNameOf, type ResourceCheck } from './resource-check.ts'
import { checkActionName, checkInput, checkInputExample, checkRuleOf } from './transition-mistakes.ts'

export function checkOperations(judged: ResourceCheck, context: DeclarationCheck): void {
  const { operations } = judged.given
  const path = ['resources', judged.name, 'operations']
  if (operations === undefined) return
  if (!isObject(operations)) {
    const mend = "Write an object, as operations: { quotes: { at: 'collection', output: { … } } }."
    report(context, path, `\`operations\` is ${valueInWords(operations)}.`, mend)
    return
  }
  for (const [name, operation] of Object.entries(operations)) {
    const at = [...path, name]
    checkActionName(at, judged, context)
    checkTwin(at, judged, context)
    if (isObject(operation)) checkOperation(at, operation, judged, context)
    else
      report(
        context,
        at,
        `It is ${valueInWords(operation)}.`,
        "Write an object, as { at: 'collection', output: { … } }.",
      )
  }
}

/** Checks that each file has a URL of its own below its item, and that it can be uploaded. */
export function checkFiles({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const { fields, states, operations, methods, history } = given
  const files = Object.entries(isObject(fields) ? fields : {}).filter(
    ([, own]) => soundField(own, context)?.kind === 'file',
  )
  if (files.length === 0) return
  const taken = new Map<string, string>()
  const transitions = isObject(states) && isObject(states.transitions) ? Object.keys(states.transitions) : []
  for (const one of transitions) taken.set(one, `the transition \`${one}\``)
  for (const [one, own] of Object.entries(isObject(operations) ? operations : {}))
    if (isObject(own) && own.at === 'item') taken.set(one, `the operation \`${one}\``)
  for (const [one, own] of Object.entries(context.resources))
    if (isObject(own) && parentNameOf(own) === name && !hasMember(context.pairs, one))
      taken.set(one, `the list of \`${one}\``)
  if (history !== undefined) taken.set(revisionSegment, 'the revisions of the item')
  for (const [field] of files) {
    const path = ['resources', name, 'fields', field]
    const [segment, other] = [toKebab(field), taken.get(toKebab(field))]
    if (other) report(context, path, `Its content would have the URL …/${segment}, as ${other}.`, 'Write another name.')
    taken.set(segment, `the file \`${field}\``)
    if (Array.isArray(methods) && !methods.includes('change'))
      report(context, path, 'No client could upload the file.', "Add 'change' to `methods`, or leave the field out.")
  }
}

/** A declaration must not have a resource with the name of the statuses, which the service adds. */
function checkAsynchronous(path: DeclarationPath, value: unknown, context: DeclarationCheck): void {
  if (value !== true)
    report(context, path, `\`asynchronous\` is ${valueInWords(value)}.`, 'Write true, or leave it out.')
  else if (hasMember(context.resources, statusResource))
    report(
      context,
      path,
      `The statuses of asynchronous operations are the resource \`${statusResource}\`, but it is declared.`,
      'Give that resource another name.',
    )
}

export function checkSchedules({ given, name }: ResourceCheck, context: DeclarationCheck): void {
  const { schedules } = given
  const path = ['resources', name, 'schedules']
  if (schedules === undefined) return
  if (!isObject(schedules)) {
    const mend = "Write an object, as schedules: { nightly: { cron: '0 2 * * *', run: 'exports' } }."
    return void report(context, path, `\`schedules\` is ${valueInWords(schedules)}.`, mend)
  }
  for (const [own, schedule] of Object.entries(schedules)) {
    const at = [...path, own]
    if (isObject(schedule)) checkSchedule(at, schedule, given.operations, context)
    else
      report(
        context,
        at,
        `It is ${valueInWords(schedule)}.`,
        "Write an object, as { cron: '0 2 * * *', run: 'exports' }.",
      )
  }
}

function checkSchedule(
  path: DeclarationPath,
  schedule: UncheckedObject,
  operations: unknown,
  context: DeclarationCheck,
): void {
  checkKnownKeys(path, schedule, scheduleKeys, [], context)
  const { cron, zone = 'UTC', run } = schedule
  const reason = calendarFault(cron, zone)
  if (reason !== null)
    report(context, path, reason, "Write five parts and a time zone, as cron: '0 2 * * *', zone: 'Europe/Rome'.")
  const operation = isObject(operations) && hasMember(operations, run) ? operations[String(run)] : undefined
  if (!isObject(operation) || operation.asynchronous !== true || operation.at !== 'collection')
    report(
      context,
      [...path, 'run'],
      `\`run\` is ${valueInWords(run)}, which is no asynchronous operation of the collection.`,
      "Declare it, as operations: { exports: { at: 'collection', asynchronous: true } }.",
    )
  else if (
    isObject(operation.input) &&
    Object.values(operation.input).some(
      (field) => isField(field, context.rules) && absentValue(field, context.rules) === undefined,
    )
  )
    report(context, [...path, 'run'], 'The operation needs input, and a schedule has none.', 'Make its input optional.')
}

function isTimeZone(timeZone: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone }))
  } catch {
    return false
  }
}

function calendarFault(cron: unknown, zone: unknown): string | null {
  if (typeof cron !== 'string') return `\`cron\` is ${valueInWords(cron)}.`
  if (typeof zone !== 'string') return `\`zone\` is ${valueInWords(zone)}.`
  if (!isTimeZone(zone)) return `There is no time zone ${valueInWords(zone)}.`
  try {
    nextTime({ cron, zone }, 0)
    return null
  } catch (error) {
    return `The calendar ${valueInWords(cron)} is not valid: ${(error as Error).message}`
  }
}

/** Refuses an operation with the name of a transition: their handlers have the same key, and on items both have the same URL. */
function checkTwin(path: DeclarationPath, { given: { states } }: ResourceCheck, context: DeclarationCheck): void {
  const name = path.at(-1)
  if (isObject(states) && isObject(states.transitions) && hasMember(states.transitions, name))
    report(context, path, 'A transition has the same name.', 'Write another name for one of the two.')
}

function checkOperation(
  path: DeclarationPath,
  operation: UncheckedObject,
  judged: ResourceCheck,
  context: DeclarationCheck,
): void {
  checkKnownKeys(path, operation, operationKeys, [], context)
  const { at, access, asynchronous } = operation
  if (asynchronous !== undefined) checkAsynchronous([...path, 'asynchronous'], asynchronous, context)
  if (at !== 'collection' && at !== 'item')
    report(context, [...path, 'at'], `\`at\` is ${valueInWords(at)}.`, "Write at: 'collection' or at: 'item'.")
  const owner = parentNameOf(judged.given)
  if (at === 'collection' && owner !== undefined && judged.given.key !== undefined)
    report(
      context,
      [...path, 'at'],
      `\`${judged.name}\` have no URL of their own, only below one of \`${owner}\`.`,
      `Declare it at: 'item' of \`${owner}\`.`,
    )
  if (access === undefined) checkRuleOf(path, ruleSource(at), judged, context)
  else checkRule([...path, 'access'], access, context)
  for (const key of ['input', 'output']) checkInput([...path, key], operation[key], context)
  checkInputExample(path, operation, context)
}
