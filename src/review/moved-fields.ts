/** Moved fields: mistakes in fields that moved to other resources. Part 9, versions. */

import { report } from '../check/field-check.ts'
import { hasMember, nameHint } from '../check/kind-options.ts'
import type { Field, Fields } from '../fields/field.ts'
import type { FieldKinds } from '../fields/kind.ts'
import { valueInWords } from '../fields/value-check.ts'
import { type Change, majorOf, referencedResource } from '../resources/change.ts'
import { type Operation, operations, type ResourceDeclaration, resolveConcepts } from '../resources/declaration.ts'
import { columnOf } from '../rows/collection.ts'
import type { ChangeCheck } from './value-sources.ts'

/** Checks that moved fields have a target that later versions keep, that old clients can write and query it, and that files stay files. */
export function checkMovedFields(check: ChangeCheck): void {
  const { change, path, own, declaration, findings, rules } = check
  for (const [name, { by, to, field }] of Object.entries(change.moved ?? {})) {
    const target = referencedResource(own.fields, by, own.parent, declaration.concepts ?? {})
    const there = target === undefined ? undefined : declaration.resources[target]
    const refuse = (reason: string, mend: string) => report({ findings }, [...path, 'moved', name], reason, mend)
    if (!there)
      refuse(`${valueInWords(by)} refers to no resource.`, 'Name a reference, or the field with the id of the parent.')
    else if (!hasMember(there.fields, to))
      refuse(
        `\`${target}\` has no field ${valueInWords(to)}.`,
        check.later.some(
          (one) => one.version === change.version && one.resource === target && namesFromChange(one).includes(to),
        )
          ? orderMend(target as string, 'adds it')
          : nameHint(to, Object.keys(there.fields)),
      )
    else if (check.later.some((one) => one.version === change.version && changesField(one, target as string, to)))
      refuse(
        `It has to be the field of ${change.version}, but a change of \`${target}\` before this one already replaces it by its older form.`,
        orderMend(target as string, 'changes it'),
      )
    else if (isFile(there.fields[to], declaration.concepts))
      refuse('It is a file, whose content stays at its item.', 'Leave the file where it was.')
    else {
      const ends = [lostTrackFault(check, change.resource, by), lostTrackFault(check, target as string, to)]
      const resolve = (one: Field) => resolveConcepts(one, declaration.concepts ?? {})
      const closed = unwritableFault(check, { by, to, ...(field && { field }) }, target as string)
      const mistake =
        field &&
        unqueryableFault(resolve(field), resolve(there.fields[to] as Field), `\`${to}\` of \`${target}\``, rules.kinds)
      for (const end of [...ends, closed, mistake]) if (end) refuse(end.reason, end.mend)
    }
  }
  checkRetypedFiles(check)
}

const isFile = (field: Field | undefined, concepts: Fields = {}): boolean =>
  field !== undefined && resolveConcepts(field, concepts).kind === 'file'

/** Refuses a change between files and other kinds: neither can be converted to the other. */
function checkRetypedFiles({ change, path, own, declaration, findings }: ChangeCheck): void {
  for (const [name, was] of Object.entries(change.retyped ?? {}))
    if (isFile(was, declaration.concepts) !== isFile(own.fields[name], declaration.concepts))
      report(
        { findings },
        [...path, 'retyped', name],
        'It is a file in one of the versions only, and a content cannot be converted.',
        'Give the file another name: write the one in `added`, and the other in `removed`.',
      )
}

type FieldMove = NonNullable<Change['moved']>[string]

/** The mistake if old clients cannot write a field where it is now; undefined if they can. */
function unwritableFault(check: ChangeCheck, moved: FieldMove, target: string): ReturnType<typeof lostTrackFault> {
  if (!isClosed(check, moved, target)) return undefined
  return {
    reason: `Old clients write it, but \`${target}\` offers neither \`change\` nor \`replace\`, so nobody can write it there.`,
    mend: "Offer one of them there, or make it read-only for old clients, as field: f.text({ readOnly: true, default: '' }), with the kind of the field.",
  }
}

/** Whether the older version would write a field to rows that no version lets clients change. R169. */
function isClosed(
  { change, own, declaration, later }: ChangeCheck,
  { by, to, field }: FieldMove,
  target: string,
): boolean {
  const optionsOf = (one: Field) => resolveConcepts(one, declaration.concepts ?? {}).options
  const there = declaration.resources[target] as ResourceDeclaration
  const changes = (methods: readonly Operation[] = []) => methods.some((one) => one === 'change' || one === 'replace')
  const offers = (one: ResourceDeclaration) => changes(one.methods ?? operations)
  const others = [change, ...later].flatMap(({ methods }) => [...(methods?.added ?? []), ...(methods?.withdrawn ?? [])])
  const isWritten = offers(own) || (own.methods ?? operations).includes('create')
  const isKept = hasMember(own.fields, by) && optionsOf(own.fields[by] as Field).optional === true // the row itself keeps the value while `by` is null
  const isRead = [field, there.fields[to]].some((one) => one && optionsOf(one).readOnly === true)
  return isWritten && !isKept && !isRead && !offers(there) && !changes(others)
}

const orderMend = (target: string, does: string): string =>
  `Write this change before the change of ${target} that ${does}: each change says what was different before it.`

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
    shown: shownValues = {},
    moved = {},
  } = change
  const is = hasMember(renamed, name) ? (renamed[name] as string) : name
  const others = [retyped, required, mapped, shownValues]
  return (
    was !== undefined ||
    is !== name ||
    hasMember(removed, name) ||
    hasMember(moved, name) ||
    others.some((one) => hasMember(one, is))
  )
}

/** The mistake if lists cannot filter or sort by a field that another resource has now; undefined if they can. */
function unqueryableFault(
  field: Field,
  there: Field,
  place: string,
  kinds: FieldKinds,
): ReturnType<typeof lostTrackFault> {
  const asks = (['filter', 'sort'] as const).filter((one) => field.options[one])
  const lacks = asks.filter((one) => !there.options[one])
  const both = asks.map((one) => `\`${one}\``).join(' and ')
  if (lacks.length > 0)
    return {
      reason: `Lists of older versions query ${place} for it, which has no ${lacks.map((one) => `\`${one}\``).join(' and ')}.`,
      mend: `Add it there too, or leave it out of \`field\`; then older versions refuse it.`,
    }
  const [own, other] = [columnOf('', field, kinds), columnOf('', there, kinds)]
  if (
    asks.length > 0 &&
    (own.type !== other.type || (own.form !== other.form && /decimal|folded/.test(own.form + other.form)))
  )
    return {
      reason: `Lists would compare it with ${place}, which is stored in another format.`,
      mend: `Leave ${both} out of \`field\`; then older versions refuse them.`,
    }
  if (asks.length > 0 && there.options.optional && field.options.default !== undefined)
    return {
      reason: `Where ${place} is null, older versions show the default, but their lists cannot find it by that value.`,
      mend: `Give ${place} the same default, or leave ${both} out of \`field\`; then older versions refuse them.`,
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
        reason: `${place} moves again in ${version}.`,
        mend: `Move it here to where ${version} has it: a field can move only once.`,
      }
    if (hasMember(removed, name) && (at === change.resource || !next.response))
      return {
        reason: `${place} is removed in ${version}.`,
        mend: `Keep it in ${next.resource}, or leave it out here too.`,
      }
    if (hasMember(renamed, name)) name = renamed[name] as string
    at = next.resource
  }
  return undefined
}
