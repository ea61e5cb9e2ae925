/** Link mistakes: links of an item that would have the same name. Part 2, resources. */
import { isObject } from '../fields/value-check.ts'
import { linkOfField, toCase } from '../formats/naming.ts'
import type { DeclaredOperations } from '../resources/own-operations.ts'
import { type DeclarationCheck, report, soundField } from './field-check.ts'
import type { UncheckedObject } from './kind-options.ts'
import { parentFieldOf, parentNameOf, type ResourceCheck } from './resource-check.ts'

/** Checks that no two links of an item have the same name. R49. */
export function checkLinks(judged: ResourceCheck, ground: DeclarationCheck): void {
  const { name, given, settings } = judged
  if (settings.resource.links !== 'all') return
  const path = ['resources', name]
  const owner = parentFieldOf(judged, ground)
  const links = new Map([['self', 'the item itself']])
  if (owner !== undefined) links.set(linkOfField(owner), 'its owner')
  const { transitions } = isObject(given.states) ? given.states : {}
  const byHand = Object.entries(isObject(transitions) ? transitions : {}).filter(
    ([, one]) => isObject(one) && one.after === undefined && one.at === undefined,
  )
  for (const [one] of byHand) links.set(toCase(one, settings.naming), `the transition \`${one}\``)
  for (const [one, { at }] of Object.entries(
    (isObject(given.operations) ? given.operations : {}) as DeclaredOperations,
  ))
    if (at === 'item') links.set(toCase(one, settings.naming), `the operation \`${one}\``)
  for (const [other, one] of Object.entries(ground.resources)) {
    if (parentNameOf(one as UncheckedObject) !== name) continue
    const link = toCase(other, settings.naming)
    links.set(link, links.get(link) ?? `the list of \`${other}\``)
  }
  for (const [field, one] of Object.entries(isObject(given.fields) ? given.fields : {})) {
    const made = soundField(one, ground)
    if (made?.kind !== 'ref' || made.options.writeOnly) continue
    const link = linkOfField(field)
    const other = links.get(link)
    if (other !== undefined)
      report(
        ground,
        [...path, 'fields', field],
        `Its link would be called \`${link}\`, as that of ${other}.`,
        'Write another name, or settings: { resource: { links: … } } without `all`.',
      )
    links.set(link, other ?? `the field \`${field}\``)
  }
}
