/** A trial: one service, its nodes, and the model of what it has to do. */
import assert from 'node:assert/strict'
import type { Service } from '../../src/service.ts'
import type { Answer, Sent } from '../help/door.ts'
import { undescribed } from '../help/overseen.ts'
import { deedOf, requestOf } from './deeds.ts'
import { factors, type Setup } from './factors.ts'
import { type Deed, Model } from './model.ts'
import { type Ground, type Node, nodeOn } from './nodes.ts'
import { shopOf } from './shop.ts'

/** A thing as it was answered, without what no model knows. */
const seen = ({ createdAt: _, updatedAt: __, ...rest }: Record<string, unknown>): Record<string, unknown> => rest
const byId = (a: { id?: unknown }, b: { id?: unknown }): number => (String(a.id) < String(b.id) ? -1 : 1)

/** A service, its nodes and the model of what it has to do. */
export class Trial {
  readonly told: string[] = []
  readonly model: Model
  private nodes: Node[] = []
  private turn = 0
  private readonly api: Service
  private readonly setup: Setup
  private readonly ground: Ground

  constructor(setup: Setup, ground: Ground) {
    this.setup = setup
    this.ground = ground
    this.api = shopOf(setup)
    this.model = new Model(setup)
  }

  async open(): Promise<void> {
    const keys = this.nodes[0]?.keys ?? null
    this.nodes = [await nodeOn(this.api, this.setup, this.ground.url(), keys)]
    if (this.setup['second process'] === 'yes')
      this.nodes.push(await nodeOn(this.api, this.setup, this.ground.url(), (this.nodes[0] as Node).keys))
  }

  /** What was there before the crash is opened anew; what crashed is closed afterwards. */
  async crash(): Promise<void> {
    const before = this.nodes
    await this.ground.crash()
    await this.open()
    for (const node of before) await node.close()
    this.told.push('crash')
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.close()
    await this.ground.drop()
  }

  async send(who: 'ann' | 'amy', method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const node = this.nodes[this.turn++ % this.nodes.length] as Node
    const answer = await node.send(method, path, { ...sent, headers: { ...node.keys[who], ...sent.headers } })
    this.told.push(`${who} ${method} ${path} ${JSON.stringify(sent)} -> ${answer.status} ${answer.text.slice(0, 300)}`)
    const { status, headers, text } = answer
    assert.deepEqual(undescribed(this.api, { method, target: path, status, headers, text }), [], this.story())
    return answer
  }

  story(): string {
    return `\n${JSON.stringify(this.setup)}\n${this.told.join('\n')}\n`
  }

  /** Two plans, and things of which one has a part. */
  async fill(): Promise<void> {
    for (const price of ['5.00', '7.00']) {
      const { json } = await this.send('amy', 'POST', '/v3/plans', { json: { title: 'P', price } })
      this.model.plans.set(json.id, price)
    }
    const secret = this.setup['hidden field'] === 'none' ? {} : { secret: 's' }
    for (const [i, planId] of [...this.model.plans.keys()].entries()) {
      const body = { ...(this.setup.key === 'chosen' && { id: `thg_a${i}` }), name: `n${i}`, planId, ...secret }
      const { json } = await this.send('amy', 'POST', '/v3/things', { json: body })
      const deed: Deed = { operation: 'create', version: 'v3', id: null, body, price: null, key: null }
      this.model.done(deed, 201, json.id)
    }
    const [[id, thing] = ['', { parts: 0 }]] = this.model.things
    const part = await this.send('amy', 'POST', `/v3/things/${id}/parts`, { json: { text: 't' } })
    assert.equal(part.status, 201, this.story())
    thing.parts++
  }

  async act(numbers: readonly number[]): Promise<void> {
    const deed = deedOf(numbers, this.setup, this.model)
    const expected = this.model.expected(deed)
    const answer = await this.send('ann', ...requestOf(deed))
    assert.ok(expected.statuses.includes(answer.status), `${expected.statuses} was expected${this.story()}`)
    if (expected.items) {
      const items = (deed.operation === 'list' ? answer.json?.data : [answer.json]) ?? []
      if (answer.status === 200)
        assert.deepEqual(items.map(seen).sort(byId), [...expected.items].sort(byId), this.story())
    }
    const id = answer.headers.location?.split('/').at(-1) ?? null
    this.model.done(deed, answer.status, id === null ? null : decodeURIComponent(id))
  }

  /** In the end all nodes show what the model has, and nothing that is hidden has changed. */
  async judge(): Promise<void> {
    for (const version of factors.version) {
      const list = await this.send('amy', 'GET', `/${version}/things?page_size=100`)
      const items = list.json.data.map((one: Record<string, unknown>) => {
        const { secret, ...rest } = seen(one)
        if (secret !== undefined && secret !== null) assert.equal(secret, 's', this.story())
        return rest
      })
      const expected = [...this.model.things.keys()].map((one) => this.model.shown(one, version))
      assert.deepEqual(items.sort(byId), expected.sort(byId), this.story())
      assert.equal(list.json.pagination.totalRecords, expected.length, this.story())
    }
    const parts = await this.send('amy', 'GET', '/v3/parts')
    const expected = [...this.model.things.values()].reduce((sum, one) => sum + one.parts, 0)
    assert.equal(parts.json.data.length, expected, this.story())
  }
}
