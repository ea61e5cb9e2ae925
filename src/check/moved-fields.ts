/** Moved fields: mistakes in fields that moved to other resources. Part 9, versions. */

import type { Field } from '../fields/field.ts'
import { type Change, majorOf, referencedResource } from '../resources/change.ts'
import { type Operation, operations, type ResourceDeclaration, resolveConcepts } from '../resources/declaration.ts'
import { columnOf } from '../rows/collection.ts'
import { report } from './field-check.ts'
import { hasMember, nameHint, valueInWords } from './kind-options.ts'
import type { ChangeCheck } from './value-sources.ts'

/** Checks that moved fields have a target, and that no later version moves or removes either end. */
export function checkMovedFields(scene: ChangeCheck): void {
  const { change, path, own, around, found } = scene
  for (const [name, { by, to, field }] of Object.entries(change.moved ?? {})) {
    const target = referencedResource(own.fields, by, own.parent, around.concepts ?? {})
    const there = target === undefined ? undefined : around.resources[target]
    const refuse = (reason: string, mend: string) => report({ found }, [...path, 'moved', name], reason, mend)
    if (!there) refuse(`${valueInWords(by)} leads to no resource.`, 'Name a reference, or the field of the parent.')
    else if (!hasMember(there.fields, to))
      refuse(
        `\`${target}\` has no field ${valueInWords(to)}.`,
        scene.later.some(
          (one) => one.version === change.version && one.resource === target && namesFromChange(one).includes(to),
        )
          ? orderMend(target as string, 'brings it')
          : nameHint(to, Object.keys(there.fields)),
      )
    else if (scene.later.some((one) => one.version === change.version && changesField(one, target as string, to)))
      refuse(
        `It is to be that of ${change.version}, and stands here as it was before.`,
        orderMend(target as string, 'changes it'),
      )
    else {
      const ends = [lostTrackFault(scene, change.resource, by), lostTrackFault(scene, target as string, to)]
      const whole = (one: Field) => resolveConcepts(one, around.concepts ?? {})
      const closed = unwritableFault(scene, { by, to, ...(field && { field }) }, target as string)
      const asked =
        field && unqueryableFault(whole(field), whole(there.fields[to] as Field), `\`${to}\` of \`${target}\``)
      for (const end of [...ends, closed, asked]) if (end) refuse(end.reason, end.mend)
    }
  }
}

type FieldMove = NonNullable<Change['moved']>[string]

/** The mistake if old clients cannot write a field where it is now; undefined if they can. */
function unwritableFault(scene: ChangeCheck, moved: FieldMove, target: string): ReturnType<typeof lostTrackFault> {
  if (!isClosed(scene, moved, target)) return undefined
  return {
    reason: `Old clients write it, and \`${target}\` offers neither \`change\` nor \`replace\`, so that nobody may write it there.`,
    mend: "Offer one of them there, or let old clients only read it, as field: f.text({ readOnly: true, default: '' }) with its own kind.",
  }
}

/** Whether the older version would write a field to rows that no version allows to change. R169. */
function isClosed({ change, own, around, later }: ChangeCheck, { by, to, field }: FieldMove, target: string): boolean {
  const whole = (one: Field) => resolveConcepts(one, around.concepts ?? {}).options
  const there = around.resources[target] as ResourceDeclaration
  const changes = (methods: readonly Operation[] = []) => methods.some((one) => one === 'change' || one === 'replace')
  const offers = (one: ResourceDeclaration) => changes(one.methods ?? operations)
  const others = [change, ...later].flatMap(({ methods }) => [...(methods?.added ?? []), ...(methods?.withdrawn ?? [])])
  const isWritten = offers(own) || (own.methods ?? operations).includes('create')
  const isKept = hasMember(own.fields, by) && whole(own.fields[by] as Field).optional === true // without `by`, the own row has it
  const isRead = [field, there.fields[to]].some((one) => one && whole(one).readOnly === true)
  return isWritten && !isKept && !isRead && !offers(there) && !changes(others)
}

const orderMend = (target: string, does: string): string =>
  `Write this change before the one of ${target}, which ${does}: each one says what was before it.`

/** The fields that have their names since a change. */
const namesFromChange = ({ added = [], renamed = {} }: Change): readonly string[] => [
  ...added,
  ...Object.values(renamed),
]

/** Whether a change alters the field that had this name before it. */
function changesField(change: Change, resource: string, name: string): boolean {
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
  const is = hasMember(renamed, name) ? (renamed[name] as string) : name
  const others = [retyped, required, mapped, told]
  return (
    was !== undefined ||
    is !== name ||
    hasMember(removed, name) ||
    hasMember(moved, name) ||
    others.some((one) => hasMember(one, is))
  )
}

/** The mistake if lists cannot filter or sort by a field that another resource has now; undefined if they can. */
function unqueryableFault(field: Field, there: Field, place: string): ReturnType<typeof lostTrackFault> {
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

/** The mistake if a field cannot be followed through later versions; undefined if it can. */
function lostTrackFault(
  { change, later }: ChangeCheck,
  resource: string,
  field: string,
): { reason: string; mend: string } | undefined {
  let [at, name] = [resource, field]
  for (const next of later.toReversed()) {
    const { version, renamed = {}, moved = {}, removed = {} } = next
    if (majorOf(version) <= majorOf(change.version) || (next.was ?? next.resource) !== at) continue
    const place = `\`${name}\` of \`${at}\``
    if (hasMember(moved, name))
      return {
        reason: `${place} moved on in ${version}.`,
        mend: `Let it be where ${version} has it from here on: what moves twice cannot be followed.`,
      }
    if (hasMember(removed, name) && (at === change.resource || !next.response))
      return {
        reason: `${place} is not there any more from ${version} on.`,
        mend: `Keep it in ${next.resource}, or leave it out here too.`,
      }
    if (hasMember(renamed, name)) name = renamed[name] as string
    at = next.resource
  }
  return undefined
}
