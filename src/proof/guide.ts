/** Guide: how to move from one version to another, with sample bodies of both. Part 9, versioning. */
import type { Contract } from '../contract/contract.ts'
import type { Difference } from '../contract/difference.ts'
import { differences } from '../contract/differences.ts'
import { contractAt } from '../contract/gate.ts'
import { deprecationText } from '../contract/path-differences.ts'
import { firstFault } from '../fields/value-check.ts'
import { sentenceCase, toKebab } from '../formats/naming.ts'
import { type Change, majorOf } from '../resources/change.ts'
import type { Member, Resource } from '../resources/resource.ts'
import type { Service } from '../service.ts'
import { replayedChance } from './chance.ts'
import { makeValue } from './make.ts'
import {
  type AskVersion,
  changesSince,
  identifiersIn,
  inDependencyOrder,
  type JsonBody,
  nameInVersion,
  operationPath,
  type ResourceInVersion,
  resourceInVersion,
  type VersionService,
  versionServices,
} from './version-service.ts'

export interface GuideRequest {
  readonly service: Service
  readonly from: string
  readonly to: string
  readonly ask: AskVersion
}

/** The guide as Markdown, for consumers that have to move. */
export async function migrationGuide(journey: GuideRequest): Promise<string> {
  const { service, from, to } = journey
  const [old, now] = [from, to].map((label) => {
    const { sunset: _, ...contract } = contractAt(service, label) // `datesText` says when versions end
    return contract
  }) as [Contract, Contract]
  const all = differences(withNewNames(old, now, journey), now)
  const bodies = await sampleBodies(journey)
  const parts = [...service.resources.keys()].flatMap((name) => resourcePart(name, journey, all, bodies.get(name)))
  const general = all.filter(({ place }) => !place.startsWith('resources.'))
  const rest = general.length === 0 ? [] : [`## The whole service\n\n${differenceList(general)}`]
  return `${[`# From ${from} to ${to}`, datesText(journey), selectionText(to), ...parts, ...rest].join('\n\n')}\n`
}

/** Gives an older contract the names of the newer one, so that a rename does not appear as removed and added. */
function withNewNames(old: Contract, now: Contract, { service, from, to }: Omit<GuideRequest, 'ask'>): Contract {
  const names = new Map(
    [...service.resources.keys()].flatMap((name): [string, string][] => {
      const [was, is] = [from, to].map((label) => nameInVersion(service.changes, name, label))
      return was === undefined || is === undefined || was === is ? [] : [[was, is]]
    }),
  )
  const named = (name: string) => names.get(name) ?? name
  const bare = (path: string) => path.replace(/\{[^}]*\}/g, '{}')
  const resources = Object.entries(old.resources).map(([name, one]) => {
    const moves = actionNames(name, { service, from, to })
    const paths = Object.entries(one.paths).map(([path, methods]) => {
      const [, above = '', last = ''] = /^(.*\/)(.*)$/.exec(path) ?? []
      const renamed = above.split('/').map(named).join('/') + (moves.get(last) ?? named(last))
      const same = Object.keys(now.resources[named(name)]?.paths ?? {}).find((other) => bare(other) === bare(renamed))
      return [same ?? renamed, methods]
    })
    const fieldTerms = JSON.parse(JSON.stringify(one.fields), (key, value) => (key === 'to' ? named(value) : value))
    const called = fieldNames(name, { service, from, to })
    const field = (term: string) => term.replace(/^(-?)([^.]*)/, (_, sign, top) => sign + (called.get(top) ?? top))
    const fields = Object.fromEntries(Object.entries(fieldTerms).map(([top, terms]) => [field(top), terms]))
    const sorts = Object.fromEntries(Object.entries(one.sorts).map(([custom, terms]) => [custom, terms.map(field)]))
    const [order, uniques] = [one.order.map(field), one.uniques.map((terms) => terms.map(field))]
    const parent = one.parent && { ...one.parent, resource: named(one.parent.resource) }
    const actions = withActionNames(one, moves, field)
    const parts = { parent, fields, order, sorts, uniques, paths: Object.fromEntries(paths), ...actions }
    return [named(name), { ...one, ...parts }]
  })
  return { ...old, resources: Object.fromEntries(resources) }
}

/** The transitions and operations of an older contract under their newer names. */
function withActionNames(
  { states, calls }: Contract['resources'][string],
  names: ReadonlyMap<string, string>,
  field: (term: string) => string,
): Pick<Contract['resources'][string], 'states' | 'calls'> {
  const named = <T>(all: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).map(([own, terms]) => [names.get(own) ?? own, terms]))
  return {
    ...(states && { states: { ...states, field: field(states.field), transitions: named(states.transitions) } }),
    ...(calls && { calls: named(calls) }),
  }
}

