/** Finds what is wrong with fields that moved to other resources. Part 9, versions. */
import { majorOf, targetOf } from '../resources/change.ts'
import { guessed, has, shown } from './bounds.ts'
import type { Scene } from './carried.ts'
import { note } from './soundness.ts'

/** What moved leads somewhere, and later versions leave both ends in their places. */
export function checkMoved(scene: Scene): void {
  const { change, path, own, around, found } = scene
  for (const [name, { by, to }] of Object.entries(change.moved ?? {})) {
    const target = targetOf(own.fields, by, own.parent, around.concepts ?? {})
    const there = target === undefined ? undefined : around.resources[target]
    if (!there)
      note(
        { found },
        [...path, 'moved', name],
        `${shown(by)} leads to no resource.`,
        'Name a reference, or the field of the parent.',
      )
    else if (!has(there.fields, to))
      note(
        { found },
        [...path, 'moved', name],
        `\`${target}\` has no field ${shown(to)}.`,
        scene.later.some((one) => one.version === change.version && one.resource === target && one.added?.includes(to))
          ? `Write this change before the one of ${target}, which adds it: each one says what was before it.`
          : guessed(to, Object.keys(there.fields)),
      )
    else {
      const ends = [fate(scene, change.resource, by), fate(scene, target as string, to)]
      for (const end of ends) if (end) note({ found }, [...path, 'moved', name], end.reason, end.mend)
    }
  }
}

/** Why a field cannot be followed through later versions; undefined where it can. */
function fate({ change, later }: Scene, resource: string, field: string): { reason: string; mend: string } | undefined {
  let [at, name] = [resource, field]
  for (const next of later.toReversed()) {
    const { version, renamed = {}, moved = {}, removed = {} } = next
    if (majorOf(version) <= majorOf(change.version) || (next.was ?? next.resource) !== at) continue
    const place = `\`${name}\` of \`${at}\``
    if (has(moved, name))
      return {
        reason: `${place} moved on in ${version}.`,
        mend: `Let it be where ${version} has it from here on: what moves twice cannot be followed.`,
      }
    if (has(removed, name) && (at === change.resource || !next.response))
      return {
        reason: `${place} is not there any more from ${version} on.`,
        mend: `Keep it in ${next.resource}, or leave it out here too.`,
      }
    if (has(renamed, name)) name = renamed[name] as string
    at = next.resource
  }
  return undefined
}
