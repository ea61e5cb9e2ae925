/** Sends random requests to an evolving service, and compares all answers with the model. */
import assert from 'node:assert/strict'
import type { Node } from '../places.ts'
import { type Declaration, newest, type Options, type ResourceId, resourceIds, show, versionAt } from './declaration.ts'
import type { Dice } from './dice.ts'
import { columnsOf, isLive, Model, missing, type Row, stored, uniqueAttributes } from './model.ts'

export interface Side {
  readonly declaration: Declaration
  readonly node: Node
  readonly opened: (attribute: string) => boolean
  /** Fields of which two values are right. */
  unsure?: ReadonlySet<string>
}

interface Key {
  readonly key: string
  readonly path: string
  readonly body: object
  readonly id: string
  readonly shape: string
}

const shapeOf = (declaration: Declaration, nth: number, resource: ResourceId): string =>
  JSON.stringify(declaration.versions[nth]?.resources[resource])

export class Requests {
  readonly model = new Model()
  readonly log: string[] = []
  readonly keys: Key[] = []
  /** Fields that only one of two declarations has unique: no value may be written twice. */
  distinct: ReadonlySet<string> = new Set()

  async ask(side: Side, method: string, path: string, json?: unknown, headers: Record<string, string> = {}) {
    const answer = await side.node.ask(method, path, json, headers)
    if (answer.status >= 500 && answer.status !== 503)
      assert.fail(`${method} ${path} ${JSON.stringify(json)}: ${answer.status} ${JSON.stringify(answer.json)}`)
    return answer
  }

  async operate(side: Side, roll: Dice): Promise<void> {
    const nth = roll.below(side.declaration.versions.length)
    const resource = roll.pick(resourceIds)
    const rows = this.model.all(resource)
    const what = rows.length === 0 ? 0 : roll.below(10)
    if (what < 4) return this.create(side, nth, resource, roll)
    const row = roll.pick(rows)
    if (what < 7) return this.write(side, nth, row, 'PATCH', roll)
    if (what < 8) return this.write(side, nth, row, 'PUT', roll)
    if (what < 9) return this.remove(side, nth, row)
    return this.repeat(side, roll)
  }

  path({ declaration }: Side, nth: number, resource: ResourceId): string {
    const version = declaration.versions[nth]
    return `/${version?.name}/${version?.resources[resource].plural}`
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
    const row = { resource, id, values, of, gone: null }
    this.model.rows.set(id, row)
    this.equal(side, nth, row, answer.json)
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

  equal(side: Side, nth: number, row: Row, json: Record<string, unknown>): void {
    const columns = columnsOf(this.model, side.declaration, nth, row.resource, side.opened, side.unsure)
    const is = Object.fromEntries(columns.map(({ name }) => [name, json[name]]))
    const expected = Object.fromEntries(columns.map(({ name, value }) => [name, value(row).shown]))
    const where = `${side.declaration.versions[nth]?.name} ${row.resource} ${row.id}`
    assert.deepEqual(is, expected, where)
  }

  /** Asserts that each version shows every row and finds it by each filter and sort. */
  async check(side: Side): Promise<void> {
    for (const [nth] of side.declaration.versions.entries())
      for (const resource of resourceIds) {
        const path = this.path(side, nth, resource)
        for (const row of this.model.rows.values()) {
          if (row.resource !== resource) continue
          const answer = await this.ask(side, 'GET', `${path}/${row.id}`)
          assert.equal(answer.status, row.gone ?? 200, `${path}/${row.id} ${JSON.stringify(answer.json)}`)
          if (row.gone !== null) continue
          this.equal(side, nth, row, answer.json)
          if (side.declaration.history) await this.revisions(side, `${path}/${row.id}/revisions`)
        }
        await this.lists(side, nth, resource, path)
      }
  }

  /** Asserts that the revisions of an item are in order. */
  async revisions(side: Side, path: string): Promise<void> {
    const { status, json } = await this.ask(side, 'GET', `${path}?limit=100`)
    if (status === 503) return // revisions begin with the second phase
    assert.equal(status, 200, JSON.stringify(json))
    const all: { id: string; type: string }[] = json.data
    const numbers = all.map(({ id }) => Number(id))
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => b - a),
      path,
    )
  }

  async lists(side: Side, nth: number, resource: ResourceId, path: string): Promise<void> {
    const rows = this.model.all(resource)
    for (const column of columnsOf(this.model, side.declaration, nth, resource, side.opened, side.unsure)) {
      const { name, filter, sort, order, shut, value } = column
      if (filter)
        for (const text of new Set(rows.map((row) => JSON.stringify(value(row).shown)))) {
          const shown = JSON.parse(text)
          const query = shown === null ? `${name}[null]=true` : `${name}=${encodeURIComponent(shown)}`
          const answer = await this.ask(side, 'GET', `${path}?page_size=100&${query}`)
          if (shut && answer.status === 503) continue
          assert.equal(answer.status, 200, JSON.stringify(answer.json))
          const found = answer.json.data.map(({ id }: { id: string }) => id).sort()
          const expected = rows.filter((row) => JSON.stringify(value(row).shown) === text).map(({ id }) => id)
          assert.deepEqual(found, expected.sort(), `${path}?${query}`)
        }
      if (!sort) continue
      const answer = await this.ask(side, 'GET', `${path}?page_size=100&sort=${name}`)
      assert.equal(answer.status, 200, JSON.stringify(answer.json))
      const found = answer.json.data.map((one: Record<string, unknown>) => one[name])
      const canons = rows.map((row) => value(row))
      canons.sort(
        (a, b) => (a.canon === null ? 1 : 0) - (b.canon === null ? 1 : 0) || order * ((a.canon ?? 0) - (b.canon ?? 0)),
      )
      assert.deepEqual(
        found,
        canons.map(({ shown }) => shown),
        `${path}?sort=${name}`,
      )
    }
  }
}

const value = ({ kind, optional }: Options, roll: Dice): number | null =>
  optional && roll.chance(25) ? null : kind === 'list' ? 1 + roll.below(11) : roll.below(12)
