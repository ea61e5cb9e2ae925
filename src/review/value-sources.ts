/** Value sources: finds required values that a change leaves without a source. Part 9, versions. */

import { type DeclarationPath, type Finding, report } from '../check/field-check.ts'
import { hasMember } from '../check/kind-options.ts'
import type { Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import { fieldKind, type ValueRules } from '../fields/kind.ts'
import { isObject, valueCheckOf } from '../fields/value-check.ts'
import { type Change, referencedResource } from '../resources/change.ts'
import {
  dependsOnRows,
  operations,
  type ResourceDeclaration,
  resolveConcepts,
  ruleCovers,
  ruleFor,
  type VersionedDeclaration,
} from '../resources/declaration.ts'

/** One change, and the declaration of its version that it is checked against. */
export interface ChangeCheck {
  readonly change: Change
  readonly path: DeclarationPath
  readonly declaration: VersionedDeclaration
  readonly rules: ValueRules
  readonly own: ResourceDeclaration
  /** The changes of later versions, the newest first. */
  readonly later: readonly Change[]
  readonly findings: Finding[]
}

export const isOmittable = ({ kind, options }: Field, { kinds }: ValueRules): boolean =>
  options.optional === true || options.default !== undefined || fieldKind(kind, kinds).empty !== undefined

/** Checks that every required value of old requests and old answers has a source. */
export function checkValueSources(check: ChangeCheck): void {
  const { change, path, own, declaration, findings, rules } = check
  const { added = [], removed = {}, moved = {}, required = {}, request, response, begins, ends } = change
  if (begins || ends) return
  const concepts = declaration.concepts ?? {}
  const resolve = (field: Field) => resolveConcepts(field, concepts)
  const fields = (names: readonly string[]) => names.filter((name) => hasMember(own.fields, name))
  const links = Object.values(moved).map(({ by }) => by)
  for (const name of fields(added))
    if (!request && !isOmittable(resolve(own.fields[name] as Field), rules) && !links.includes(name))
      report(
        { findings },
        [...path, 'added'],
        `Old requests do not contain \`${name}\`, which is required.`,
        'Write request: (old) => ({ … }), or give the field a default.',
      )
  for (const [name, field] of Object.entries(removed))
    if (!response && isFieldLike(field) && !isOmittable(resolve(field), rules))
      report(
        { findings },
        [...path, 'removed', name],
        'Old answers need a value for it.',
        'Write response: (now) => ({ … }), or give the field a default.',
      )
  checkKinds(check)
  for (const name of fields(Object.keys(required))) {
    const field = resolve(own.fields[name] as Field)
    const at = [...path, 'required', name]
    if (isOmittable(field, rules) && own.states?.field !== name)
      report({ findings }, at, `\`${name}\` is not required.`, 'Leave it out here.')
    const faults: Violation[] = []
    valueCheckOf(field, rules)(required[name], `/${name}`, faults)
    if (faults[0])
      report({ findings }, at, `The field refuses it: ${faults[0].message}`, 'Write a value that it allows.')
  }
  checkScopedFields(check)
}

function checkKinds({ change, path, own, declaration, findings }: ChangeCheck): void {
  const { retyped = {}, request, response } = change
  const kindOf = (field: Field) => resolveConcepts(field, declaration.concepts ?? {}).kind
  for (const [name, field] of Object.entries(retyped).filter(([name]) => hasMember(own.fields, name))) {
    const alike = isFieldLike(field) && kindOf(field) === kindOf(own.fields[name] as Field)
    if (!alike && (!request || !response))
      report(
        { findings },
        [...path, 'retyped', name],
        'The old and the new field have different kinds.',
        'Write request and response, which convert between the two.',
      )
  }
}

/** An older version must not show values that need a scope to callers without it. R169. */
function checkScopedFields(check: ChangeCheck): void {
  const { change, path, own, declaration, findings } = check
  const { added = [], removed = {}, moved = {} } = change
  const scopes = [...new Set(added.flatMap((name) => own.fields[name]?.options.read ?? []))]
  for (const [name, field] of Object.entries(removed))
    for (const scope of scopes.filter((one) => isFieldLike(field) && field.options.read !== one))
      report(
        { findings },
        [...path, 'removed', name],
        `It can contain values that only callers with ${scope} may read.`,
        `Add read: '${scope}' to it.`,
      )
  for (const [name, { by, to, field }] of Object.entries(moved)) {
    const target = referencedResource(own.fields, by, own.parent, declaration.concepts ?? {})
    if (target !== undefined) checkReaders(check, name, target)
    const read = target === undefined ? undefined : declaration.resources[target]?.fields[to]?.options.read
    if (read !== undefined && field && field.options.read !== read)
      report(
        { findings },
        [...path, 'moved', name],
        `It can contain values that only callers with ${read} may read.`,
        `Add read: '${read}' to it.`,
      )
  }
}

/**
 * Callers that get items of an older version must be allowed to read the resource that has a moved field now, or the field
 * must need the scope of that resource. Otherwise an older version would show values that the newest refuses. R169, R195.
 */
function checkReaders(
  { change, path, own, declaration, later, findings }: ChangeCheck,
  name: string,
  target: string,
): void {
  const there = declaration.resources[target]
  const readRule = there && ruleFor(there.access, 'read')
  if (there && [own.access, there.access].some(dependsOnRows))
    report(
      { findings },
      [...path, 'moved', name],
      `Access to items of \`${change.resource}\` or \`${target}\` depends on the item, and an older version would show and find them together.`,
      'Write access rules without alternatives for both, or leave the field where it was.',
    )
  if (!there || (readRule !== undefined && change.moved?.[name]?.field?.options.read === readRule)) return
  const creates = [own, ...[change, ...later].map(({ methods }) => ({ methods: methods?.added }))].some(
    ({ methods }, i) => (methods ?? (i === 0 ? operations : [])).includes('create'),
  )
  const rules = [ruleFor(own.access, 'read'), ...(creates ? [ruleFor(own.access, 'create')] : [])]
  const wider = rules.find((rule) => rule !== undefined && !ruleCovers(readRule, rule))
  if (wider === undefined) return
  const isScope = readRule !== undefined && readRule !== 'authenticated'
  const field = isScope ? `, or read: '${readRule}' in \`field\` of the moved field` : ''
  report(
    { findings },
    [...path, 'moved', name],
    `It would show values of \`${target}\` to callers who may not read \`${target}\`: items of \`${change.resource}\` are readable by '${wider}', and \`access\` of \`${target}\` lets ${readRule === undefined ? 'nobody' : `'${readRule}'`} read.`,
    `Write read: '${wider}' in \`access\` of \`${target}\`, or the same rule at both${field}.`,
  )
}

const isFieldLike = (value: unknown): value is Field => isObject(value) && isObject(value.options)
