/** Open contents: opens the place of files that `--files` names. Part 2, fields. */
import { resolve } from 'node:path'
import type { ContentStore, World } from '../flow/world.ts'
import { bucketContents } from './bucket.ts'
import { bucketPlace } from './bucket-place.ts'
import { folderContents } from './folder.ts'
import { memoryContents } from './memory.ts'

const urlPattern = /^[a-z][a-z0-9+.-]+:/i

/** Whether a place is a folder, which can be missing. */
export const isFolderPlace = (place: string): boolean => place !== ':memory:' && !urlPattern.test(place)

/** A folder, a bucket as `s3://name`, or `:memory:`. Throws if the place cannot be used. */
export async function openContents(place: string, world: World): Promise<ContentStore> {
  if (place === ':memory:') return memoryContents()
  if (/^s3:/i.test(place)) return bucketContents(bucketPlace(place, world), world)
  if (!isFolderPlace(place)) throw new Error('it is neither a folder nor a bucket (s3://…).')
  return folderContents(resolve(place))
}
