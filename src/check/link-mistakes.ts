/** Link mistakes: links of an item that would have the same name. Part 2, resources. */
import { isObject } from '../fields/value-check.ts'
import { linkOfField, toCase } from '../formats/naming.ts'
import type { DeclaredOperations } from '../resources/own-operations.ts'
import { type DeclarationCheck, type DeclarationPath, report, soundField } from './field-check.ts'
import type { UncheckedObject } from './kind-options.ts'
import { parentFieldOf, parentNameOf, type ResourceCheck } from './resource-check.ts'

/** Checks that no two links of an item have the same name. R49. */
export function checkLinks(judged: ResourceCheck, context: DeclarationCheck): void {
  const { name, given, settings } = judged
  if (settings.resource.links !== 'all') return
  const path = ['resources', name]
  const owner = parentFieldOf(judged, context)
  const links = new Map([['self', 'the item itself']])
  const claim = (at: DeclarationPath, link: string, says: string, isReported = false) => {
    const other = links.get(link)
    links.set(link, other ?? says)
    if (other === undefined || isReported) return
    const reason = `Its link would be called \`${link}\`, as that of ${other}.`
    report(context, at, reason, 'Write another name, or settings: { resource: { links: … } } without `all`.')
  }
  if (owner !== undefined) claim([...path, 'parent'], linkOfField(owner), 'its owner')
  const { transitions } = isObject(given.states) ? given.states : {}
  const byHand = Object.entries(isObject(transitions) ? transitions : {}).filter(
    ([, one]) => isObject(one) && one.after === undefined && one.at === undefined,
  )
  for (const [one] of byHand)
    claim([...path, 'states', 'transitions', one], toCase(one, settings.naming), `the transition \`${one}\``)
  const operations = (isObject(given.operations) ? given.operations : {}) as DeclaredOperations
  for (const [one, { at }] of Object.entries(operations))
    if (at === 'item') claim([...path, 'operations', one], toCase(one, settings.naming), `the operation \`${one}\``)
  for (const [other, one] of Object.entries(context.resources)) {
    if (parentNameOf(one as UncheckedObject) !== name) continue
    // A list and a transition of one name have the same URL, which is reported elsewhere.
    const isReported = byHand.some(([name]) => name === other)
    claim(['resources', other], toCase(other, settings.naming), `the list of \`${other}\``, isReported)
  }
  for (const [field, one] of Object.entries(isObject(given.fields) ? given.fields : {})) {
    const made = soundField(one, context)
    if (made?.kind === 'ref' && !made.options.writeOnly)
      claim([...path, 'fields', field], linkOfField(field), `the field \`${field}\``)
  }
}
