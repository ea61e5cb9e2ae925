/** Recorded answers: the answers of versions when they were locked, read from files and replayed. Part 9, versioning. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { servedLabels } from '../contract/gate.ts'
import { derivedFieldsAt } from '../proof/derived.ts'
import { type Deviation, parseExchanges, type RecordedExchange, replayExchanges } from '../proof/exchanges.ts'
import type { Service } from '../service.ts'
import { commandError } from './command-error.ts'
import { openSandbox } from './sandbox.ts'

export const answersPath = (folder: string, label: string): string => join(folder, `${label}.answers.json`)

/** The recorded answers of a version; empty if it has no recording. */
export function readAnswers(folder: string, label: string): readonly RecordedExchange[] {
  const path = answersPath(folder, label)
  const exchanges = existsSync(path) ? parseExchanges(readFileSync(path, 'utf8')) : []
  if (typeof exchanges !== 'string') return exchanges
  throw commandError(
    `${path} holds no recorded answers: ${exchanges}.`,
    'Restore it from version control, or remove it and lock again.',
  )
}

/** Replays the recorded requests of each version on an empty store and returns the first answer that differs. */
export async function findDeviation(
  service: Service,
  folder: string,
): Promise<(Deviation & { readonly label: string }) | null> {
  for (const label of servedLabels(service.declaration)) {
    const exchanges = readAnswers(folder, label)
    if (exchanges.length === 0) continue
    const names = [...service.resources.keys()].flatMap((name) => [...derivedFieldsAt(service.changes, name, label)])
    const derived = new Set(names)
    const stage = await openSandbox(service)
    try {
      const deviation = await replayExchanges(exchanges, label, stage.ask, derived)
      if (deviation) return { ...deviation, label }
    } finally {
      await stage.close()
    }
  }
  return null
}
