/** Sends random requests to an evolving service, and compares their answers with the model. */
import assert from 'node:assert/strict'
import type { NodeAnswer } from '../places.ts'
import { Answers, otherSide, type Side } from './answers.ts'
import { type Declaration, newest, type Options, type ResourceId, resourceIds, show, versionAt } from './declaration.ts'
import type { Dice } from './dice.ts'
import { type Machine, ways } from './machine.ts'
import { isLive, missing, type Row, stateAttribute, stored, uniqueAttributes } from './model.ts'

interface Key {
  readonly key: string
  readonly path: string
  readonly body: object
  readonly id: string
  readonly shape: string
}

const shapeOf = (declaration: Declaration, nth: number, resource: ResourceId): string =>
  JSON.stringify(declaration.versions[nth]?.resources[resource])

export class Requests extends Answers {
  readonly keys: Key[] = []
  /** Fields that only one of two declarations has unique: no value may be written twice. */
  distinct: ReadonlySet<string> = new Set()

  async operate(side: Side, roll: Dice): Promise<void> {
    const nth = roll.below(side.declaration.versions.length)
    const resource = roll.pick(resourceIds)
    const rows = this.model.all(resource)
    const what = rows.length === 0 ? 0 : roll.below(10)
    if (what < 4) return this.create(side, nth, resource, roll)
    const row = roll.pick(rows)
    if (resource !== 'child' && roll.chance(25)) return this.link(side, nth, row, roll)
    if (resource === 'other' && roll.chance(40)) return this.transition(side, nth, row, roll)
    if (what < 7) return this.write(side, nth, row, 'PATCH', roll)
    if (what < 8) return this.write(side, nth, row, 'PUT', roll)
    if (what < 9) return this.remove(side, nth, row)
    return this.repeat(side, roll)
  }

  /** A body, and the values that a row has after it. */
  body(side: Side, nth: number, row: Pick<Row, 'resource' | 'values'>, whole: boolean, fresh: boolean, roll: Dice) {
    const { declaration } = side
    const { resource } = row
    const body: Record<string, unknown> = {}
    const values = { ...row.values }
    if (fresh)
      for (const [attribute, { options }] of Object.entries(newest(declaration).resources[resource].fields))
        values[attribute] = missing(options)
    const { fields } = versionAt(declaration, nth).resources[resource]
    for (const [attribute, { name, options }] of Object.entries(fields)) {
      const needed = fresh && (options.bare || options.unique) && !options.optional
      const sends = whole ? needed || roll.chance(85) : roll.chance(40)
      if (!sends && (!whole || ((options.bare || options.unique) && !options.optional))) {
        if (whole) body[name] = show(options.kind, values[attribute] ?? null)
        continue
      }
      const canon = sends ? value(options, roll) : missing(options)
      if (sends) body[name] = show(options.kind, canon)
      if (isLive(declaration, nth, resource, 'fields', attribute))
        values[attribute] = stored(declaration, nth, resource, attribute, canon)
    }
    return { body, values }
  }

  /** Whether a value would be there twice; null if the declarations do not agree whether that is allowed. */
  clashes({ declaration }: Side, resource: ResourceId, values: Row['values'], except?: Row): boolean | null {
    const taken = Object.keys(values).filter((name) => this.model.isTaken(resource, name, values[name] ?? null, except))
    if (taken.some((name) => this.distinct.has(`${resource}.${name}`))) return null
    const unique = uniqueAttributes(declaration, resource)
    return taken.some((name) => unique.includes(name))
  }

  async create(side: Side, nth: number, resource: ResourceId, roll: Dice): Promise<void> {
    const parents = this.model.all('parent')
    if (resource !== 'parent' && parents.length === 0) return
    if (this.model.all(resource).length >= 6) return
    const of = resource === 'parent' ? null : roll.pick(parents).id
    const { body, values } = this.body(side, nth, { resource, values: {} }, true, true, roll)
    if (resource === 'other') values[stateAttribute] = 0
    const clash = this.clashes(side, resource, values)
    if (clash === null) return
    const own = this.path(side, nth, resource)
    const path = resource === 'child' ? `${this.path(side, nth, 'parent')}/${of}/${own.split('/')[2]}` : own
    const sent = resource === 'other' ? { ...body, owner: of } : body
    const key = roll.chance(50) ? `key-${this.keys.length}` : null
    const answer = await this.ask(side, 'POST', path, sent, key === null ? {} : { 'idempotency-key': key })
    this.log.push(`POST ${path} ${JSON.stringify(sent)} ${key ?? ''}: ${answer.status} ${answer.json.id}`)
    assert.equal(answer.status, clash ? 409 : 201, JSON.stringify(answer.json))
    if (clash) return
    const { id } = answer.json
    if (key !== null) this.keys.push({ key, path, body: sent, id, shape: shapeOf(side.declaration, nth, resource) })
    const row: Row = { resource, id, values, of, gone: null, past: new Map() }
    this.model.rows.set(id, row)
    this.equal(side, nth, row, answer.json)
    row.past.set(revisionOf(answer), { ...values })
  }

