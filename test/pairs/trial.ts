/** A trial: one service, its nodes, and the model of the expected behaviour. */
import assert from 'node:assert/strict'
import type { Service } from '../../src/service.ts'
import { openMigration } from '../../src/terminal/open.ts'
import type { Answer, Sent } from '../help/door.ts'
import type { Issuer } from '../help/issuer.ts'
import { undescribed } from '../help/overseen.ts'
import { alive, applied } from '../help/places.ts'
import { deedOf, requestOf } from './deeds.ts'
import { factors, type Setup } from './factors.ts'
import { type Deed, Model } from './model.ts'
import { type CrashableDatabase, type Node, nodeOn } from './nodes.ts'
import { type DeclarationVariant, shopOf } from './shop.ts'

/** An answered thing, without the times, which the model does not know. */
const seen = ({ createdAt: _, updatedAt: __, ...rest }: Record<string, unknown>): Record<string, unknown> => rest
const byId = (a: { id?: unknown }, b: { id?: unknown }): number => (String(a.id) < String(b.id) ? -1 : 1)

/** A service, its nodes and the model of the expected behaviour. */
export class Trial {
  readonly steps: string[] = []
  readonly model: Model
  private nodes: Node[] = []
  private turn = 0
  private former: Node | null = null
  private api: Service
  private readonly issuer: Issuer
  private readonly setup: Setup
  private readonly database: CrashableDatabase

  constructor(setup: Setup, database: CrashableDatabase, issuer: Issuer) {
    this.setup = setup
    this.database = database
    this.issuer = issuer
    this.api = this.declared()
    this.model = new Model(setup)
  }

  private declared(variant: DeclarationVariant = {}): Service {
    return shopOf(this.setup, this.issuer.url, variant)
  }

  private node(api: Service): Promise<Node> {
    const { setup, database, issuer } = this
    return nodeOn(api, { setup, url: database.url(), issuer, keys: this.nodes[0]?.keys ?? null })
  }

  /** Opens the nodes of a declaration; they take the place of those that served before. */
  private async open(api: Service): Promise<void> {
    this.api = api
    const first = await this.node(api)
    this.nodes = [first]
    if (this.setup['second process'] === 'yes') this.nodes.push(await this.node(api))
  }

  /** Ends all nodes and starts the service with another declaration. */
  private async restart(variant: DeclarationVariant): Promise<void> {
    for (const node of this.nodes) await node.close()
    await this.open(this.declared(variant))
    this.steps.push(`restart ${JSON.stringify(variant)}`)
  }

  /** Starts the service on rows that an earlier declaration may have written, and begins a rolling upgrade where the row says so. */
  async begin(): Promise<void> {
    const isFormer = this.setup['rolling upgrade'] === 'yes'
    await this.open(this.declared({ isFormer, isWide: this.setup['earlier rows'] !== 'fit' }))
    await this.fill(isFormer ? 'v2' : 'v3')
    if (this.setup['earlier rows'] !== 'fit') await this.restart({ isFormer })
    this.model.narrowed()
    if (!isFormer) return
    const [former, ...others] = this.nodes as [Node, ...Node[]]
    for (const node of others) await node.close()
    const now = this.declared()
    await alive(this.database.place())
    assert.deepEqual((await applied(this.database.place(), now)).waitsFor, ['old'], this.story())
    await this.open(now)
    this.former = former
    this.steps.push('the upgrade begins')
  }

  /** Ends the rolling upgrade, if there is one. */
  async finish(): Promise<void> {
    if (this.former === null) return
    await this.former.close()
    this.former = null
    await this.database.place().rows('DELETE FROM bylaw_nodes')
    assert.deepEqual((await applied(this.database.place(), this.api)).left, [], this.story())
    this.steps.push('the upgrade ends')
  }

