/** Finds what is wrong with what is told of the changes between versions. Part 9, versions. */
import {
  before,
  type Change,
  changeKeys,
  declarationAt,
  labelsOf,
  majorOf,
  type Versioned,
} from '../resources/change.ts'
import { type Mistake, operations, resolved } from '../resources/declaration.ts'
import { isObject } from '../resources/values.ts'
import { type Given, guessed, has, shown } from './bounds.ts'
import { checkFlow, type Scene } from './carried.ts'
import { checkPromises } from './kept.ts'
import { declarationMistakes } from './mistakes.ts'
import { checkMoved } from './moved.ts'
import { type Finding, note, type Path, placeOf } from './soundness.ts'
import { checkUnseen } from './trials.ts'

/** All mistakes of the changes; where there are none, those of the versions that follow from them. */
export function changeMistakes(declaration: Versioned, changes: readonly Change[]): Mistake[] {
  const found: Finding[] = []
  let around = declaration
  for (const [i, change] of changes.entries()) {
    const path = ['changes', change.version, change.resource]
    checkVersion(declaration, change, changes[i - 1], path, found)
    const own = has(around.resources, change.resource) ? around.resources[change.resource] : undefined
    const clean = found.length
    if (own) checkChange({ change, path, around, own, found, later: changes.slice(0, i) })
    else
      note(
        { found },
        path,
        `There is no resource \`${change.resource}\` in ${change.version}.`,
        guessed(change.resource, Object.keys(around.resources)),
      )
    if (found.length > clean) break // what lies behind it follows from it
    around = before(around, change)
  }
  if (found.length > 0) return found.map(({ path, reason, mend }) => ({ place: placeOf(path), reason, mend }))
  return labelsOf(declaration)
    .toReversed()
    .flatMap((label) => versionMistakes(declaration, changes, label))
}

/** What an older version would be, judged as if it were declared. */
function versionMistakes(declaration: Versioned, changes: readonly Change[], label: string): Mistake[] {
  const mistakes = changes.length === 0 ? [] : declarationMistakes(declarationAt(declaration, changes, label))
  return mistakes.map((one) => ({ ...one, place: `${label}: ${one.place}` }))
}

function checkVersion(
  declaration: Versioned,
  { version }: Change,
  last: Change | undefined,
  path: Path,
  found: Finding[],
): void {
  const labels = labelsOf(declaration)
  if (!labels.includes(version) || labels[0] === version) {
    const reason = labels[0] === version ? `${version} is the first version, so that` : `There is no ${version}, and`
    note({ found }, path, `${reason} nothing can have changed with it.`, guessed(version, labels.slice(1)))
  }
  if (last && majorOf(last.version) < majorOf(version))
    note(
      { found },
      path,
      `The change of ${version} stands behind one of ${last.version}.`,
      'Write the newest change first: each one says what was before it.',
    )
}

/** What holds something for each of several names. */
const objects = [
  ...['renamed', 'removed', 'retyped', 'required', 'mapped', 'shown', 'moved'],
  ...['deprecations', 'errors', 'filters', 'sorts'],
]

function checkChange(scene: Scene): void {
  const { change, path, found } = scene
  const given = change as unknown as Given
  const known = [...changeKeys, 'version', 'resource'] as readonly string[]
  for (const key of Object.keys(given).filter((one) => given[one] !== undefined && !known.includes(one)))
    note({ found }, [...path, key], `\`${key}\` is not known here.`, guessed(key, changeKeys))
  if (typeof given.about !== 'string' || given.about.trim() === '')
    note(
      { found },
      path,
      'It is not said what changed.',
      "Write it in a sentence, as about: '`name` replaces `title`.'.",
    )
  for (const key of objects)
    if (given[key] !== undefined && !isObject(given[key])) {
      note({ found }, [...path, key], `It is ${shown(given[key])}.`, `Write an object, as ${key}: { … }.`)
      return
    }
  for (const key of ['request', 'response'])
    if (given[key] !== undefined && typeof given[key] !== 'function')
      note({ found }, [...path, key], `It is ${shown(given[key])}.`, 'Write a function from one document to the other.')
  const { revision } = given
  if (revision !== undefined && !(Number.isSafeInteger(revision) && Number(revision) > 0))
    note(
      { found },
      [...path, 'revision'],
      `It is ${shown(revision)}.`,
      'Write a whole number from 1 on, as revision: 2.',
    )
  if (change.begins && change.ends)
    note({ found }, path, 'The resource would begin and end at once.', 'Leave one of the two out.')
  checkNames(scene)
  checkValues(scene)
  checkMethods(scene)
  checkErrors(scene)
  checkMoved(scene)
  checkFlow(scene)
  if (scene.found.length === 0) checkPromises(scene)
  checkUnseen(scene)
}

