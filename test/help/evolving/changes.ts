/** Random changes of a declaration, within its newest version and in a new one. */
import {
  copyOf,
  type Declaration,
  encodingOf,
  greatest,
  type Kind,
  kinds,
  newest,
  type Options,
  type Presented,
  type ResourceId,
  resourceIds,
  type Version,
} from './declaration.ts'
import type { Dice } from './dice.ts'
import { firstMachine, renamed } from './machine.ts'

const names = ['alpha', 'beta', 'gamma', 'delta', 'kappa', 'sigma', 'omega', 'theta'] as const

export function optionsBy(dice: Dice, kind: Kind = dice.pick(kinds)): Options {
  const { filter, order } = encodingOf(kind)
  return {
    kind,
    filter: filter && dice.chance(50),
    sort: order !== 0 && dice.chance(40),
    unique: false,
    optional: kind !== 'list' && dice.chance(30),
    fallback: kind === 'list' ? 0 : dice.below(greatest + 1),
  }
}

let made = 0
const newAttribute = (): string => `a${made++}`

export function firstDeclaration(dice: Dice): Declaration {
  made = 0
  const resources = Object.fromEntries(
    (['parents', 'pieces', 'notes'] as const).map((plural, i) => {
      const fields: Presented['fields'] = {}
      for (let j = 0; j < 3; j++) {
        const options = optionsBy(dice, j === 0 ? 'integer' : undefined)
        if (j === 0) options.optional = false
        fields[newAttribute()] = { name: names[j] as string, options }
      }
      const machine = plural === 'notes' ? { machine: firstMachine } : {}
      return [resourceIds[i] as string, { plural, fields, totals: {}, ...machine }]
    }),
  ) as Version['resources']
  return { versions: [{ name: 'v1', resources }], was: {}, events: dice.chance(50), history: dice.chance(50) }
}

interface Site {
  readonly next: Declaration
  readonly before: Declaration
  readonly resource: ResourceId
  readonly presented: Presented
  readonly versioned: boolean
  readonly dice: Dice
  /** Whether all rows have different values, so that the field may become unique. */
  readonly isDistinct: (resource: ResourceId, attribute: string) => boolean
}

/** A name that neither this declaration nor the one before has: a field with a former name would count as that field. */
function freeName({ presented, before, resource, dice, next }: Site): string | null {
  const own = Object.values({ ...presented.fields, ...presented.totals }).map(({ name }) => name)
  const former = Object.values(newest(before).resources[resource].fields).map(({ name }) => name)
  const totals = Object.values(newest(before).resources[resource].totals).map(({ name }) => name)
  // A version shows a field that newer ones do not have: its name may return, but not in the next version.
  const taken = new Set([...own, ...former, ...totals, ...Object.values(next.was)])
  const free = names.filter((name) => !taken.has(name))
  return free.length === 0 ? null : dice.pick(free)
}

const summed = (declaration: Declaration): ReadonlySet<string> =>
  new Set(Object.values(newest(declaration).resources.parent.totals).map(({ total }) => total.of))

/** A field that may be retyped or removed, as no total is computed from it. */
function freeField({ presented, next, resource, dice }: Site): string | null {
  const held = resource === 'child' ? summed(next) : new Set<string>()
  const free = Object.keys(presented.fields).filter((attribute) => !held.has(attribute))
  return free.length === 0 ? null : dice.pick(free)
}

type Act = (site: Site) => string | null

const add: Act = (site) => {
  const name = freeName(site)
  if (name === null) return null
  const options = optionsBy(site.dice)
  site.presented.fields[newAttribute()] = { name, options }
  return `add ${name} ${JSON.stringify(options)}`
}

const remove: Act = (site) => {
  const attribute = freeField(site)
  if (attribute === null || Object.keys(site.presented.fields).length < 2) return null
  const { name } = site.presented.fields[attribute] as { name: string }
  delete site.presented.fields[attribute]
  delete site.next.was[`${site.resource}.${attribute}`]
  return `remove ${name}`
}

const rename: Act = (site) => {
  const attribute = site.dice.pick(Object.keys(site.presented.fields))
  const name = freeName(site)
  const field = site.presented.fields[attribute]
  const former = newest(site.before).resources[site.resource].fields[attribute]?.name
  if (name === null || !field || former === undefined || former !== field.name) return null
  if (!site.versioned) site.next.was[`${site.resource}.${attribute}`] = former
  field.name = name
  return `rename ${former} to ${name}`
}

const toggle: Act = ({ presented, dice, isDistinct, resource, next }) => {
  const attribute = dice.pick(Object.keys(presented.fields))
  const { name, options } = presented.fields[attribute] as { name: string; options: Options }
  const { filter, order } = encodingOf(options.kind)
  const part = dice.pick(['filter', 'sort', 'unique', 'optional'] as const)
  if (part === 'filter' && !filter) return null
  if (part === 'sort' && order === 0) return null
  if (part === 'optional' && (options.optional || options.kind === 'list')) return null
  const everywhere = next.versions.every(({ resources }) => resources[resource].fields[attribute])
  if (part === 'unique' && (!filter || !everywhere || (!options.unique && !isDistinct(resource, attribute))))
    return null
  if (part === 'optional') {
    const own = next.versions.flatMap(({ resources }) => resources[resource].fields[attribute]?.options ?? [])
    if (own.some(({ kind }) => kind === 'list')) return null
    for (const one of own) one.optional = true
  } else options[part] = !options[part]
  return `${part} of ${name} is ${options[part]}`
}

