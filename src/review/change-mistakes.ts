/** Change mistakes: mistakes in the declared changes between versions. Part 9, versions. */

import { declarationMistakes } from '../check/declaration-mistakes.ts'
import { type DeclarationPath, type Finding, pathText, report } from '../check/field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from '../check/kind-options.ts'
import { searchedIn } from '../fields/bounds.ts'
import type { Field } from '../fields/field.ts'
import type { FieldKinds } from '../fields/kind.ts'
import { standardKinds } from '../fields/kinds.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import {
  type Change,
  changeKeys,
  declarationAt,
  declarationBefore,
  majorOf,
  versionLabels,
} from '../resources/change.ts'
import { type Mistake, operations, resolveConcepts, type VersionedDeclaration } from '../resources/declaration.ts'
import { asDeclared } from '../resources/service-fields.ts'
import { readSettings } from '../settings.ts'
import { checkChangedOperations } from './changed-operations.ts'
import { checkChangedStates } from './changed-states.ts'
import { checkDroppedPromises } from './dropped-promises.ts'
import { checkMovedFields } from './moved-fields.ts'
import { checkRetypedOrders } from './retyped-orders.ts'
import { checkUnseenFields } from './unseen-fields.ts'
import { type ChangeCheck, checkValueSources } from './value-sources.ts'

/** All mistakes of the changes; if there are none, those of the older versions that they define. */
export function changeMistakes(
  declaration: VersionedDeclaration,
  changes: readonly Change[],
  kinds: FieldKinds = standardKinds,
): Mistake[] {
  const settings = readSettings(declaration.settings, undefined, false, () => {})
  const rules = { settings, isId: () => true, kinds }
  const findings: Finding[] = []
  let versioned = declaration
  for (const [i, change] of changes.entries()) {
    const path = ['changes', change.version, change.resource]
    checkVersionOfChange(declaration, change, changes[i - 1], path, findings)
    const own = hasMember(versioned.resources, change.resource) ? versioned.resources[change.resource] : undefined
    const clean = findings.length
    if (own) checkChange({ change, path, declaration: versioned, rules, own, findings, later: changes.slice(0, i) })
    else
      report(
        { findings },
        path,
        `There is no resource \`${change.resource}\` in ${change.version}.`,
        nameHint(change.resource, Object.keys(versioned.resources)),
      )
    if (findings.length > clean) break // older changes are checked against the result of this one
    versioned = declarationBefore(versioned, change)
  }
  if (findings.length > 0) return findings.map(({ path, reason, mend }) => ({ place: pathText(path), reason, mend }))
  return versionLabels(declaration)
    .toReversed()
    .flatMap((label) => mistakesOfVersion(declaration, changes, label, kinds))
}

/** Checks the declaration of an older version like a declared one. */
function mistakesOfVersion(
  declaration: VersionedDeclaration,
  changes: readonly Change[],
  label: string,
  kinds: FieldKinds,
): Mistake[] {
  const older = declarationAt(declaration, changes, label)
  const mistakes =
    changes.length === 0
      ? []
      : declarationMistakes(asDeclared(older), kinds, label !== versionLabels(declaration).at(-1))
  return mistakes.map((one) => ({ ...one, place: `${label}: ${one.place}` }))
}

function checkVersionOfChange(
  declaration: VersionedDeclaration,
  { version }: Change,
  last: Change | undefined,
  path: DeclarationPath,
  findings: Finding[],
): void {
  const labels = versionLabels(declaration)
  if (!labels.includes(version) || labels[0] === version) {
    const reason = labels[0] === version ? `${version} is the first version, so` : `There is no version ${version}, so`
    report({ findings }, path, `${reason} it cannot have changes.`, nameHint(version, labels.slice(1)))
  }
  if (last && majorOf(last.version) < majorOf(version))
    report(
      { findings },
      path,
      `The change of ${version} comes after a change of ${last.version}.`,
      'Write changes from the newest version to the oldest: each one says what was different before it.',
    )
}

