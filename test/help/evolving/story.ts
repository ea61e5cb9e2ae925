/** Runs a story: declarations one after the other on one database, with requests between and during their changes. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { openMigration } from '../../../src/terminal/open.ts'
import { alive, applied, nodeOn, type Place } from '../places.ts'
import { changed, firstDeclaration } from './changes.ts'
import { type Declaration, newest, resourceIds } from './declaration.ts'
import { dice } from './dice.ts'
import { lossesBetween, uniqueAttributes, unsureBetween } from './model.ts'
import { Requests, type Side } from './requests.ts'
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
    this.place = place
  }

  async story({ seed, first, steps }: Story): Promise<void> {
    let declaration = firstDeclaration(dice(seed))
    this.log.push(`first: ${JSON.stringify(declaration)}`)
    let side = this.open(declaration)
    try {
      for (const one of first) await this.operate(side, dice(one))
      await this.check(side)
      for (const step of steps) {
        const former = side
        const { next, log } = changed(declaration, step.versioned, step.changes.map(dice), this.model.isDistinct)
        if (step.withdrawn && !step.rolling && next.versions.length > 2) next.versions.shift()
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

  async moved(former: Side, next: Declaration, { dies }: StoryStep): Promise<Side> {
    await former.node.close()
    await this.dying(dies, () => applied(this.place, serviceOf(next), lossesBetween(former.declaration, next)))
    this.model.adopt(next)
    return this.open(next, lossesBetween(former.declaration, next))
  }

  async rolling(former: Side, next: Declaration, { meanwhile, dies }: StoryStep): Promise<Side> {
    const losses = lossesBetween(former.declaration, next)
    const service = serviceOf(next)
    await alive(this.place)
    await this.dying(dies, () => applied(this.place, service, losses))
    const { waitsFor } = await applied(this.place, service, losses)
    this.model.adopt(next)
    former.unsure = unsureBetween(former.declaration, next)
    const former_ = newest(former.declaration).resources.parent.totals
    const opened = (attribute: string) => waitsFor.length === 0 || Object.hasOwn(former_, attribute)
    const now = this.open(next, losses, opened)
    const [olds, nows] = [former.declaration, next].map(
      (one) => new Set(resourceIds.flatMap((id) => uniqueAttributes(one, id).map((name) => `${id}.${name}`))),
    ) as [Set<string>, Set<string>]
    this.distinct = new Set([...olds, ...nows].filter((one) => !olds.has(one) || !nows.has(one)))
    this.log.push(`waits for ${waitsFor}`)
    try {
      await this.check(now)
      if (waitsFor.length > 0) await this.check(former)
      for (const one of meanwhile) {
        const roll = dice(one)
        const old = waitsFor.length > 0 && roll.chance(50)
        this.log.push(old ? 'old node:' : 'new node:')
        await this.operate(old ? former : now, roll)
        this.model.adopt(next)
        this.model.adopt(former.declaration, true)
      }
      if (waitsFor.length > 0) await this.check(former)
      await this.check(now)
    } finally {
      await former.node.close()
      await now.node.close()
    }
    this.distinct = new Set()
    await this.place.rows('DELETE FROM bylaw_nodes')
    await this.dying(dies, () => applied(this.place, service, losses))
    const { left } = await applied(this.place, service, losses)
    assert.deepEqual(left, [])
    this.model.adopt(next)
    return this.open(next)
  }

  /** Runs a migration whose process dies after a number of commits. */
  async dying(dies: number, act: () => Promise<unknown>): Promise<void> {
    if (dies === 0) return
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
    const killing = this.place.url.startsWith('postgres') ? this.kill(dies) : null
    try {
      await act()
    } catch (error) {
      this.log.push(`died: ${(error as Error).message}`)
      if (!/is dead|terminat|connection|closed/i.test(String((error as Error).message))) throw error
    } finally {
      prototype.exec = exec
      await killing
    }
  }

  async kill(dies: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, dies * 7))
    await this.place.rows(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
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
