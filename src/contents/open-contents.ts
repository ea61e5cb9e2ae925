/** Open contents: opens the place of files that `--files` names. Part 2, fields. */
import { resolve } from 'node:path'
import type { ContentStore, World } from '../flow/world.ts'
import { bucketContents } from './bucket.ts'
import { bucketPlace } from './bucket-place.ts'
import { folderContents } from './folder.ts'
import { memoryContents } from './memory.ts'

/** A folder, a bucket as `s3://name`, or `:memory:`. Throws if the place cannot be used. */
export async function openContents(place: string, world: World): Promise<ContentStore> {
  if (place === ':memory:') return memoryContents()
  if (/^s3:/i.test(place)) return bucketContents(bucketPlace(place, world), world)
  if (/^[a-z][a-z0-9+.-]+:/i.test(place)) throw new Error('it is neither a folder nor a bucket (s3://…).')
  return folderContents(resolve(place))
}
