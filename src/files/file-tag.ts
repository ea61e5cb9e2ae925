/** File tag: the entity tag of a content. It covers what its headers say, as they change with it. Part 7. R121. */
import { createHash } from 'node:crypto'
import type { FileMember } from '../fields/field.ts'

export const fileTag = ({ sha256, type, name }: FileMember): string =>
  `"${createHash('sha256')
    .update(JSON.stringify([sha256, type, name]))
    .digest('base64url')
    .slice(0, 22)}"`
