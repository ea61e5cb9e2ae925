/** Locks: the files of locked contracts, in the folder `contract` next to the declaration. Part 9, versioning. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { unrevisedFunctions } from '../contract/functions.ts'
import { contractAt, gateMistakes, type LocksByLabel, servedLabels } from '../contract/gate.ts'
import { type Lock, nextLock, parseLock } from '../contract/lock.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import { commandError } from './command-error.ts'

const lockFileName = /^(v[1-9]\d{0,3})\.json$/

export function readLocks(folder: string): LocksByLabel {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder).filter((name) => lockFileName.test(name))
  return new Map(names.map((name) => [lockFileName.exec(name)?.[1] as string, readLock(join(folder, name))]))
}

export function readLock(path: string): Lock {
  const lock = parseLock(readFileSync(path, 'utf8'))
  if (typeof lock !== 'string') return lock
  const mend = 'Restore it from version control, or write it again with `bylaw contract lock`.'
  throw commandError(`${path} is not a locked contract: ${lock}.`, mend)
}

/** The breaking changes to locked versions; empty if no version is locked. */
export const mistakesAgainstLocks = (folder: string, service: Service): Mistake[] => {
  const locks = readLocks(folder)
  return locks.size === 0 ? [] : gateMistakes(service, locks)
}

/** Functions of changes that differ from the locked ones but have the same revision number. */
export const changedFunctionMistakes = (folder: string, { changes }: Service): Mistake[] =>
  unrevisedFunctions(changes, readLocks(folder).values())

/** The full numbers that versions would get if they were locked now, with the additions since their last lock. R187. */
export function lockedVersionNumbers(folder: string, service: Service): ReadonlyMap<string, string> {
  const served = new Set(servedLabels(service.declaration))
  const locks = [...readLocks(folder)].filter(([label]) => served.has(label))
  return new Map(locks.map(([label, lock]) => [label, nextLock(contractAt(service, label), label, lock).lock.version]))
}

/** Released versions that are not locked; empty if no version is locked. */
export function unlockedVersions(folder: string, { declaration }: Service): string[] {
  const locks = readLocks(folder)
  const released = (label: string) => Date.parse(declaration.versions?.[label]?.released ?? '') <= Date.now()
  return locks.size === 0 ? [] : servedLabels(declaration).filter((label) => !locks.has(label) && released(label))
}

/** The label of the version, from the name of its lock file. */
export const labelOfLock = (path: string): string | undefined => lockFileName.exec(basename(path))?.[1]
