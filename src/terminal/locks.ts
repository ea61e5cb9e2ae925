/** Locks: the files that published contracts are kept in, in the folder `contract` beside the declaration. Part 9, versioning. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gateMistakes, type Locks, servedOf } from '../contract/gate.ts'
import { type Lock, lockIn } from '../contract/lock.ts'
import { answersIn, type Deviation, type Exchange, replayed } from '../proof/answers.ts'
import { derivedAt } from '../proof/derived.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import { complaint } from './complaint.ts'
import { staged } from './stage.ts'

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

export const answersPath = (folder: string, label: string): string => join(folder, `${label}.answers.json`)

/** What a version answered when it was locked; nothing where it was not recorded. */
export function readAnswers(folder: string, label: string): readonly Exchange[] {
  const path = answersPath(folder, label)
  const found = existsSync(path) ? answersIn(readFileSync(path, 'utf8')) : []
  if (typeof found !== 'string') return found
  throw complaint(
    `${path} holds no recorded answers: ${found}.`,
    'Take it back from version control, or remove it and lock anew.',
  )
}

/** Asks every version for its recorded answers again, each on an empty store; the first that is another one. */
export async function deviating(
  service: Service,
  folder: string,
): Promise<(Deviation & { readonly label: string }) | null> {
  for (const label of servedOf(service.declaration)) {
    const exchanges = readAnswers(folder, label)
    if (exchanges.length === 0) continue
    const names = [...service.resources.keys()].flatMap((name) => [...derivedAt(service.changes, name, label)])
    const derived = new Set(names)
    const stage = await staged(service)
    try {
      const found = await replayed(exchanges, label, stage.ask, derived)
      if (found) return { ...found, label }
    } finally {
      await stage.close()
    }
  }
  return null
}

/** What consumers of locked versions would meet otherwise; nothing where none is locked. */
export const gateOf = (folder: string, service: Service): Mistake[] => {
  const locks = readLocks(folder)
  return locks.size === 0 ? [] : gateMistakes(service, locks)
}

/** A label of a version, from the name of its lock. */
export const labelIn = (path: string): string | undefined => lockName.exec(basename(path))?.[1]
