/** Link mistakes: links of an item that would have the same name, names that cannot be embedded, and `pairs`. Part 2, resources. */
// long because: pairs are checked with the links and lists whose names they share
import type { Field } from '../fields/field.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { linkOfField, toCase, toKebab } from '../formats/naming.ts'
import {
  type Access,
  dependsOnRows,
  type Operation,
  operations,
  type ResourceDeclaration,
} from '../resources/declaration.ts'
import { type DeclaredOperations, revisionSegment } from '../resources/own-operations.ts'
import {
  type PairDeclaration,
  pairKeys,
  pairResource,
  type RelatedResource,
  type Relation,
  referenceSites,
  relatedResources,
  relationsOf,
} from '../resources/references.ts'
import { checkReferenceTarget, type DeclarationCheck, type DeclarationPath, report, soundField } from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { checkKnownKeys, checkResource, parentFieldOf, parentNameOf, type ResourceCheck } from './resource-check.ts'
import { checkFieldVisibility, checkOwner } from './visibility.ts'

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
  for (const [pair, other] of pairsOf(name, context))
    claim(['pairs', pair], toCase(other, settings.naming), `the list of \`${other}\``)
  for (const [other, one] of Object.entries(context.resources)) {
    if (parentNameOf(one as UncheckedObject) !== name || hasMember(context.pairs, other)) continue
    // A list and a transition of one name have the same URL, which is reported elsewhere.
    const isReported = byHand.some(([name]) => name === other)
    claim(['resources', other], toCase(other, settings.naming), `the list of \`${other}\``, isReported)
  }
  if (given.history !== undefined) links.set(revisionSegment, 'the revisions of the item')
  for (const [field, one] of Object.entries(isObject(given.fields) ? given.fields : {})) {
    const sound = soundField(one, context)
    if (sound?.kind === 'ref' && !sound.options.writeOnly)
      claim([...path, 'fields', field], linkOfField(field), `the field \`${field}\``)
  }
}

/** The pairs of a resource, each with its other side. */
const pairsOf = (name: string, { pairs }: DeclarationCheck): (readonly [pair: string, other: string])[] =>
  Object.entries(pairs as Record<string, PairDeclaration>).flatMap(
    ([
      pair,
      {
        between: [first, second],
      },
    ]) => (first === name ? [[pair, second]] : second === name ? [[pair, first]] : []),
  )

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
    const relations = relationsOf(at, all, context.settings.naming)
    const matches = relations.filter((one) => one.name === segment)
    const [first] = matches
    if (!first) {
      const names = relations.map((one) => one.name)
      const reason = `${at} has nothing called \`${segment}\` that can be embedded: names are those of references, of the parent and of lists of children.`
      report(context, path, reason, nameHint(segment, names))
      return
    }
    reportSameName(path, matches, context)
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
  const sound = Object.entries(context.resources).flatMap(([name, declaration]): [string, ResourceDeclaration][] => {
    if (!isObject(declaration)) return []
    const parent = parentNameOf(declaration)
    const fields = Object.entries(isObject(declaration.fields) ? declaration.fields : {}).flatMap(([own, one]) => {
      const sound = soundField(one, context)
      return sound ? [[own, sound] as const] : []
    })
    return [
      [
        name,
        {
          fields: Object.fromEntries<Field>(fields),
          access: 'public',
          ...(hasMember(context.resources, parent) && { parent }),
          ...(hasMember(context.pairs, name) && { key: declaration.key as string, methods: [] }),
          ...(typeof declaration.singular === 'string' && { singular: declaration.singular }),
          ...(Array.isArray(declaration.methods) && { methods: declaration.methods as Operation[] }),
        },
      ],
    ]
  })
  return relatedResources({ resources: Object.fromEntries(sound), settings: { naming: context.settings.naming } })
}

/** The methods whose rules pairs need. */
const pairMethods = ['read', 'create', 'replace', 'remove']

