/** View: how a version shows a resource, prepared at start. Part 2, shape of a response. */
import { createHash } from 'node:crypto'
import type { Resource } from '../resources/resource.ts'

export interface View {
  readonly major: number
  /** Names what decides the bytes besides the revision: shape, visible fields, links. R121. */
  readonly hash: string
  readonly mode: 'strong' | 'weak' | 'off'
  /** Whether writes need a condition. R129. */
  readonly required: boolean
}

export function view({ collection, settings }: Resource, major: number): View {
  const visible = collection.fields.filter(({ hidden }) => !hidden).map(({ name }) => name)
  const hash = createHash('sha256')
    .update(JSON.stringify([major, collection.shape, visible]))
    .digest('hex')
    .slice(0, 6)
  return { major, hash, mode: settings.etag.mode, required: settings.concurrency.required }
}
