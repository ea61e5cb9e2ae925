/** Runs a story: declarations one after the other on one database, with requests between and during their changes. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { openMigration } from '../../../src/terminal/open.ts'
import { alive, applied, nodeOn, type Place } from '../places.ts'
import { cutConnections, withCuts } from '../timer-trials.ts'
import type { Side } from './answers.ts'
import { changed, firstDeclaration } from './changes.ts'
import { type Declaration, newest, resourceIds } from './declaration.ts'
import { dice } from './dice.ts'
import { lossesBetween, uniqueAttributes, unsureBetween } from './model.ts'
import { Requests } from './requests.ts'
import { serviceOf } from './service.ts'

export interface StoryStep {
  readonly changes: readonly number[]
  /** Whether the changes make a new version. */
  readonly versioned: boolean
  /** Whether the oldest version ends, if there are two. */
  readonly withdrawn: boolean
  readonly rolling: boolean
  /** After how many commits the process that changes the database dies first; 0 if it does not. */
  readonly dies: number
  readonly meanwhile: readonly number[]
  readonly after: readonly number[]
}

export interface Story {
  readonly seed: number
  readonly first: readonly number[]
  readonly steps: readonly StoryStep[]
}

export class Run extends Requests {
  readonly place: Place

  constructor(place: Place) {
    super()
    this.place = place.url.startsWith('postgres') ? { ...place, url: withCuts(place.url) } : place
  }

  async story({ seed, first, steps }: Story): Promise<void> {
    let declaration = firstDeclaration(dice(seed))
    this.log.push(`first: ${JSON.stringify(declaration)}`)
    this.model.note(null, declaration)
    let side = this.open(declaration)
    try {
      for (const one of first) await this.operate(side, dice(one))
      await this.check(side)
      for (const step of steps) {
        const former = side
        const { next, log } = changed(declaration, step.versioned, step.changes.map(dice), this.model.isDistinct)
        if (step.withdrawn && !step.rolling && next.versions.length > 2) next.versions.shift()
        this.model.note(declaration, next)
        this.log.push(`step: ${step.versioned ? 'version' : 'plain'} ${step.rolling ? 'rolling' : ''}`, ...log)
        side = step.rolling ? await this.rolling(former, next, step) : await this.moved(former, next, step)
        await this.check(side)
        await this.doctor(next)
        for (const one of step.after) await this.operate(side, dice(one))
        await this.check(side)
        await this.doctor(next)
        declaration = next
      }
    } finally {
      await side.node.close()
    }
  }

  open(declaration: Declaration, allowLoss: readonly string[] = [], opened: Side['opened'] = () => true): Side {
    return { declaration, node: nodeOn(this.place, serviceOf(declaration), allowLoss), opened }
  }

  /** Stops the service, changes the database, and starts the service with the next declaration. */
  async moved(former: Side, next: Declaration, { dies }: StoryStep): Promise<Side> {
    await former.node.close()
    const losses = lossesBetween(former.declaration, next)
    await this.dying(dies, () => applied(this.place, serviceOf(next), losses))
    this.model.adopt(next)
    const side = this.open(next, losses)
    // The database is changed when `testing` opens it, which may be at its first request.
    await this.ask(side, 'GET', this.path(side, 0, 'parent'))
    return side
  }

  /** Changes the database in two phases, while nodes of both declarations serve. */
  async rolling(former: Side, next: Declaration, { meanwhile, dies }: StoryStep): Promise<Side> {
    const losses = lossesBetween(former.declaration, next)
    const apply = () => applied(this.place, serviceOf(next), losses)
    await alive(this.place)
    await this.dying(dies, apply)
    const { waitsFor } = await apply()
    this.log.push(`waits for ${waitsFor}`)
    this.model.adopt(next)
    const hasTwoPhases = waitsFor.length > 0
    const formerTotals = newest(former.declaration).resources.parent.totals
    const opened = (attribute: string) => !hasTwoPhases || Object.hasOwn(formerTotals, attribute)
    const now = { ...this.open(next, losses, opened), isChanging: hasTwoPhases }
    try {
      const unsure = unsureBetween(former.declaration, next)
      await this.both({ ...former, isChanging: hasTwoPhases, unsure }, now, meanwhile)
    } finally {
      await former.node.close()
      await now.node.close()
    }
    await this.place.rows('DELETE FROM bylaw_nodes')
    await this.dying(dies, apply)
    const { left } = await apply()
    assert.deepEqual(left, [])
    this.model.adopt(next)
    return this.open(next)
  }

  /** Sends requests to nodes of both declarations. */
  async both(former: Side, now: Side, meanwhile: readonly number[]): Promise<void> {
    this.distinct = uniqueInOne(former.declaration, now.declaration)
    for (const one of [now, former]) await this.check(one)
    for (const one of meanwhile) {
      const roll = dice(one)
      const side = roll.chance(50) ? former : now
      this.log.push(side === now ? 'new node:' : 'old node:')
      await this.operate(side, roll)
      this.model.adopt(now.declaration)
      this.model.adopt(former.declaration, true)
    }
    for (const one of [former, now]) await this.check(one)
    this.distinct = new Set()
  }

  /** Runs a migration whose process dies after a number of commits. */
  async dying(dies: number, act: () => Promise<unknown>): Promise<void> {
    if (dies === 0) return
    if (this.place.url.startsWith('postgres')) return this.killed(dies, act)
    const { prototype } = DatabaseSync
    const { exec } = prototype
    let commits = 0
    let isDead = false
    prototype.exec = function (text) {
      if (isDead && text !== 'ROLLBACK') throw new Error('the process is dead')
      exec.call(this, text)
      if (text === 'COMMIT' && ++commits === dies) {
        isDead = true
        throw new Error('the process is dead')
      }
    }
    try {
      await this.ends(act)
    } finally {
      prototype.exec = exec
    }
  }

  /** Runs a migration whose connections end after some milliseconds, and ends its lease, which would last for 30 seconds. */
  async killed(dies: number, act: () => Promise<unknown>): Promise<void> {
    const ending = this.ends(act)
    await new Promise((resolve) => setTimeout(resolve, dies * 7))
    await cutConnections(this.place)
    await ending
    await this.place.rows('DELETE FROM bylaw_leases')
  }

  async ends(act: () => Promise<unknown>): Promise<void> {
    try {
      await act()
    } catch (error) {
      const { message } = error as Error
      this.log.push(`died: ${message}`)
      if (!/is dead|terminat|connection|closed|EPIPE|ECONNRESET/i.test(message)) throw error
    }
  }

  /** Asserts that `bylaw doctor` would find nothing. */
  async doctor(declaration: Declaration): Promise<void> {
    const migration = await openMigration(serviceOf(declaration), this.place.url, { asItIs: true })
    try {
      assert.deepEqual(await migration.crossCheck(), [])
      const failures: unknown[] = []
      const misfits = await migration.inspect((row) => {
        if (row.failure) failures.push(row.failure)
      })
      assert.deepEqual([misfits, failures], [{}, []])
    } finally {
      migration.close()
    }
  }
}

/** The fields, as `resource.attribute`, that are unique in one of two declarations only. */
function uniqueInOne(former: Declaration, next: Declaration): ReadonlySet<string> {
  const [olds, nows] = [former, next].map(
    (one) => new Set(resourceIds.flatMap((id) => uniqueAttributes(one, id).map((name) => `${id}.${name}`))),
  ) as [Set<string>, Set<string>]
  return new Set([...olds, ...nows].filter((one) => !olds.has(one) || !nows.has(one)))
}
