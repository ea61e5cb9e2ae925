/** Open contents: opens the place of files that `--files` names. Part 2, fields. */
import { resolve } from 'node:path'
import type { ContentStore } from '../flow/world.ts'
import { folderContents } from './folder.ts'
import { memoryContents } from './memory.ts'

/** A folder, or `:memory:`. Throws if the place cannot be used. */
export async function openContents(place: string): Promise<ContentStore> {
  if (place === ':memory:') return memoryContents()
  if (/^[a-z][a-z0-9+.-]+:/i.test(place)) throw new Error(`"${place}" is no folder.`)
  return folderContents(resolve(place))
}
