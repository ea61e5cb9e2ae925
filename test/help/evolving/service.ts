/** The change from one version of a resource to the next, and the service with all of them. */
import { type Field, f, type Service, service } from 'bylaw'
import {
  type Declaration,
  fieldOf,
  formerTotal,
  isMapped,
  isRequired,
  type Kind,
  newest,
  numbers,
  type Options,
  type Presented,
  read,
  resourceIds,
  show,
  totalField,
  type Version,
} from './declaration.ts'
import { type Machine, machineChange, statesOf } from './machine.ts'

const prefixes = { parent: 'par', child: 'chi', other: 'oth' }

function resourcesOf(declaration: Declaration): object {
  const { was } = declaration
  const is = newest(declaration)
  return Object.fromEntries(
    resourceIds.map((id) => {
      const { plural, fields, totals } = is.resources[id]
      const own = Object.entries(fields).map(([attribute, { name, options }]) => [
        name,
        fieldOf(options, was[`${id}.${attribute}`]),
      ])
      const derived = Object.values(totals).map(({ name, total }) => [name, totalField(declaration, total)])
      const owner = id === 'other' ? { owner: f.ref(is.resources.parent.plural, { filter: true }) } : {}
      const below = id === 'child' ? { parent: { resource: is.resources.parent.plural, onDelete: 'cascade' } } : {}
      const all = { ...Object.fromEntries([...own, ...derived]), ...owner }
      const more = {
        ...(declaration.events && { events: true }),
        ...(declaration.history && { history: { read: 'public' } }),
      }
      const { machine } = is.resources[id]
      return [
        plural,
        {
          prefix: prefixes[id],
          ...(machine && { states: statesOf(machine) }),
          ...below,
          ...more,
          fields: all,
          exports: true,
          access: 'public',
        },
      ]
    }),
  )
}

export function serviceOf(declaration: Declaration): Service {
  const { versions } = declaration
  const resources = resourcesOf(declaration)
  const dated = Object.fromEntries(versions.map(({ name }, i) => [name, { released: `2025-01-0${i + 1}` }]))
  const { parent, other } = newest(declaration).resources
  const pairs = { links: { between: [parent.plural, other.plural], access: 'public' } }
  let made = service({ name: 'evolving', versions: dated, resources, pairs } as never) as unknown as Changing
  for (let i = versions.length - 1; i > 0; i--)
    for (const id of resourceIds) {
      const [old, now] = [versions[i - 1] as Version, versions[i] as Version]
      const change = changeBetween(old.resources[id], now.resources[id])
      if (change) made = made.change(now.name, now.resources[id].plural, change)
    }
  return made as unknown as Service
}

interface Changing {
  change: (version: string, resource: string, change: object) => Changing
}

type Values = Readonly<Record<string, unknown>>

/** The members of a change while it is made. */
class Parts {
  readonly renamed: Record<string, string> = {}
  readonly removed: Record<string, Field> = {}
  readonly retyped: Record<string, Field> = {}
  readonly mapped: Record<string, Record<string, string>> = {}
  readonly required: Record<string, unknown> = {}
  readonly transitions: { renamed?: Record<string, string> } = {}
  readonly added: string[] = []
  readonly makers: { readonly from: string; readonly to: string; readonly kinds: readonly [Kind, Kind] }[] = []

  rename(from: string, to: string): void {
    if (from !== to) this.renamed[from] = to
  }

  /** A field of both versions. */
  field(name: string, options: Options, next: Presented['fields'][string]): void {
    const kinds = [options.kind, next.options.kind] as const
    const [required, mapped] = [isRequired(options, next.options), isMapped(options, next.options)]
    if (next.options === options || required || mapped) this.rename(name, next.name)
    if (next.options === options) return
    if (required) this.required[next.name] = show(options.kind, next.options.fallback)
    else if (mapped)
      this.mapped[next.name] = Object.fromEntries(numbers.map((n) => [show(kinds[0], n), show(kinds[1], n)]))
    else {
      if (name === next.name) this.retyped[name] = fieldOf(options)
      else {
        this.removed[name] = fieldOf(options)
        this.added.push(next.name)
      }
      this.makers.push({ from: name, to: next.name, kinds })
    }
  }

  machine(old: Machine, now: Machine): void {
    const { states, transitions } = machineChange(old, now)
    this.rename(old.field, now.field)
    if (Object.keys(states).length > 0) this.mapped[now.field] = states
    if (Object.keys(transitions).length > 0) this.transitions.renamed = transitions
  }

  functions(): object {
    const { makers } = this
    if (makers.length === 0) return {}
    return {
      request: (values: Values) =>
        Object.fromEntries(makers.map(({ from, to, kinds: [a, b] }) => [to, show(b, read(a, values[from]))])),
      response: (values: Values) =>
        Object.fromEntries(makers.map(({ from, to, kinds: [a, b] }) => [from, show(a, read(b, values[to]))])),
    }
  }
}

/** The change from one version of a resource to the next; null if there is none. */
function changeBetween(old: Presented, now: Presented): object | null {
  const parts = new Parts()
  for (const [attribute, { name, options }] of Object.entries(old.fields)) {
    const next = now.fields[attribute]
    if (next) parts.field(name, options, next)
    else parts.removed[name] = fieldOf({ ...options, unique: false, bare: false })
  }
  for (const [attribute, { name, total }] of Object.entries(old.totals)) {
    const next = now.totals[attribute]
    if (next) parts.rename(name, next.name)
    else parts.removed[name] = formerTotal({ total })
  }
  for (const part of ['fields', 'totals'] as const)
    for (const [attribute, { name }] of Object.entries(now[part])) if (!old[part][attribute]) parts.added.push(name)
  if (old.machine && now.machine) parts.machine(old.machine, now.machine)
  const { makers: _, ...members } = parts
  const some = Object.entries(members).filter(([, one]) => Object.keys(one).length > 0)
  const change = {
    ...(old.plural !== now.plural && { was: old.plural }),
    ...Object.fromEntries(some),
    ...parts.functions(),
  }
  return Object.keys(change).length === 0 ? null : { about: 'A random change.', ...change }
}
