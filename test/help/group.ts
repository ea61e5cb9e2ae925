/** Group: runs several test files in one process, each in a suite of its own. Loading `src` takes longer than most of them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folder of the groups. */
export const groups = 'test/groups/'

const cwd = fileURLToPath(new URL('../../', import.meta.url))
let loading: string | undefined

/** The test file that is being loaded. */
export const testFile = (): string => loading ?? process.argv[1] ?? ''

/** The files that `npm test` starts: groups, and test files that have a process of their own. */
export function startedFiles(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
  const patterns = [...scripts.test.matchAll(/ "?([\w/{},.*-]+\.ts)(?="| |$)/g)]
  return globSync(
    patterns.map(([, pattern]) => pattern),
    { cwd },
  )
}

/** The files of patterns, but for those that have a process of their own. */
export function groupedFiles(patterns: readonly string[]): string[] {
  const alone = new Set(startedFiles())
  return globSync(patterns, { cwd })
    .filter((path) => !alone.has(path))
    .sort()
}

export async function group(...patterns: readonly string[]): Promise<void> {
  for (const path of groupedFiles(patterns))
    await describe(path, async () => {
      loading = path
      try {
        await import(pathToFileURL(join(cwd, path)).href)
      } catch (error) {
        test('loads', () => Promise.reject(error))
      }
    })
}