  /** Restarts without a field that rows hold, runs the given steps, declares it again and puts its values back while all nodes serve. */
  async without(steps: () => Promise<void>): Promise<void> {
    await this.restart({ isWithoutHint: true })
    this.model.hasHint = false
    await steps()
    await this.restart({})
    const migration = await openMigration(this.api, this.database.url())
    try {
      await migration.undrop()
    } finally {
      migration.close()
    }
    this.model.hasHint = true
    this.steps.push('undrop')
  }

  /** Crashes the database and opens new nodes on the remaining data; the old nodes are closed afterwards. */
  async crash(): Promise<void> {
    const before = [...this.nodes, ...(this.former === null ? [] : [this.former])]
    await this.database.crash()
    if (this.former) this.former = await this.node(this.former.api)
    await this.open(this.api)
    for (const node of before) await node.close()
    this.steps.push('crash')
  }

  async close(): Promise<void> {
    await this.former?.close()
    for (const node of this.nodes) await node.close()
    await this.database.drop()
  }

  /** The nodes take turns; the former declaration does not know the newest version. */
  private next(path: string): Node {
    const able = this.former === null || path.startsWith('/v3') ? this.nodes : [this.former, ...this.nodes]
    return able[this.turn++ % able.length] as Node
  }

  async send(who: 'ann' | 'amy', method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const node = this.next(path)
    const answer = await node.send(method, path, { ...sent, headers: { ...node.keys[who], ...sent.headers } })
    this.steps.push(
      `${who} ${method} ${path} ${JSON.stringify(sent)} (node ${this.turn}) -> ${answer.status} ${answer.text.slice(0, 300)}`,
    )
    const { status, headers, text } = answer
    assert.deepEqual(
      undescribed(node.api, { method, target: path, status, headers, text }, node.misfits),
      [],
      this.story(),
    )
    return answer
  }

  story(): string {
    return `\n${JSON.stringify(this.setup)}\n${this.steps.join('\n')}\n`
  }

  /** Two plans, and things of which one has a part. */
  private async fill(version: string): Promise<void> {
    for (const price of ['5.00', '7.00']) {
      const { json } = await this.send('amy', 'POST', `/${version}/plans`, { json: { title: 'P', price } })
      this.model.plans.set(json.id, price)
    }
    const secret = this.setup['hidden field'] === 'none' ? {} : { secret: 's' }
    const grade = this.setup['earlier rows'] === 'fit' ? 'b' : 'z'
    for (const [i, planId] of [...this.model.plans.keys()].entries()) {
      const body = {
        ...(this.setup.key === 'chosen' && { id: `thg_a${i}` }),
        name: `n${i}`,
        planId,
        ...secret,
        hint: 'h',
        ...(i === 0 && { grade }),
      }
      const { json } = await this.send('amy', 'POST', `/${version}/things`, { json: body })
      const deed: Deed = { operation: 'create', version: 'v3', id: null, body, price: null, key: null }
      this.model.done(deed, 201, json.id)
    }
    const [[id, thing] = ['', { parts: 0 }]] = this.model.things
    const part = await this.send('amy', 'POST', `/${version}/things/${id}/parts`, { json: { text: 't' } })
    assert.equal(part.status, 201, this.story())
    thing.parts++
  }

  async act(numbers: readonly number[]): Promise<void> {
    const deed = deedOf(numbers, this.setup, this.model)
    const expected = this.model.expected(deed)
    const answer = await this.send('ann', ...requestOf(deed))
    assert.ok(expected.statuses.includes(answer.status), `${expected.statuses} was expected${this.story()}`)
    if (expected.items) {
      const items = (deed.id === null ? answer.json?.data : [answer.json]) ?? []
      if (answer.status === 200)
        assert.deepEqual(items.map(seen).sort(byId), [...expected.items].sort(byId), this.story())
    }
    const id = answer.headers.location?.split('/').at(-1) ?? null
    this.model.done(deed, answer.status, id === null ? null : decodeURIComponent(id))
  }

  /** Asserts that all nodes show the rows of the model, and that no hidden value has changed. */
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
