/** File makers: the write of a row takes the contents into use that it names, and releases those that it named before. Part 2. */
import type { DocumentWrite, EffectMaker } from '../effects/effect-maker.ts'
import { Problem } from '../errors/problem.ts'
import type { FileMember } from '../fields/field.ts'
import { isFileMember } from '../fields/file-kind.ts'
import type { Document } from '../flow/intent.ts'
import { type TablePlan, tablePlan } from '../flow/table.ts'
import { historyRetention } from '../resources/own-operations.ts'
import type { Resource } from '../resources/resource.ts'
import { releaseContent, useContent } from './file-table.ts'

/** Names the content of a dry run, which is not stored. */
export const dryContent = 'dry'

/** How long a content may wait for the write that names it; it is removed later. */
const mostWait = 23 * 60 * 60 * 1000

const fileFields = ({ members }: Resource): readonly string[] =>
  members.filter(({ field }) => field.kind === 'file').map(({ name }) => name)

/** Whether a service has files. */
export const hasFiles = (resources: ReadonlyMap<string, Resource>): boolean =>
  [...resources.values()].some((one) => fileFields(one).length > 0)

export const fileMakers = (resources: ReadonlyMap<string, Resource>): EffectMaker[] =>
  [...resources.values()].flatMap((resource) => {
    const fields = fileFields(resource)
    return fields.length === 0 ? [] : [fileMaker(resource, fields)]
  })

function fileMaker({ name, declaration: { history }, settings }: Resource, fields: readonly string[]): EffectMaker {
  // Revisions keep their contents: those are released when the last revision that can name them is forgotten.
  const retention = history ? historyRetention(history, settings) : 0
  const used = (write: DocumentWrite): readonly TablePlan[] =>
    changedFiles(fields, write.before, write.after).map(({ href }) =>
      tablePlan(useContent, { name: href, since: write.time - mostWait, none: null }),
    )
  const released = ({ before, after, time }: DocumentWrite): readonly TablePlan[] =>
    retention === null
      ? []
      : changedFiles(fields, after, before).map(({ href }) =>
          tablePlan(releaseContent, { name: href, unused: time + retention }),
        )
  return {
    resource: name,
    reads: (write) => [...used(write), ...released(write)],
    decide: (write, { results }) => {
      for (const [i] of used(write).entries()) {
        const rows = results[i]
        if (rows?.is === 'rows' && rows.rows.length > 0) continue
        throw new Problem(
          'conflict',
          'The content that was uploaded is no longer there, or another item has it. Send it again.',
        )
      }
      return []
    },
  }
}

/** The files that a document has and another one does not. */
const changedFiles = (fields: readonly string[], without: Document | null, having: Document | null): FileMember[] =>
  fields.flatMap((field) => {
    const [own, other] = [having?.[field], without?.[field]]
    const isSame = isFileMember(own) && isFileMember(other) && own.href === other.href
    return isFileMember(own) && !isSame && own.href !== dryContent ? [own] : []
  })
