/** Locks: the files that published contracts are kept in, in the folder `contract` beside the declaration. Part 9, versioning. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { unnumbered } from '../contract/functions.ts'
import { contractAt, gateMistakes, type Locks, servedOf } from '../contract/gate.ts'
import { type Lock, lockIn, locking } from '../contract/lock.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import { complaint } from './complaint.ts'

const lockName = /^(v[1-9]\d{0,3})\.json$/

export function readLocks(folder: string): Locks {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder).filter((name) => lockName.test(name))
  return new Map(names.map((name) => [lockName.exec(name)?.[1] as string, readLock(join(folder, name))]))
}

export function readLock(path: string): Lock {
  const lock = lockIn(readFileSync(path, 'utf8'))
  if (typeof lock !== 'string') return lock
  const mend = 'Take it back from version control, or write it anew with `bylaw contract lock`.'
  throw complaint(`${path} is no locked contract: ${lock}.`, mend)
}

/** What consumers of locked versions would meet otherwise; nothing where none is locked. */
export const gateOf = (folder: string, service: Service): Mistake[] => {
  const locks = readLocks(folder)
  return locks.size === 0 ? [] : gateMistakes(service, locks)
}

/** Functions of changes that are others than the locked ones, under the same number. */
export const renumberingOf = (folder: string, { changes }: Service): Mistake[] =>
  unnumbered(changes, readLocks(folder).values())

/** The full numbers of locked versions, with what was added since: as they would be locked now. R187. */
export function numbersIn(folder: string, service: Service): ReadonlyMap<string, string> {
  const served = new Set(servedOf(service.declaration))
  const locks = [...readLocks(folder)].filter(([label]) => served.has(label))
  return new Map(locks.map(([label, lock]) => [label, locking(contractAt(service, label), label, lock).lock.version]))
}

/** Versions that are released and of which nothing is locked, where others are. */
export function unlocked(folder: string, { declaration }: Service): string[] {
  const locks = readLocks(folder)
  const released = (label: string) => Date.parse(declaration.versions?.[label]?.released ?? '') <= Date.now()
  return locks.size === 0 ? [] : servedOf(declaration).filter((label) => !locks.has(label) && released(label))
}

/** A label of a version, from the name of its lock. */
export const labelIn = (path: string): string | undefined => lockName.exec(basename(path))?.[1]