/** The fields of a resource (by its older name) that have another name in the newer version. */
const fieldNames = (was: string, journey: Omit<GuideRequest, 'ask'>) => newNames(was, journey, ({ renamed }) => renamed)
const actionNames = (was: string, journey: Omit<GuideRequest, 'ask'>) =>
  newNames(was, journey, ({ transitions, operations }) => ({ ...transitions?.renamed, ...operations?.renamed }))

function newNames(
  was: string,
  { service, from, to }: Omit<GuideRequest, 'ask'>,
  namesOf: (change: Change) => Change['renamed'],
): ReadonlyMap<string, string> {
  const today = [...service.resources.keys()].find((name) => nameInVersion(service.changes, name, from) === was)
  let names = new Map<string, string>()
  for (const change of today === undefined ? [] : changesSince(service.changes, today, from).toReversed()) {
    if (majorOf(change.version) > majorOf(to)) continue
    const renamed = namesOf(change) ?? {}
    const kept = [...names].map(([old, now]) => [old, renamed[now] ?? now] as const)
    const known = new Set(names.values())
    names = new Map([...Object.entries(renamed).filter(([old]) => !known.has(old)), ...kept])
  }
  return names
}

function datesText({ service, from, to }: GuideRequest): string {
  const [was, is] = [from, to].map((label) => service.declaration.versions?.[label])
  const ends = [
    ...(was?.deprecated ? [`is deprecated from ${was.deprecated} on`] : []),
    ...(was?.sunset ? [`is planned to end on ${was.sunset}`] : []),
  ]
  const old = ends.length === 0 ? `${from} stays as it is.` : `${from} ${ends.join(' and ')}.`
  return `${to} was released on ${is?.released}. ${old}`
}

const selectionText = (to: string): string =>
  `Ask for ${to} with the header \`Version: ${to}\`, with \`?version=${to}\` or below \`/${to}/\`. Both versions work on the same ` +
  'items under the same identifiers, so you can move one request after the other. Tags and cursors are of one version: ' +
  'ask for new ones when you change it.'

const differenceList = (all: readonly Difference[]): string =>
  all.map(({ weight, says }) => `- ${weight === 'breaking' ? '**breaking** ' : ''}${says}`).join('\n')

/** One item as it is sent and answered in both versions. */
interface BodyPair {
  readonly old: { readonly sent: JsonBody; readonly answered: JsonBody }
  readonly now: { readonly sent: JsonBody; readonly answered: JsonBody }
}

function resourcePart(
  name: string,
  { service, from, to }: GuideRequest,
  all: readonly Difference[],
  sample?: BodyPair,
): string[] {
  const [was, is] = [from, to].map((label) => nameInVersion(service.changes, name, label))
  const places = new Set([is ?? was].filter((one) => one !== undefined).map((one) => `resources.${one}`))
  const isOwn = (place: string) => [...places].some((one) => place === one || place.startsWith(`${one}.`))
  const own = all.filter(({ place }) => isOwn(place) && !place.includes('.deprecations.'))
  const applied = changesSince(service.changes, name, from)
    .filter((one) => majorOf(one.version) <= majorOf(to))
    .toReversed()
  const left = Object.entries(contractAt(service, to).resources[is ?? '']?.deprecations ?? {})
  if (own.length + applied.length + left.length === 0) return []
  const isCalled = (old: string, now: string, where = '') => `- **breaking** \`${old}\` is called \`${now}\`${where}.`
  const lines = [
    ...(was && is && was !== is ? [isCalled(was, is, ', in paths and wherever it is referred to')] : []),
    ...[fieldNames, actionNames].flatMap((names) =>
      was && is ? [...names(was, { service, from, to })].map(([old, now]) => isCalled(old, now)) : [],
    ),
    ...(own.length === 0 ? [] : [differenceList(own)]),
    ...applied.flatMap((one) => olderStateLines(one, from)),
  ]
  const title = was === is ? `## ${name}` : `## ${is ?? was}${was && is ? `, in ${from} ${was}` : ''}`
  const about = applied.map((one) => (to === one.version ? one.about : `${one.version}: ${one.about}`))
  return [
    title,
    ...about,
    ...(lines.length === 0 ? [] : [lines.join('\n')]),
    ...left.map(([operation, one]) => `In ${to}, \`${operation}\` ${deprecationText(one)}: do not build on it.`),
    ...(sample ? [bodyPairText('What is sent', from, to, sample.old.sent, sample.now.sent)] : []),
    ...(sample ? [bodyPairText('What is answered', from, to, sample.old.answered, sample.now.answered)] : []),
  ]
}

