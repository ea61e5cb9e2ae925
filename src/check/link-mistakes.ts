/** Link mistakes: links of an item that would have the same name, and names that cannot be embedded. Part 2, resources. */
import type { Field } from '../fields/field.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { linkOfField, toCase } from '../formats/naming.ts'
import type { Operation, ResourceDeclaration } from '../resources/declaration.ts'
import { type DeclaredOperations, revisionSegment } from '../resources/own-operations.ts'
import { type RelatedResource, type Relation, relatedResources, relationsOf } from '../resources/references.ts'
import { type DeclarationCheck, type DeclarationPath, report, soundField } from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
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
  if (given.history !== undefined) links.set(revisionSegment, 'the revisions of the item')
  for (const [field, one] of Object.entries(isObject(given.fields) ? given.fields : {})) {
    const made = soundField(one, context)
    if (made?.kind === 'ref' && !made.options.writeOnly)
      claim([...path, 'fields', field], linkOfField(field), `the field \`${field}\``)
  }
}

/** Checks the names that a resource declares as embeddable. R232. */
export function checkEmbed({ name, given }: ResourceCheck, context: DeclarationCheck): void {
  const { embed } = given
  if (embed === undefined) return
  const path = ['resources', name, 'embed']
  const isList = Array.isArray(embed) && embed.length > 0 && embed.every((one) => typeof one === 'string')
  if (embed !== true && !isList) {
    const mend = "Write true, or names as embed: ['customer', 'lines.product'], or leave it out."
    report(context, path, `\`embed\` is ${valueInWords(embed)}.`, mend)
    return
  }
  const all = soundRelations(context)
  if (embed === true) reportSameName(path, relationsOf(name, all, context.settings.naming), context)
  const names = embed === true ? [] : (embed as string[])
  for (const [i, one] of names.entries()) {
    if (names.indexOf(one) < i) report(context, path, `\`${one}\` is there twice.`, 'Leave one of them out.')
    else checkEmbedName(path, one, { name, all }, context)
  }
}

function checkEmbedName(
  path: DeclarationPath,
  embed: string,
  { name, all }: { readonly name: string; readonly all: ReadonlyMap<string, RelatedResource> },
  context: DeclarationCheck,
): void {
  const segments = embed.split('.')
  if (segments.length > 2) {
    const mend = `Write \`${segments.slice(0, 2).join('.')}\`.`
    report(context, path, `\`${embed}\` is ${segments.length} deep; at most two are allowed.`, mend)
    return
  }
  let at = name
  for (const segment of segments) {
    const known = relationsOf(at, all, context.settings.naming)
    const found = known.filter((one) => one.name === segment)
    const [first] = found
    if (!first) {
      const names = known.map((one) => one.name)
      const reason = `${at} has nothing called \`${segment}\` that can be embedded: names are those of references, of the parent and of lists of children.`
      report(context, path, reason, nameHint(segment, names))
      return
    }
    reportSameName(path, found, context)
    at = first.resource
  }
}

/** Reports the first two of these relations that have the same name. */
function reportSameName(path: DeclarationPath, all: readonly Relation[], context: DeclarationCheck): void {
  const other = all.find(({ name }, i) => all.findIndex((one) => one.name === name) < i)
  if (!other) return
  const [first, second] = all.filter(({ name }) => name === other.name).map(relationText)
  const reason = `\`${other.name}\` would be the name of ${first} and of ${second}.`
  report(context, path, reason, 'Write another name for one of them.')
}

const relationText = ({ by, field, resource }: Relation): string =>
  by === 'parent' ? 'the parent' : by === 'list' ? `the list of \`${resource}\`` : `the field \`${field}\``

/** How resources are related, without the parts of the declaration that are mistaken. */
function soundRelations(context: DeclarationCheck): ReadonlyMap<string, RelatedResource> {
  const sound = Object.entries(context.resources).flatMap(([name, given]): [string, ResourceDeclaration][] => {
    if (!isObject(given)) return []
    const parent = parentNameOf(given)
    const fields = Object.entries(isObject(given.fields) ? given.fields : {}).flatMap(([own, one]) => {
      const made = soundField(one, context)
      return made ? [[own, made] as const] : []
    })
    return [
      [
        name,
        {
          fields: Object.fromEntries<Field>(fields),
          access: 'public',
          ...(hasMember(context.resources, parent) && { parent }),
          ...(typeof given.singular === 'string' && { singular: given.singular }),
          ...(Array.isArray(given.methods) && { methods: given.methods as Operation[] }),
        },
      ],
    ]
  })
  return relatedResources({ resources: Object.fromEntries(sound), settings: { naming: context.settings.naming } })
}