/** The pairs without mistakes, and all resources with those that pairs are stored in. */
export function withPairResources(context: DeclarationCheck): Pick<DeclarationCheck, 'pairs' | 'resources'> {
  const { resources, pairs, settings } = context
  const stored = Object.entries(pairs).flatMap(([name, pair]): [string, unknown][] => {
    const sides = checkSides(['pairs', name], pair, context)
    if (hasMember(resources, name))
      report(context, ['pairs', name], 'A resource has the same name.', 'Write another name for one of the two.')
    if (sides === null || hasMember(resources, name)) return []
    const { fields, access } = pair as UncheckedObject
    const declared = { between: sides, ...(isObject(fields) && { fields }), access } as unknown as PairDeclaration
    const one = pairResource(declared, soundOwners(resources), settings.naming)
    return [[name, { ...one, methods: pairMethods, ...(fields !== undefined && !isObject(fields) && { fields }) }]]
  })
  const sound = stored.map(([name]) => [name, pairs[name]])
  return { pairs: Object.fromEntries(sound), resources: { ...resources, ...Object.fromEntries(stored) } }
}

/** The parts of the resources that determine the names and the account of a pair. */
const soundOwners = (resources: UncheckedObject) =>
  Object.fromEntries(
    Object.entries(resources).flatMap(([name, declaration]) => {
      const { singular, owner } = isObject(declaration) ? declaration : {}
      const above = parentNameOf(declaration)
      const parent = hasMember(resources, above) && above !== name ? { parent: above } : {}
      const own = { ...(typeof singular === 'string' && { singular }), ...(typeof owner === 'string' && { owner }) }
      return [[name, { fields: {}, access: 'public', ...own, ...parent } as ResourceDeclaration]]
    }),
  )

const sidesMend = "Write the names of two resources, as between: ['orders', 'tags']."

function checkSides(path: DeclarationPath, pair: unknown, context: DeclarationCheck): [string, string] | null {
  if (!isObject(pair)) {
    const mend = "Write an object, as { between: ['orders', 'tags'], access: 'public' }."
    report(context, path, `It is ${valueInWords(pair)}.`, mend)
    return null
  }
  checkKnownKeys(path, pair, pairKeys, [], context)
  const { between } = pair
  const at = [...path, 'between']
  if (!Array.isArray(between) || between.length !== 2) {
    const has = Array.isArray(between) ? `a list of ${between.length}` : valueInWords(between)
    report(context, at, `\`between\` is ${has}.`, sidesMend)
    return null
  }
  const before = context.findings.length
  for (const side of between) checkReferenceTarget(at, side, context)
  if (context.findings.length > before) return null
  const [first, second] = between as [string, string]
  if (first !== second) return [first, second]
  const reason = `Both sides are \`${first}\`, so a path would not tell which of the two items it names first.`
  report(context, at, reason, `Declare a resource with two references, as parentId and childId: f.ref('${first}').`)
  return null
}

/** Checks a pair, whose resource was made of its declaration. */
export function checkPair(judged: ResourceCheck, context: DeclarationCheck): void {
  const { name, given } = judged
  const path = ['pairs', name]
  const { access, key } = given
  checkResource(judged, context)
  checkOwner(judged, context)
  checkFieldVisibility(judged, context)
  if (isObject(access)) checkKnownKeys([...path, 'access'], access, ['read', 'write'], [], context)
  const { between, fields: declared } = context.pairs[name] as PairDeclaration
  const [first, second] = between
  for (const [field, one] of Object.entries(isObject(declared) ? declared : {})) {
    const at = [...path, 'fields', field]
    if (field === key) report(context, at, 'It is the id of the other item already.', 'Write another name.')
    else checkPairField(at, soundField(one, context), context)
  }
  checkPairRule(path, access, null, context)
  for (const side of [first, second]) {
    const declared = context.resources[side]
    checkOffer(path, side, context)
    checkPairRule(path, isObject(declared) ? declared.access : undefined, side, context)
  }
  checkNames(path, [first, second], context)
}