/** The keys whose values are objects by name. */
const objectKeys = [
  ...['renamed', 'removed', 'retyped', 'required', 'mapped', 'shown', 'moved'],
  ...['states', 'transitions', 'operations', 'writable', 'deprecations', 'errors', 'filters', 'sorts'],
]

function checkFunctions(parts: UncheckedObject, { path, findings }: ChangeCheck): void {
  const mend = 'Write a function from one document to the other.'
  for (const key of ['request', 'response'])
    if (parts[key] !== undefined && typeof parts[key] !== 'function')
      report({ findings }, [...path, key], `It is ${valueInWords(parts[key])}.`, mend)
}

function checkChange(check: ChangeCheck): void {
  const { change, path, findings } = check
  const parts = change as unknown as UncheckedObject
  const known = [...changeKeys, 'version', 'resource'] as readonly string[]
  for (const key of Object.keys(parts).filter((one) => parts[one] !== undefined && !known.includes(one)))
    report({ findings }, [...path, key], `\`${key}\` is not known here.`, nameHint(key, changeKeys))
  if (typeof parts.about !== 'string' || parts.about.trim() === '')
    report(
      { findings },
      path,
      'The change has no description.',
      "Describe it in a sentence, as about: '`name` replaces `title`.'.",
    )
  for (const key of objectKeys)
    if (parts[key] !== undefined && !isObject(parts[key])) {
      report({ findings }, [...path, key], `It is ${valueInWords(parts[key])}.`, `Write an object, as ${key}: { … }.`)
      return
    }
  checkFunctions(parts, check)
  checkRevision(parts.revision, check)
  if (change.begins && change.ends)
    report({ findings }, path, '`begins` and `ends` exclude each other.', 'Leave one of the two out.')
  checkFieldParts(check)
  checkSearch(check)
  checkMethods(check)
  checkChangedStates(check, checkFieldParts)
  checkChangedOperations(check, checkFieldParts)
  checkErrorRenames(check)
  checkMovedFields(check)
  checkRetypedOrders(check)
  checkValueSources(check)
  if (check.findings.length === 0) checkDroppedPromises(check)
  checkUnseenFields(check)
}

function checkRevision(revision: unknown, { path, findings }: ChangeCheck): void {
  if (revision === undefined || (Number.isSafeInteger(revision) && Number(revision) > 0)) return
  const mend = 'Write a whole number from 1 on, as revision: 2.'
  report({ findings }, [...path, 'revision'], `It is ${valueInWords(revision)}.`, mend)
}

/** The parts that name fields or their values. */
function checkFieldParts(check: ChangeCheck): void {
  checkNames(check)
  checkValues(check)
}

/** Named fields must exist, and no field may appear twice in the version before. */
function checkNames(check: ChangeCheck): void {
  const { change, path, own, findings } = check
  const {
    added = [],
    renamed = {},
    retyped = {},
    required = {},
    mapped = {},
    shown: reported = {},
    moved = {},
  } = change
  const fields = Object.keys(own.fields)
  const present: [key: string, names: readonly string[]][] = [
    ['added', Array.isArray(added) ? added : [valueInWords(added)]],
    ['renamed', Object.values(renamed)],
    ...Object.entries({ retyped, required, mapped, shown: reported }).map(([key, one]): [string, string[]] => [
      key,
      Object.keys(one),
    ]),
  ]
  for (const [key, names] of present)
    for (const name of names.filter((one) => !hasMember(own.fields, one) && one !== change.states?.field))
      report(
        { findings },
        [...path, key],
        `There is no field ${valueInWords(name)} in ${change.version}.`,
        nameHint(name, fields),
      )
  const now = fields.filter((name) => !added.includes(name) && !Object.values(renamed).includes(name))
  const old = [...now, ...Object.keys(renamed), ...Object.keys(change.removed ?? {}), ...Object.keys(moved)]
  for (const name of new Set(old.filter((one, i) => old.indexOf(one) < i)))
    report(
      { findings },
      path,
      `Before ${change.version} there would be two fields \`${name}\`.`,
      'Declare in `added` or `renamed` what happened to the field of that name, or remove one of the two.',
    )
}

