/** Event mistakes: what is wrong with `events`, and with names that batches and events need. Part 6. */
import { isObject, valueInWords } from '../fields/value-check.ts'
import { type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { hasMember, type UncheckedObject } from './kind-options.ts'

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
export function checkEvents(given: UncheckedObject, context: DeclarationCheck): void {
  checkSwitch(given, [], context)
  const all = Object.entries(context.resources).filter((one): one is [string, UncheckedObject] => isObject(one[1]))
  for (const [name, one] of all) checkSwitch(one, ['resources', name], context)
  const recorded = all.filter(([, one]) => (one.events ?? given.events) === true)
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