/** Fields that are named have to be there, and those of before must not be in the way. */
function checkNames(scene: Scene): void {
  const { change, path, own, found } = scene
  const { added = [], renamed = {}, retyped = {}, required = {}, mapped = {}, shown: told = {}, moved = {} } = change
  const fields = Object.keys(own.fields)
  const present: [key: string, names: readonly string[]][] = [
    ['added', Array.isArray(added) ? added : [shown(added)]],
    ['renamed', Object.values(renamed)],
    ...Object.entries({ retyped, required, mapped, shown: told }).map(([key, one]): [string, string[]] => [
      key,
      Object.keys(one),
    ]),
  ]
  for (const [key, names] of present)
    for (const name of names.filter((one) => !has(own.fields, one)))
      note({ found }, [...path, key], `There is no field ${shown(name)} in ${change.version}.`, guessed(name, fields))
  const now = fields.filter((name) => !added.includes(name) && !Object.values(renamed).includes(name))
  const old = [...now, ...Object.keys(renamed), ...Object.keys(change.removed ?? {}), ...Object.keys(moved)]
  for (const name of new Set(old.filter((one, i) => old.indexOf(one) < i)))
    note(
      { found },
      path,
      `Before ${change.version} there would be two fields \`${name}\`.`,
      'Write in `added` or `renamed` what became of the field of that name, or leave one out.',
    )
}

/** Values of enums. */
function checkValues({ change, path, own, around, found }: Scene): void {
  const { mapped = {}, shown: told = {} } = change
  for (const name of new Set([...Object.keys(mapped), ...Object.keys(told)])) {
    const given = own.fields[name]
    const field = given && resolved(given, around.concepts ?? {})
    if (!field) continue
    const values = field.values ?? []
    if (field.kind !== 'enum')
      note(
        { found },
        [...path, 'mapped', name],
        `\`${name}\` is no enum.`,
        'Write `retyped`, `request` and `response`.',
      )
    else {
      const news = [...Object.values(mapped[name] ?? {}), ...Object.keys(told[name] ?? {})]
      for (const value of news.filter((one) => !values.includes(one)))
        note(
          { found },
          [...path, 'mapped', name],
          `${shown(value)} is no value of \`${name}\`.`,
          guessed(value, values),
        )
    }
  }
}

function checkMethods({ change, path, own, found }: Scene): void {
  const { added = [], withdrawn = [] } = change.methods ?? {}
  const offered = own.methods ?? operations
  for (const one of added.filter((one) => !offered.includes(one)))
    note({ found }, [...path, 'methods', 'added'], `${shown(one)} is not offered.`, guessed(one, offered))
  for (const one of withdrawn.filter((one) => offered.includes(one)))
    note(
      { found },
      [...path, 'methods', 'withdrawn'],
      `${shown(one)} is still offered.`,
      `Leave it out of \`methods\` of ${change.resource}.`,
    )
  for (const one of withdrawn.filter((one) => !operations.includes(one)))
    note({ found }, [...path, 'methods', 'withdrawn'], `There is no method ${shown(one)}.`, guessed(one, operations))
}

function checkErrors({ change, path, around, found }: Scene): void {
  const declared = Object.keys(around.errors ?? {})
  for (const [old, now] of Object.entries(change.errors ?? {})) {
    if (!declared.includes(now))
      note({ found }, [...path, 'errors', old], `There is no declared type ${shown(now)}.`, guessed(now, declared))
    if (declared.includes(old) || typeof old !== 'string')
      note({ found }, [...path, 'errors', old], `\`${old}\` is still declared.`, 'Write another name, or leave it out.')
  }
}
