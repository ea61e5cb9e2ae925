/** The rows of an evolving service, as a plain model: what each version has to show, and what lists have to find. */
import {
  type Declaration,
  encodingOf,
  isMapped,
  isRequired,
  newest,
  type Options,
  type ResourceId,
  resourceIds,
  show,
  type Total,
  type Version,
  versionAt,
} from './declaration.ts'

import type { Machine } from './machine.ts'

export type Canon = number | null

export interface Row {
  readonly resource: ResourceId
  readonly id: string
  readonly values: Record<string, Canon>
  /** The parent of a child, or the item that another one refers to. */
  readonly of: string | null
  /** The status of reads after its deletion. */
  gone: number | null
  /** The values after each write, by the number of the revision. */
  readonly past: Map<number, Record<string, Canon>>
}

/** The values of a row at a revision. Some revisions change totals only. */
export function valuesAt({ past }: Row, revision: number): Record<string, Canon> {
  const before = [...past.keys()].filter((number) => number <= revision)
  return past.get(Math.max(...before)) as Record<string, Canon>
}

export class Model {
  readonly rows = new Map<string, Row>()
  /** The pairs of a parent and another item, by both ids. */
  readonly links = new Set<string>()
  readonly named = new Map<string, Set<string>>()
  readonly unconvertible = new Set<string>()

  all(resource: ResourceId): Row[] {
    return [...this.rows.values()].filter((row) => row.resource === resource && row.gone === null)
  }

  /** The items that are linked with an item. */
  linked({ id }: Row): Row[] {
    const all = [...this.links].map((link) => link.split(' ')).filter((link) => link.includes(id))
    return all.map((link) => this.rows.get(link.find((one) => one !== id) as string) as Row)
  }

  isDistinct = (resource: ResourceId, attribute: string): boolean => {
    const values = this.all(resource).flatMap(({ values: { [attribute]: canon } }) => canon ?? [])
    return new Set(values).size === values.length
  }

  isTaken(resource: ResourceId, attribute: string, canon: Canon, except?: Row): boolean {
    return canon !== null && this.all(resource).some((row) => row !== except && row.values[attribute] === canon)
  }

  total({ id }: Row, { by, of }: Total): Canon {
    const children = this.all('child').filter((row) => row.of === id)
    const values = children.flatMap(({ values }) => values[of] ?? [])
    if (by === 'count') return children.length
    if (by === 'sum') return values.reduce((sum, one) => sum + one, 0)
    return values.length === 0 ? null : Math[by](...values)
  }

  /** Notes the names that records have for fields, and which of them only a withdrawn version can convert. */
  note(before: Declaration | null, next: Declaration): void {
    for (const id of resourceIds)
      for (const [attribute, { name, options }] of Object.entries(newest(next).resources[id].fields)) {
        const key = `${id}.${name}.${encodingOf(options.kind).stored}`
        const all = this.named.get(key) ?? new Set()
        this.named.set(key, all.add(attribute))
      }
    for (const [i, { name, resources }] of before?.versions.entries() ?? []) {
      if (next.versions.some((one) => one.name === name)) continue
      const after = before?.versions[i + 1] as Version
      if (String(after.resources.other.machine?.states) !== String(resources.other.machine?.states))
        this.unconvertible.add(`other.${stateAttribute}`)
      for (const id of resourceIds)
        for (const [attribute, { options }] of Object.entries(resources[id].fields))
          if (after.resources[id].fields[attribute]?.options !== options) this.unconvertible.add(`${id}.${attribute}`)
    }
  }

  /** Whether events and revisions show the value of a field: nothing else was stored under the same name and kind. */
  isKnownInRecords(resource: ResourceId, attribute: string): boolean {
    if (this.unconvertible.has(`${resource}.${attribute}`)) return false
    return [...this.named].every(
      ([key, all]) => !key.startsWith(`${resource}.`) || !all.has(attribute) || all.size === 1,
    )
  }

  /** Gives stored rows the values of fields that are new or not optional any more. */
  adopt(next: Declaration, onlyMissing = false): void {
    for (const row of this.rows.values())
      for (const [attribute, { options }] of Object.entries(newest(next).resources[row.resource].fields))
        for (const values of [row.values, ...row.past.values()])
          if (!onlyMissing || !Object.hasOwn(values, attribute))
            values[attribute] = fitting(values[attribute] ?? null, options)
  }
}

const fitting = (canon: Canon, { optional, fallback }: Options): Canon => canon ?? (optional ? null : fallback)
export const missing = (options: Options): Canon => fitting(null, options)

/** Whether a field of a version is also one of all newer versions, so that rows have its value. */
export function isLive(
  { versions }: Declaration,
  nth: number,
  resource: ResourceId,
  part: 'fields' | 'totals',
  attribute: string,
): boolean {
  return versions.slice(nth).every(({ resources }) => Object.hasOwn(resources[resource][part], attribute))
}