/** How the older version treats transitions and states that the newer one does not have. */
function olderStateLines({ transitions = {}, writable, while: below }: Change, from: string): string[] {
  const { withdrawn = {}, written = {}, changed = {} } = transitions
  const gone = Object.entries(withdrawn).flatMap(([name, { by, refused }]) => {
    if (by === undefined && refused === undefined) return []
    return [`- In ${from}, \`${name}\` ${by === undefined ? `is refused with ${refused}` : `carries out \`${by}\``}.`]
  })
  const writes = Object.entries(written).map(
    ([value, name]) => `- In ${from}, writing the state \`${value}\` carries out \`${name}\`.`,
  )
  const others = writes.length > 0 ? [`- In ${from}, other states that are written are refused with 409.`] : []
  const narrows = writable || below !== undefined || Object.values(changed).some((one) => one.from)
  const held = narrows
    ? [`- In ${from} too, what the state of an item does not allow any more is refused with 409.`]
    : []
  return [...gone, ...writes, ...others, ...held]
}

const bodyPairText = (what: string, from: string, to: string, old: JsonBody, now: JsonBody): string =>
  `${what} in ${from}:\n\n${jsonBlock(old)}\n\nand in ${to}:\n\n${jsonBlock(now)}`

const jsonBlock = (body: JsonBody): string => `\`\`\`json\n${JSON.stringify(body, null, 2)}\n\`\`\``

/** One item of each resource that both versions have: created in the old version, and read in both. */
async function sampleBodies({ service, from, to, ask }: GuideRequest): Promise<Map<string, BodyPair>> {
  const all = versionServices(service)
  const [old, now] = [from, to].map((label) => all.find((one) => one.label === label)) as [
    VersionService,
    VersionService,
  ]
  const ids = new Map<string, string>()
  const pairs = new Map<string, BodyPair>()
  for (const { name } of inDependencyOrder(service.resources)) {
    const [was, is] = [old, now].map((one) => resourceInVersion(service.changes, name, one))
    if (!was) continue
    const sent = plainBody(was, ids)
    const owner = was.resource.parent && { [was.resource.parent.field]: ids.get(was.resource.parent.resource) }
    const path = sent && operationPath(was, 'create', owner ?? {})
    const creation = sent && path !== undefined ? await ask(from, { method: 'POST', path, body: sent }) : undefined
    if (creation?.status !== 201 || !creation.body || !sent) continue
    ids.set(was.resource.name, String(creation.body.id))
    const there = is && operationPath(is, 'read', identifiersIn(creation.body, was, is))
    const read = there === undefined ? undefined : await ask(to, { method: 'GET', path: there })
    if (!is || read?.status !== 200 || !read.body) continue
    pairs.set(name, {
      old: { sent, answered: creation.body },
      now: { sent: bodyFromItem(is, read.body), answered: read.body },
    })
  }
  return pairs
}

const isSentField = ({ resource }: ResourceInVersion, { name, from }: Member): boolean =>
  from === 'caller' || name === resource.key

/** The body that would be sent for an item. */
const bodyFromItem = (inVersion: ResourceInVersion, item: JsonBody): JsonBody =>
  Object.fromEntries(
    inVersion.resource.members
      .filter((member) => isSentField(inVersion, member) && Object.hasOwn(item, member.name))
      .map(({ name }) => [name, item[name]]),
  )

/** A body with a plain value for every field; undefined if there is no value for a required field. */
function plainBody(inVersion: ResourceInVersion, ids: ReadonlyMap<string, string>): JsonBody | undefined {
  const pairs = inVersion.resource.members
    .filter((member) => isSentField(inVersion, member))
    .map(
      (member) =>
        [member.name, plainValue(member, inVersion.resource.rules, ids), member.absent !== undefined] as const,
    )
  if (pairs.some(([, value, needless]) => value === undefined && !needless)) return undefined
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined).map(([name, value]) => [name, value]))
}

/** The first plain value that the field accepts. */
function plainValue(member: Member, rules: Resource['rules'], ids: ReadonlyMap<string, string>): unknown {
  const { name, field, check } = member
  const words = sentenceCase(toKebab(name))
  const plain: readonly unknown[] = [
    ...(field.kind === 'ref' ? [ids.get(field.target as string)] : []),
    ...(field.kind === 'enum' ? [field.values?.[0]] : []),
    ...(field.kind === 'text' ? [words, words.slice(0, Number(field.options.max ?? words.length))] : []),
    ...[
      'ann@example.com',
      'https://example.com/',
      '2026-01-31',
      '2026-01-31T09:30:00.000Z',
      'IT',
      'EUR',
      '10.00',
      '10',
      10,
      1,
      true,
    ],
  ]
  const fits = (value: unknown): boolean => value !== undefined && firstFault(check, value) === undefined
  return plain.find(fits) ?? makeValue(member, rules, { chance: replayedChance([]), idOf: (one) => ids.get(one) })
}