/** Whether the step has not changed the kind of a field yet, nor whether it is required. */
function isUntouched({ before, resource }: Site, attribute: string | null, options: Options): boolean {
  const was = newest(before).resources[resource].fields[attribute ?? '']?.options
  return was?.kind === options.kind && was.optional === options.optional
}

const retype: Act = (site) => {
  if (!site.versioned) return null
  const attribute = freeField(site)
  const field = attribute === null ? undefined : site.presented.fields[attribute]
  if (!field || field.options.unique || !isUntouched(site, attribute, field.options)) return null
  const kind = site.dice.pick(kinds.filter((one) => one !== field.options.kind))
  const options = {
    ...optionsBy(site.dice, kind),
    optional: field.options.optional,
    fallback: kind === 'list' ? 0 : field.options.fallback,
  }
  if (options.optional && kind === 'list') return null
  const name = site.dice.chance(30) ? freeName(site) : null
  const text = `retype ${field.name} from ${field.options.kind} to ${JSON.stringify(options)} as ${name ?? field.name}`
  field.options = options
  if (name !== null) field.name = name
  return text
}

const require: Act = (site) => {
  if (!site.versioned) return null
  const attribute = freeField(site)
  const field = attribute === null ? undefined : site.presented.fields[attribute]
  if (!field?.options.optional || field.options.unique || !isUntouched(site, attribute, field.options)) return null
  field.options = { ...field.options, optional: false, bare: true }
  return `require ${field.name} with ${field.options.fallback}`
}

const total: Act = (site) => {
  const { presented, next, resource, dice } = site
  if (resource !== 'parent') return null
  const attributes = Object.keys(presented.totals)
  if (attributes.length > 0 && dice.chance(40)) {
    const attribute = dice.pick(attributes)
    const name = presented.totals[attribute]?.name
    delete presented.totals[attribute]
    return `remove total ${name}`
  }
  const name = freeName(site)
  const sources = Object.entries(newest(next).resources.child.fields).filter(
    ([, { options }]) => options.kind === 'integer',
  )
  if (name === null || sources.length === 0) return null
  const by = dice.pick(['count', 'sum', 'min', 'max'] as const)
  presented.totals[newAttribute()] = { name, total: { by, of: dice.pick(sources)[0], filter: dice.chance(50) } }
  return `add total ${by} ${name}`
}

const plurals = {
  parent: ['parents', 'elders', 'owners'],
  child: ['pieces', 'parts', 'shares'],
  other: ['notes', 'letters', 'remarks'],
}
const renameResource: Act = ({ presented, versioned, resource, before, dice }) => {
  if (!versioned || newest(before).resources[resource].plural !== presented.plural) return null
  const free = plurals[resource].filter((one) => one !== presented.plural)
  presented.plural = dice.pick(free)
  return `rename ${resource} to ${presented.plural}`
}

const renameStates: Act = ({ versioned, next, before, dice }) => {
  const { other } = newest(next).resources
  const former = newest(before).resources.other.machine
  const machine = versioned && other.machine && former ? renamed(other.machine, former, dice) : null
  if (!machine) return null
  other.machine = machine
  return `states ${JSON.stringify(machine)}`
}

const record: Act = ({ next, dice }) => {
  const part = dice.pick(['events', 'history'] as const)
  next[part] = !next[part]
  return `${part} ${next[part]}`
}

const acts: readonly Act[] = [
  add,
  add,
  remove,
  rename,
  rename,
  toggle,
  toggle,
  retype,
  retype,
  require,
  total,
  renameResource,
  renameStates,
  record,
]

/** The next declaration, and what it changes. */
export function changed(
  before: Declaration,
  versioned: boolean,
  all: readonly Dice[],
  isDistinct: Site['isDistinct'],
): { readonly next: Declaration; readonly log: string[] } {
  const next = copyOf(before)
  next.was = {}
  if (versioned) {
    const { name, resources } = newest(next)
    const copy = Object.fromEntries(
      Object.entries(resources).map(([id, { plural, fields, totals, machine }]) => [
        id,
        {
          ...(machine && { machine }),
          plural,
          fields: Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, { ...field }])),
          totals: Object.fromEntries(Object.entries(totals).map(([key, one]) => [key, { ...one }])),
        },
      ]),
    ) as Version['resources']
    next.versions.push({ name: `v${Number(name.slice(1)) + 1}`, resources: copy })
  }
  const log: string[] = []
  for (const one of all) {
    const resource = one.pick(resourceIds)
    const presented = newest(next).resources[resource]
    const text = one.pick(acts)({ next, before, resource, presented, versioned, dice: one, isDistinct })
    if (text !== null) log.push(`${resource}: ${text}`)
  }
  return { next, log }
}
