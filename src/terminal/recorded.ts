/** Recorded: what versions answered when they were locked, read from their files and asked for again. Part 9, versioning. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { servedOf } from '../contract/gate.ts'
import { answersIn, type Deviation, type Exchange, replayed } from '../proof/answers.ts'
import { derivedAt } from '../proof/derived.ts'
import type { Service } from '../service.ts'
import { complaint } from './complaint.ts'
import { staged } from './stage.ts'

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
