/** Reads everything from an evolving service, and compares the answers with the model. */
import assert from 'node:assert/strict'
import type { Node } from '../places.ts'
import { type Declaration, type ResourceId, resourceIds } from './declaration.ts'
import { columnsOf, Model, type Row, valuesAt } from './model.ts'

export interface Side {
  readonly declaration: Declaration
  readonly node: Node
  readonly opened: (attribute: string) => boolean
  /** Whether nodes of two declarations run, so that events and revisions may not have begun. */
  readonly isChanging?: boolean
  /** Fields whose values may differ between the nodes of the two declarations; they are not compared. */
  unsure?: ReadonlySet<string>
}

export class Answers {
  readonly model = new Model()
  readonly log: string[] = []
  /** The contents by URL and entity tag. */
  readonly tagged = new Map<string, string>()

  async ask(side: Side, method: string, path: string, json?: unknown, headers: Record<string, string> = {}) {
    const answer = await side.node.ask(method, path, json, headers)
    if (answer.status >= 500 && answer.status !== 503)
      assert.fail(`${method} ${path} ${JSON.stringify(json)}: ${answer.status} ${JSON.stringify(answer.json)}`)
    const tag = answer.headers.get('etag')
    if (method === 'GET' && tag !== null) {
      const key = `${path} ${headers.accept} ${tag}`
      assert.equal(answer.text, this.tagged.get(key) ?? answer.text, `${key} names two contents`)
      this.tagged.set(key, answer.text)
    }
    return answer
  }

  path({ declaration }: Side, nth: number, resource: ResourceId): string {
    const version = declaration.versions[nth]
    return `/${version?.name}/${version?.resources[resource].plural}`
  }

  equal(side: Side, nth: number, row: Row, json: Record<string, unknown>, part?: 'records'): void {
    const all = columnsOf(this.model, side.declaration, nth, row.resource, side.opened, side.unsure)
    const isKnown = (attribute: string) => this.model.isKnownInRecords(row.resource, attribute)
    const columns = part ? all.filter(({ isTotal, attribute }) => !isTotal && isKnown(attribute)) : all
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
          if (row.gone === null) this.equal(side, nth, row, answer.json)
          if (row.gone === null && resource !== 'child') await this.linked(side, nth, row)
          if (side.declaration.history) await this.revisions(side, nth, row, `${path}/${row.id}/revisions`)
        }
        await this.lists(side, nth, resource, path)
        await this.exported(side, nth, resource, path)
      }
    if (side.declaration.events) for (const [nth] of side.declaration.versions.entries()) await this.events(side, nth)
  }

  /** The path of the items that are linked with an item. */
  linkedPath(side: Side, nth: number, { resource, id }: Row): string {
    const other = side.declaration.versions[nth]?.resources[otherSide(resource)].plural
    return `${this.path(side, nth, resource)}/${id}/${other}`
  }

  /** Asserts that an item lists those that are linked with it. */
  async linked(side: Side, nth: number, row: Row): Promise<void> {
    const path = this.linkedPath(side, nth, row)
    const { status, json } = await this.ask(side, 'GET', `${path}?page_size=100`)
    assert.equal(status, 200, `${path} ${JSON.stringify(json)}`)
    const items = new Map<string, Record<string, unknown>>(json.data.map((one: { id: string }) => [one.id, one]))
    const rows = this.model.linked(row)
    assert.deepEqual([...items.keys()].sort(), rows.map(({ id }) => id).sort(), path)
    for (const one of rows) this.equal(side, nth, one, items.get(one.id) as Record<string, unknown>)
  }

  /** Asserts that the events of each item are in order, and show the values of their time. */
  async events(side: Side, nth: number): Promise<void> {
    const last = new Map<string, number>()
    for (let cursor = ''; ; ) {
      const path = `/${side.declaration.versions[nth]?.name}/events?limit=100${cursor}`
      const { status, json } = await this.ask(side, 'GET', path)
      if (status === 503 && side.isChanging) return
      assert.equal(status, 200, JSON.stringify(json))
      for (const { type, sequence, data } of json.data) {
        if (type.startsWith('link.')) continue // pairs have no revisions in the model
        const row = this.model.rows.get(data.id) as Row
        assert.ok(sequence > (last.get(row.id) ?? 0), `${path} ${row.id} ${sequence}`)
        last.set(row.id, sequence)
        this.equal(side, nth, { ...row, values: valuesAt(row, sequence) }, data, 'records')
      }
      if (!json.pagination.hasMore) return
      cursor = `&cursor=${json.pagination.nextCursor}`
    }
  }

  /** Asserts that the revisions of an item are in order, and show the values of their time. */
  async revisions(side: Side, nth: number, row: Row, path: string): Promise<void> {
    const { status, json } = await this.ask(side, 'GET', `${path}?limit=100`)
    if (status === 503 && side.isChanging) return
    if (status === row.gone) return // it was deleted before it had any
    assert.equal(status, 200, JSON.stringify(json))
    const numbers: number[] = json.data.map(({ id }: { id: string }) => Number(id))
    const sorted = [...new Set(numbers)].sort((a, b) => b - a)
    assert.deepEqual(numbers, sorted, path)
    for (const number of numbers) {
      const answer = await this.ask(side, 'GET', `${path}/${number}`)
      assert.equal(answer.status, 200, JSON.stringify(answer.json))
      this.equal(side, nth, { ...row, values: valuesAt(row, number) }, answer.json, 'records')
    }
  }

  /** Asserts that an export has all rows. */
  async exported(side: Side, nth: number, resource: ResourceId, path: string): Promise<void> {
    const answer = await this.ask(side, 'GET', path, undefined, { accept: 'application/x-ndjson' })
    assert.equal(answer.status, 200, answer.text)
    const lines = answer.text.split('\n').slice(0, -1)
    const items = new Map(lines.map((line) => [JSON.parse(line).id, JSON.parse(line)]))
    const rows = this.model.all(resource)
    assert.deepEqual([...items.keys()].sort(), rows.map(({ id }) => id).sort())
    for (const row of rows) this.equal(side, nth, row, items.get(row.id))
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

/** The resource whose items are linked with those of another one. */
export const otherSide = (resource: ResourceId): ResourceId => (resource === 'parent' ? 'other' : 'parent')