/** Checks mapped values of enums. */
function checkValues({ change, path, own, declaration, findings }: ChangeCheck): void {
  const { mapped = {}, shown: reported = {} } = change
  for (const name of new Set([...Object.keys(mapped), ...Object.keys(reported)])) {
    const declared = own.fields[name]
    const field = declared && resolveConcepts(declared, declaration.concepts ?? {})
    if (!field) continue
    const values = field.values ?? []
    if (field.kind !== 'enum')
      report(
        { findings },
        [...path, 'mapped', name],
        `\`${name}\` is not an enum.`,
        'Use `retyped` with `request` and `response` instead.',
      )
    else {
      const news = [...Object.values(mapped[name] ?? {}), ...Object.keys(reported[name] ?? {})]
      for (const value of news.filter((one) => !values.includes(one)))
        report(
          { findings },
          [...path, 'mapped', name],
          `${valueInWords(value)} is not a value of \`${name}\`.`,
          nameHint(value, values),
        )
    }
  }
}

/** Only fields of the newest version can be searched, as only their words are stored. R235. */
function checkSearch({
  change: { removed = {}, retyped = {}, moved = {} },
  path,
  own,
  declaration,
  findings,
}: ChangeCheck): void {
  const isSearched = (field: Field | undefined) =>
    field !== undefined && searchedIn(resolveConcepts(field, declaration.concepts ?? {})).length > 0
  const all = [
    ...Object.entries(removed).map(([name, was]) => ['removed', name, was, undefined] as const),
    ...Object.entries(moved).map(([name, { field }]) => ['moved', name, field, undefined] as const),
    ...Object.entries(retyped).map(([name, was]) => ['retyped', name, was, own.fields[name]] as const),
  ]
  for (const [part, name, was, now] of all)
    if (isSearched(was) && !isSearched(now))
      report(
        { findings },
        [...path, part, name],
        `\`${name}\` has \`search\`, but the newest version has no words of it.`,
        'Leave `search` out here: older versions search the fields that are searched in the newest one.',
      )
}

function checkMethods({ change, path, own, findings }: ChangeCheck): void {
  const { added = [], withdrawn = [] } = change.methods ?? {}
  const offered = own.methods ?? operations
  for (const one of added.filter((one) => !offered.includes(one)))
    report({ findings }, [...path, 'methods', 'added'], `${valueInWords(one)} is not offered.`, nameHint(one, offered))
  for (const one of withdrawn.filter((one) => offered.includes(one)))
    report(
      { findings },
      [...path, 'methods', 'withdrawn'],
      `${valueInWords(one)} is still offered.`,
      `Leave it out of \`methods\` of ${change.resource}.`,
    )
  for (const one of withdrawn.filter((one) => !operations.includes(one)))
    report(
      { findings },
      [...path, 'methods', 'withdrawn'],
      `There is no method ${valueInWords(one)}.`,
      nameHint(one, operations),
    )
}

function checkErrorRenames({ change, path, declaration, findings }: ChangeCheck): void {
  const declared = Object.keys(declaration.errors ?? {})
  for (const [old, now] of Object.entries(change.errors ?? {})) {
    if (!declared.includes(now))
      report(
        { findings },
        [...path, 'errors', old],
        `There is no declared type ${valueInWords(now)}.`,
        nameHint(now, declared),
      )
    if (declared.includes(old) || typeof old !== 'string')
      report(
        { findings },
        [...path, 'errors', old],
        `\`${old}\` is still declared.`,
        'Write another name, or leave it out.',
      )
  }
}