  async write(side: Side, nth: number, row: Row, method: 'PATCH' | 'PUT', roll: Dice): Promise<void> {
    const { body, values } = this.body(side, nth, row, method === 'PUT', false, roll)
    const clash = this.clashes(side, row.resource, values, row)
    if (clash === null) return
    const sent = row.resource === 'other' && method === 'PUT' ? { ...body, owner: row.of } : body
    const path = `${this.path(side, nth, row.resource)}/${row.id}`
    const answer = await this.ask(side, method, path, sent)
    this.log.push(`${method} ${path} ${JSON.stringify(sent)}: ${answer.status}`)
    assert.equal(answer.status, clash ? 409 : 200, JSON.stringify(answer.json))
    if (clash) return
    Object.assign(row.values, values)
    this.equal(side, nth, row, answer.json)
    row.past.set(revisionOf(answer), { ...row.values })
  }

  /** Links an item with one of the other side, or ends that link. */
  async link(side: Side, nth: number, row: Row, roll: Dice): Promise<void> {
    const all = this.model.all(otherSide(row.resource))
    if (all.length === 0) return
    const one = roll.pick(all)
    const link = (row.resource === 'parent' ? [row.id, one.id] : [one.id, row.id]).join(' ')
    const isLinked = this.model.links.has(link)
    const method = roll.chance(70) ? 'PUT' : 'DELETE'
    const path = `${this.linkedPath(side, nth, row)}/${one.id}`
    const answer = await this.ask(side, method, path)
    this.log.push(`${method} ${path}: ${answer.status}`)
    assert.equal(answer.status, method === 'DELETE' ? 204 : isLinked ? 200 : 201, JSON.stringify(answer.json))
    if (method === 'DELETE') this.model.links.delete(link)
    else {
      this.model.links.add(link)
      this.equal(side, nth, one, answer.json)
    }
  }

  async transition(side: Side, nth: number, row: Row, roll: Dice): Promise<void> {
    const { transitions } = versionAt(side.declaration, nth).resources.other.machine as Machine
    const which = roll.below(ways.length)
    const [from, to] = ways[which] as (typeof ways)[number]
    const path = `${this.path(side, nth, 'other')}/${row.id}/${transitions[which]}`
    const answer = await this.ask(side, 'POST', path)
    this.log.push(`POST ${path}: ${answer.status}`)
    const isAllowed = row.values[stateAttribute] === from
    assert.equal(answer.status, isAllowed ? 200 : 409, JSON.stringify(answer.json))
    if (!isAllowed) return
    row.values[stateAttribute] = to
    this.equal(side, nth, row, answer.json)
    row.past.set(revisionOf(answer), { ...row.values })
  }

  async remove(side: Side, nth: number, row: Row): Promise<void> {
    const path = `${this.path(side, nth, row.resource)}/${row.id}`
    const kept = this.model.all('other').some(({ of }) => of === row.id)
    const answer = await this.ask(side, 'DELETE', path)
    this.log.push(`DELETE ${path}: ${answer.status}`)
    assert.equal(answer.status, kept ? 409 : 204, JSON.stringify(answer.json))
    if (kept) return
    for (const one of [row, ...this.model.all('child').filter(({ of }) => of === row.id)]) {
      const read = await this.ask(side, 'GET', `${this.path(side, nth, one.resource)}/${one.id}`)
      assert.ok(read.status === 404 || read.status === 410, String(read.status))
      one.gone = read.status
      for (const link of this.model.links) if (link.split(' ').includes(one.id)) this.model.links.delete(link)
    }
  }

  /** Sends a request with a used key again. */
  async repeat(side: Side, roll: Dice): Promise<void> {
    if (this.keys.length === 0) return
    const { key, path, body, id, shape } = roll.pick(this.keys)
    const { resource } = this.model.rows.get(id) as Row
    const nth = side.declaration.versions.findIndex(({ name }) => name === path.split('/')[1])
    if (nth < 0) return
    const answer = await this.ask(side, 'POST', path, body, { 'idempotency-key': key })
    this.log.push(`again POST ${path} ${key}: ${answer.status} ${answer.json.old_id}`)
    if (shapeOf(side.declaration, nth, resource) !== shape) assert.ok(answer.status >= 400)
    else if (this.model.rows.get(id)?.gone === null)
      assert.deepEqual([answer.status, answer.json.old_id], [409, id], JSON.stringify(answer.json))
  }
}

/** The number of the revision that an answer shows: its tag begins with it. */
const revisionOf = ({ headers }: NodeAnswer): number =>
  Number.parseInt(headers.get('etag')?.match(/^"(\w+)/)?.[1] as string, 36)

const value = ({ kind, optional }: Options, roll: Dice): number | null =>
  optional && roll.chance(25) ? null : kind === 'list' ? 1 + roll.below(11) : roll.below(12)
