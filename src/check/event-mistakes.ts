/** Event mistakes: what is wrong with `events` and `history`, and with names that batches and events need. Part 6. R237. */
import { isObject, valueInWords } from '../fields/value-check.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import { historyKeys, revisionSegment } from '../resources/own-operations.ts'
import { type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { hasMember, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys, checkRule, parentNameOf, type ResourceCheck } from './resource-check.ts'

/** Batches have a URL of their own. */
export function checkBatches(context: DeclarationCheck): void {
  if (context.settings.batches !== null) reserveName(context, 'batches', 'leave out `batches` of the settings')
}

function reserveName(context: DeclarationCheck, name: string, otherwise: string): void {
  if (!hasMember(context.resources, name)) return
  const reason = `\`/${name}\` is the URL of ${name}, but a resource has it.`
  report(context, ['resources', name], reason, `Give the resource another name, or ${otherwise}.`)
}

/** Events have a URL of their own, and types that begin with the name of their resource. */
export function checkEvents(declaration: UncheckedObject, context: DeclarationCheck): void {
  checkSwitch(declaration, [], context)
  const all = Object.entries(context.resources).filter((one): one is [string, UncheckedObject] => isObject(one[1]))
  for (const [name, one] of all) checkSwitch(one, ['resources', name], context)
  const recorded = all.filter(([, one]) => (one.events ?? declaration.events) === true)
  if (recorded.length > 0) reserveName(context, 'events', 'leave out `events`')
  if (recorded.length > 0 && context.settings.events.webhooks)
    for (const name of ['webhook-endpoints', 'webhook-deliveries'])
      reserveName(context, name, 'leave out `events.webhooks` of the settings')
  if (recorded.length > 0 && context.settings.events.reactions)
    reserveName(context, 'reactions', 'leave out `events.reactions` of the settings')
  if (recorded.length === 0 && context.settings.events.publish !== null)
    report(
      context,
      ['settings', 'events', 'publish'],
      'No resource has events, so nothing would be published.',
      'Write events: true, or leave out `events.publish`.',
    )
  for (const [name, { states }] of recorded) {
    const transitions = isObject(states) && isObject(states.transitions) ? Object.entries(states.transitions) : []
    for (const [transition, one] of transitions)
      if (isObject(one) && plainActions.includes(one.to as string))
        report(
          context,
          ['resources', name, 'states', 'transitions', transition, 'to'],
          `The event of a transition to \`${one.to}\` would have the type of another change.`,
          'Give the state another name, or write events: false.',
        )
  }
}

/** The actions of changes that are no transitions. */
const plainActions: readonly string[] = ['created', 'updated', 'deleted']

function checkSwitch({ events }: UncheckedObject, path: DeclarationPath, context: DeclarationCheck): void {
  if (events === undefined || typeof events === 'boolean') return
  report(context, [...path, 'events'], `\`events\` is ${valueInWords(events)}.`, 'Write events: true or events: false.')
}

/** Revisions have a URL below their item. R237. */
export function checkHistory({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const { history, operations, states } = given
  const path = ['resources', name, 'history']
  if (history === undefined) return
  if (!isObject(history))
    return void report(
      context,
      path,
      `\`history\` is ${valueInWords(history)}.`,
      "Write who may read revisions, as history: { read: 'authenticated' }.",
    )
  checkKnownKeys(path, history, historyKeys, [], context)
  checkRule([...path, 'read'], history.read, context)
  checkRetention([...path, 'retention'], history.retention, context)
  for (const [what, all] of Object.entries({
    operation: operations,
    transition: isObject(states) && states.transitions,
  }))
    if (isObject(all) && hasMember(all, revisionSegment))
      refuseTwin(path, `${what === 'operation' ? 'an' : 'a'} ${what} is called`, what, context)
  const below = context.resources[revisionSegment]
  if (isObject(below) && parentNameOf(below) === name)
    refuseTwin(path, 'a resource below it is called', 'resource', context)
}

const refuseTwin = (path: DeclarationPath, says: string, what: string, context: DeclarationCheck): void =>
  report(
    context,
    path,
    `The URL of revisions ends in \`${revisionSegment}\`, but ${says} so.`,
    `Give the ${what} another name, or leave out \`history\`.`,
  )

function checkRetention(path: DeclarationPath, retention: unknown, context: DeclarationCheck): void {
  if (
    retention === undefined ||
    retention === 'forever' ||
    (typeof retention === 'string' && (durationMilliseconds(retention) ?? 0) > 0)
  )
    return
  report(
    context,
    path,
    `\`retention\` is ${valueInWords(retention)}.`,
    "Write an ISO 8601 duration of weeks, days, hours, minutes and seconds, as retention: 'P730D', or 'forever'.",
  )
}