/** A pair has no list of its own, and nothing but its two sides. */
function checkPairField(path: DeclarationPath, field: Field | undefined, context: DeclarationCheck): void {
  if (!field) return
  const { options } = field
  const useless = ['filter', 'sort', 'unique', 'search'].find((one) => options[one as keyof typeof options])
  if (useless !== undefined) {
    const reason = `\`${useless}\` has no meaning here: the lists are those of the two sides, with their filters.`
    report(context, path, reason, `Leave \`${useless}\` out, or declare a resource with two references instead.`)
  }
  const isOther = Object.keys(context.resources).some((to) => referenceSites(field, to, '').length > 0)
  const isFile = field.kind === 'file'
  if (isOther || isFile || options.derived !== undefined) {
    const reason = `A field of a pair cannot be ${isOther ? 'a reference' : isFile ? 'a file' : 'derived'}.`
    report(context, path, reason, 'Leave it out, or declare a resource with two references instead.')
  }
}

/** A pair reveals that both of its items exist, so no rule of the pair or of reading a side may depend on the item. */
function checkPairRule(path: DeclarationPath, access: unknown, side: string | null, context: DeclarationCheck): void {
  if (!isObject(access) || !dependsOnRows(side === null ? (access as Access) : { read: access.read as never })) return
  const whose = side === null ? 'A rule of a pair' : `The rule to read \`${side}\``
  const mend = 'Name a scope, or declare a resource with two references and rules of its own instead of the pair.'
  report(
    context,
    [...path, side === null ? 'access' : 'between'],
    `${whose} depends on the item, which pairs cannot follow.`,
    mend,
  )
}

/** Lists of pairs answer items of both sides, so both resources must offer `list` and `read`. */
function checkOffer(path: DeclarationPath, side: string, context: DeclarationCheck): void {
  const declaration = context.resources[side]
  const { methods = operations } = isObject(declaration) ? declaration : {}
  const lacks = ['list', 'read'].filter((one) => Array.isArray(methods) && !methods.includes(one))
  if (lacks.length === 0) return
  const reason = `The answers have items of \`${side}\`, whose \`methods\` lack \`${lacks.join('` and `')}\`.`
  report(context, [...path, 'between'], reason, `Add \`${lacks.join('` and `')}\` to the methods of \`${side}\`.`)
}

/** Checks that nothing else has the URL of a list, `/orders/{orderId}/tags`. */
function checkNames(path: DeclarationPath, sides: readonly [string, string], context: DeclarationCheck): void {
  const names = Object.keys(context.pairs)
  const earlier = names
    .slice(0, names.indexOf(path[1] as string))
    .find((one) => sides.every((side) => (context.pairs[one] as PairDeclaration).between.includes(side)))
  const mend = 'Write another name for one of the two.'
  if (earlier !== undefined) {
    const reason = `\`${earlier}\` are pairs of the same two resources and have the same URLs.`
    report(context, [...path, 'between'], reason, 'Declare one of them as a resource with two references.')
  }
  for (const [own, other] of [sides, sides.toReversed()] as [string, string][]) {
    const twin = nameBelow(own, other, context)
    if (twin) report(context, [...path, 'between'], `\`/${own}/{id}/${other}\` is the URL of ${twin} already.`, mend)
  }
}

/** What else has this name in URLs below the items of a resource; undefined if the name is free. */
function nameBelow(own: string, name: string, context: DeclarationCheck): string | undefined {
  const { resources } = context
  const declaration = resources[own]
  const { fields, states, operations: declared, history } = isObject(declaration) ? declaration : {}
  const files = Object.entries(isObject(fields) ? fields : {}).filter(
    ([, one]) => soundField(one, context)?.kind === 'file',
  )
  const file = files.find(([one]) => toKebab(one) === name)
  if (file) return `the file \`${file[0]}\``
  const has = (all: unknown) => isObject(all) && hasMember(all, name)
  if (isObject(states) && has(states.transitions)) return `the transition \`${name}\``
  if (isObject(declared) && has(declared) && isObject(declared[name]) && declared[name].at === 'item')
    return `the operation \`${name}\``
  if (parentNameOf(resources[name]) === own) return `the list of \`${name}\``
  return history !== undefined && name === revisionSegment ? 'its revisions' : undefined
}
