/** Open contents: opens the place of files that `--files` names. Part 2, fields. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ContentStore, World } from '../flow/world.ts'
import { bucketContents, probeName } from './bucket.ts'
import { bucketPlace } from './bucket-place.ts'
import { folderContents } from './folder.ts'
import { memoryContents } from './memory.ts'

const urlPattern = /^[a-z][a-z0-9+.-]+:/i

/** Whether a place is a folder, which can be missing. */
export const isFolderPlace = (place: string): boolean => place !== ':memory:' && !urlPattern.test(place)

/** A folder, a bucket as `s3://name`, or `:memory:`. Throws if the place cannot be read or, with `writes`, not be written. */
export async function openContents(place: string, world: World, writes = true): Promise<ContentStore> {
  if (place === ':memory:') return memoryContents()
  if (/^s3:/i.test(place)) return bucketContents(bucketPlace(place, world), world, writes)
  if (!isFolderPlace(place)) throw new Error('it is neither a folder nor a bucket (s3://…).')
  const folder = resolve(place)
  if (writes && existsSync(folder)) tryWriting(folder)
  return folderContents(folder)
}

/** Writes and removes a file, to check the right to write. Other processes may do the same at the same time. */
function tryWriting(folder: string): void {
  writeFileSync(join(folder, probeName), '')
  rmSync(join(folder, probeName), { force: true })
}