/** The stored value if a client of a version sends a value. */
export function stored(
  { versions }: Declaration,
  nth: number,
  resource: ResourceId,
  attribute: string,
  sent: Canon,
): Canon {
  return versions
    .slice(nth)
    .reduce<Canon>(
      (canon, { resources }) => fitting(canon, resources[resource].fields[attribute]?.options as Options),
      sent,
    )
}

/** The default in the newest version that still has a field: versions before it show that value in their own form. */
function lastDefault({ versions }: Declaration, nth: number, resource: ResourceId, attribute: string): Canon {
  const all = versions.slice(nth).map(({ resources }) => resources[resource].fields[attribute]?.options)
  const end = all.indexOf(undefined)
  return missing(all[end - 1] as Options)
}

/** The options with the filter and the sort of a field: those of the next version, unless the change between them states others. */
function offered({ versions }: Declaration, nth: number, resource: ResourceId, attribute: string): Options {
  const all = versions.slice(nth).map(({ resources }) => resources[resource].fields[attribute]?.options)
  let [options] = all as [Options]
  for (const next of all.slice(1)) {
    if (!next || !(next === options || isRequired(options, next) || isMapped(options, next))) break
    options = next
  }
  return options
}

export interface Column {
  readonly attribute: string
  readonly name: string
  readonly filter: boolean
  readonly sort: boolean
  readonly order: number
  /** Whether the column is a total that is null until the second phase of the change. */
  readonly shut: boolean
  readonly isTotal: boolean
  readonly value: (row: Row) => { readonly canon: Canon; readonly shown: unknown }
}

/** The fields of a resource in a version. `opened` says whether a total is shown. */
export function columnsOf(
  model: Model,
  declaration: Declaration,
  nth: number,
  resource: ResourceId,
  opened: (attribute: string) => boolean,
  unsure: ReadonlySet<string> = new Set(),
): Column[] {
  const { fields, totals } = versionAt(declaration, nth).resources[resource]
  const known = Object.entries(fields).filter(([attribute]) => !unsure.has(attribute))
  const own = known.map(([attribute, { name, options }]): Column => {
    const live = isLive(declaration, nth, resource, 'fields', attribute)
    const value = (row: Row) => {
      const canon = live ? (row.values[attribute] ?? null) : lastDefault(declaration, nth, resource, attribute)
      return { canon, shown: show(options.kind, canon) }
    }
    const { filter, sort } = offered(declaration, nth, resource, attribute)
    const { kind } = options
    return { attribute, name, filter, sort, order: encodingOf(kind).order, shut: false, isTotal: false, value }
  })
  const kept = Object.entries(totals).filter(([attribute]) => !unsure.has(attribute))
  const derived = kept.map(([attribute, { name, total }]): Column => {
    const live = isLive(declaration, nth, resource, 'totals', attribute)
    const shut = live && !opened(attribute)
    const empty = total.by === 'min' || total.by === 'max' ? null : 0
    const value = (row: Row) => {
      const canon = shut ? null : live ? model.total(row, total) : empty
      return { canon, shown: canon }
    }
    return { attribute, name, filter: total.filter, sort: false, order: 0, shut, isTotal: true, value }
  })
  const { machine } = versionAt(declaration, nth).resources[resource]
  return [...own, ...derived, ...(machine ? [stateColumn(machine)] : [])]
}

/** The attribute with the state of a row: its place among the states. */
export const stateAttribute = 'state'

function stateColumn({ field, states }: Machine): Column {
  const value = (row: Row) => {
    const canon = row.values[stateAttribute] as number
    return { canon, shown: states[canon] }
  }
  return {
    attribute: stateAttribute,
    name: field,
    filter: true,
    sort: false,
    order: 0,
    shut: false,
    isTotal: false,
    value,
  }
}

/**
 * The fields whose values may differ on nodes of the former declaration: fields that may be null in one of the declarations
 * only, and totals and filters that new nodes do not keep.
 */
export const unsureBetween = (before: Declaration, next: Declaration): ReadonlySet<string> =>
  new Set(
    resourceIds.flatMap((id) => {
      const [old, now] = [newest(before).resources[id], newest(next).resources[id]]
      const fields = Object.entries(old.fields).filter(([attribute, { options }]) => {
        const is = now.fields[attribute]?.options
        return is ? is.optional !== options.optional : (options.filter || options.sort) && !options.optional
      })
      const totals = Object.keys(old.totals).filter((attribute) => !now.totals[attribute])
      return [...fields.map(([attribute]) => attribute), ...totals]
    }),
  )

export const uniqueAttributes = (declaration: Declaration, resource: ResourceId): string[] =>
  Object.entries(newest(declaration).resources[resource].fields).flatMap(([attribute, { options }]) =>
    options.unique ? [attribute] : [],
  )

export const lossesBetween = (before: Declaration, next: Declaration): string[] =>
  resourceIds.flatMap((id) => {
    const { plural, fields, totals } = newest(before).resources[id]
    return Object.values({ ...fields, ...totals }).flatMap(({ name }) => [
      `${plural}.${name}`,
      `${newest(next).resources[id].plural}.${name}`,
    ])
  })
