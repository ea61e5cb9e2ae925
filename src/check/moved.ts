/** Finds what is wrong with fields that moved to other resources. Part 9, versions. */
import { type Change, majorOf, targetOf } from '../resources/change.ts'
import { columnOf } from '../resources/collection.ts'
import { type Operation, operations, type ResourceDeclaration, resolved } from '../resources/declaration.ts'
import type { Field } from '../resources/field.ts'
import { guessed, has, shown } from './bounds.ts'
import type { Scene } from './carried.ts'
import { note } from './soundness.ts'

/** What moved leads somewhere, and later versions leave both ends in their places. */
export function checkMoved(scene: Scene): void {
  const { change, path, own, around, found } = scene
  for (const [name, { by, to, field }] of Object.entries(change.moved ?? {})) {
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
        scene.later.some((one) => one.version === change.version && one.resource === target && names(one).includes(to))
          ? above(target as string, 'brings it')
          : guessed(to, Object.keys(there.fields)),
      )
    else if (scene.later.some((one) => one.version === change.version && touches(one, target as string, to)))
      note(
        { found },
        [...path, 'moved', name],
        `It is to be that of ${change.version}, and stands here as it was before.`,
        above(target as string, 'changes it'),
      )
    else {
      const ends = [fate(scene, change.resource, by), fate(scene, target as string, to)]
      const whole = (one: Field) => resolved(one, around.concepts ?? {})
      const closed = unwritable(scene, { by, to, ...(field && { field }) }, target as string)
      const asked = field && unasked(whole(field), whole(there.fields[to] as Field), `\`${to}\` of \`${target}\``)
      for (const end of [...ends, closed, asked])
        if (end) note({ found }, [...path, 'moved', name], end.reason, end.mend)
    }
  }
}

type Moved = NonNullable<Change['moved']>[string]

/** Why old clients cannot write a field where it is now; undefined where they can. */
function unwritable(scene: Scene, moved: Moved, target: string): ReturnType<typeof fate> {
  if (!isClosed(scene, moved, target)) return undefined
  return {
    reason: `Old clients write it, and \`${target}\` offers neither \`change\` nor \`replace\`, so that nobody may write it there.`,
    mend: "Offer one of them there, or let old clients only read it, as field: f.text({ readOnly: true, default: '' }) with its own kind.",
  }
}

/** Whether an older version could write a field only to rows that no version lets anybody change. R169. */
function isClosed({ change, own, around, later }: Scene, { by, to, field }: Moved, target: string): boolean {
  const whole = (one: Field) => resolved(one, around.concepts ?? {}).options
  const there = around.resources[target] as ResourceDeclaration
  const changes = (methods: readonly Operation[] = []) => methods.some((one) => one === 'change' || one === 'replace')
  const offers = (one: ResourceDeclaration) => changes(one.methods ?? operations)
  const others = [change, ...later].flatMap(({ methods }) => [...(methods?.added ?? []), ...(methods?.withdrawn ?? [])])
  const isWritten = offers(own) || (own.methods ?? operations).includes('create')
  const isKept = has(own.fields, by) && whole(own.fields[by] as Field).optional === true // the own row has it then
  const isRead = [field, there.fields[to]].some((one) => one && whole(one).readOnly === true)
  return isWritten && !isKept && !isRead && !offers(there) && !changes(others)
}

const above = (target: string, does: string): string =>
  `Write this change before the one of ${target}, which ${does}: each one says what was before it.`

/** Fields that have their names from a change. */
const names = ({ added = [], renamed = {} }: Change): readonly string[] => [...added, ...Object.values(renamed)]

/** Whether a field, under the name that it had before a change, is another one behind it. */
function touches(change: Change, resource: string, name: string): boolean {
  if ((change.was ?? change.resource) !== resource) return false
  const {
    was,
    renamed = {},
    removed = {},
    retyped = {},
    required = {},
    mapped = {},
    shown: told = {},
    moved = {},
  } = change
  const is = has(renamed, name) ? (renamed[name] as string) : name
  const others = [retyped, required, mapped, told]
  return (
    was !== undefined || is !== name || has(removed, name) || has(moved, name) || others.some((one) => has(one, is))
  )
}

/** Why lists cannot be asked for a field by what another resource has; undefined where they can. */
function unasked(field: Field, there: Field, place: string): ReturnType<typeof fate> {
  const asks = (['filter', 'sort'] as const).filter((one) => field.options[one])
  const lacks = asks.filter((one) => !there.options[one])
  const both = asks.map((one) => `\`${one}\``).join(' and ')
  if (lacks.length > 0)
    return {
      reason: `Lists are asked for it by ${place}, which has no ${lacks.map((one) => `\`${one}\``).join(' and ')}.`,
      mend: `Write it there too, or leave it out of \`field\`: then it is refused.`,
    }
  const [own, other] = [columnOf('', field), columnOf('', there)]
  if (
    asks.length > 0 &&
    (own.type !== other.type || (own.form !== other.form && /decimal|folded/.test(own.form + other.form)))
  )
    return {
      reason: `It would be compared with ${place}, whose values are of another form.`,
      mend: `Leave ${both} out of \`field\`: then they are refused.`,
    }
  if (asks.length > 0 && there.options.optional && field.options.default !== undefined)
    return {
      reason: `Where ${place} is null its default is shown, and lists would not find it by that.`,
      mend: `Let ${place} have the default, or leave ${both} out of \`field\`.`,
    }
  return undefined
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
