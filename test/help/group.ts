/** Group: runs several test files in one process, each in a suite of its own. Loading `src` takes longer than most of them. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** The folder of the groups. */
export const groups = 'test/groups/'

let loading: string | undefined

/** The test file that is being loaded. */
export const testFile = (): string => loading ?? process.argv[1] ?? ''

/** Loads the files of the patterns, from the root of the repository. */
export async function group(...patterns: readonly string[]): Promise<void> {
  for (const path of globSync(patterns).sort())
    await describe(path, async () => {
      loading = path
      try {
        await import(pathToFileURL(join(process.cwd(), path)).href)
      } catch (error) {
        test('loads', () => Promise.reject(error))
      }
    })
}
