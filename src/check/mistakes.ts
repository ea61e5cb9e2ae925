/** Finds all mistakes in a declaration at once, each with its place, its reason and the mend. Part 2, resources. */
import { catalogue, chain, type DeclaredError, extend } from '../errors/catalogue.ts'
import type { Mistake } from '../resources/declaration.ts'
import { isKebab, kebab } from '../resources/naming.ts'
import { readSettings } from '../resources/settings.ts'
import { isObject } from '../resources/values.ts'
import { checkCircles, checkOrders, checkTogether } from './agreement.ts'
import { type Given, guessed, has, shown } from './bounds.ts'
import { checkKeys, checkResource } from './profile.ts'
import { checkContradictions, noteSetting } from './settings.ts'
import { checkField, checkName, type Finding, type Ground, note, type Path, placeOf, whole } from './soundness.ts'
import { checkTiers } from './tiers.ts'
import { checkTokens } from './tokens.ts'
import { checkDeprecations, checkVersions } from './versions.ts'
import { checkFieldRules, checkOwner, checkRemoval } from './visibility.ts'

/** All mistakes in the order of their places; whatever is given, nothing is thrown. R219. */
export function declarationMistakes(declaration: unknown): Mistake[] {
  const found: Finding[] = []
  try {
    if (isObject(declaration)) checkService(declaration, found)
    else
      note(
        { found },
        [],
        `The declaration is ${shown(declaration)}.`,
        "Write service({ name: 'shop', resources: { … } }).",
      )
    const ranks = new Map(found.map((one) => [one, rank(declaration, one.path)]))
    found.sort((a, b) => compare(ranks.get(a) ?? [], ranks.get(b) ?? []))
  } catch (error) {
    // A member that throws when it is read: nothing can be said of what comes after it.
    const reason = `The declaration cannot be read: ${error instanceof Error ? error.message : 'a member of it throws'}.`
    note({ found }, [], reason, 'Write plain objects, and fields as f makes them.')
  }
  return found.map(({ path, reason, mend }) => ({ place: placeOf(path), reason, mend }))
}

/** Where each name of a path stands in its object; what is missing stands last. */
function rank(declaration: unknown, path: Path): number[] {
  let at = declaration
  return path.map((name) => {
    const place = isObject(at) ? Object.keys(at).indexOf(name) : -1
    at = place < 0 ? undefined : (at as Given)[name]
    return place < 0 ? Number.MAX_SAFE_INTEGER : place
  })
}

function compare(a: readonly number[], b: readonly number[]): number {
  const i = a.findIndex((one, at) => one !== b[at])
  return i < 0 ? a.length - b.length : (a[i] as number) - (b[i] ?? -1)
}

const serviceKeys = ['name', 'resources', 'concepts', 'scopes', 'errors', 'tiers', 'settings', 'versions']

function checkService(given: Given, found: Finding[]): void {
  const part = (name: string): Given => (isObject(given[name]) ? given[name] : {})
  const settings = readSettings(given.settings, undefined, false, (fault) => noteSetting({ found }, [], fault))
  const [resources, concepts, scopes, errors] = ['resources', 'concepts', 'scopes', 'errors'].map(part) as [
    Given,
    Given,
    Given,
    Given,
  ]
  const ground: Ground = { settings, resources, concepts, scopes, sound: new Map(), found }
  checkKeys([], given, serviceKeys, [], ground)
  for (const name of ['resources', 'concepts', 'scopes', 'errors', 'tiers']) {
    if (given[name] === undefined || isObject(given[name])) continue
    note(ground, [name], `\`${name}\` is ${shown(given[name])}.`, `Write an object, as ${name}: { … }.`)
  }
  if (typeof given.name !== 'string' || !isKebab(given.name)) {
    const better = typeof given.name === 'string' ? kebab(given.name) : ''
    const reason =
      given.name === undefined ? 'The service has no name.' : `The name ${shown(given.name)} is not in kebab-case.`
    note(ground, ['name'], reason, `Write name: '${isKebab(better) ? better : 'my-shop'}'.`)
  }
  checkContradictions([], [given.settings], settings, ground)
  checkTokens(given.settings, ground)
  checkScopes(ground)
  checkErrors(errors, ground)
  checkTiers(given.tiers, ground)
  checkVersions(given.versions, ground)
  checkConcepts(ground)
  if (Object.keys(resources).length === 0 && (given.resources === undefined || isObject(given.resources))) {
    note(
      ground,
      ['resources'],
      'The service has no resources.',
      "Write at least one, as resources: { orders: { fields: { … }, access: 'public' } }.",
    )
  }
  checkResources(given.settings, ground)
}

function checkScopes(ground: Ground): void {
  for (const [name, about] of Object.entries(ground.scopes)) {
    const path = ['scopes', name]
    if (name === 'public' || name === 'authenticated')
      note(ground, path, `\`${name}\` is a rule of its own, not a scope.`, 'Write another name.')
    else if (!/^[a-z][a-z0-9-]*(:[a-z0-9-]+)*$/.test(name))
      note(
        ground,
        path,
        `${shown(name)} is not a name of a scope.`,
        "Write small letters, digits and dashes, parted by colons, as 'orders:read'.",
      )
    if (typeof about !== 'string' || about.trim() === '')
      note(ground, path, 'The scope is not described.', `Write in words what it allows, as '${name}': 'Read orders'.`)
  }
}

/** Declared types of errors. R160. */
function checkErrors(errors: Given, ground: Ground): void {
  const before = ground.found.length
  const known = [...catalogue.keys(), ...Object.keys(errors)]
  const parents = (name: string) =>
    isObject(errors[name]) && Array.isArray(errors[name].parents) ? errors[name].parents : []
  for (const [name, given] of Object.entries(errors)) checkError(['errors', name], given, known, ground)
  checkCircles((name) => ['errors', name, 'parents'], errors, parents, ground)
  if (ground.found.length > before) return
  const types = extend(errors as Record<string, DeclaredError>)
  for (const [name, { status, parents = [] }] of Object.entries(errors as Record<string, DeclaredError>)) {
    const line = chain(types, name)
    const stray = parents.find((one) => !line.includes(one))
    if (stray)
      note(
        ground,
        ['errors', name, 'parents'],
        `\`${stray}\` is no more general type of \`${parents[0]}\`.`,
        `Write parents: ['${line.slice(1).join("', '")}'], or begin with another one.`,
      )
    if (line.includes('server-error') !== status >= 500)
      note(
        ground,
        ['errors', name, 'status'],
        `The status ${status} is not one of \`${line.at(-2)}\`.`,
        'Write a status or parents of the same class: 4xx under client-error, 5xx under server-error.',
      )
  }
}

/** 401 needs a challenge, 422 has one meaning only, and the service is no gateway. R98, R161, R165. */
const taken: ReadonlySet<unknown> = new Set([401, 422, 502, 504])

function checkError(path: Path, given: unknown, known: readonly string[], ground: Ground): void {
  const name = path.at(-1) as string
  const better = kebab(name)
  if (!isKebab(name))
    note(
      ground,
      path,
      'The name is not in kebab-case.',
      isKebab(better) ? `Write \`${better}\`.` : 'Write small letters, digits and dashes.',
    )
  if (catalogue.has(name)) note(ground, path, `Every service has the type \`${name}\` already.`, 'Write another name.')
  if (!isObject(given)) {
    note(ground, path, `It is ${shown(given)}.`, "Write an object, as { status: 409, parents: ['conflict'] }.")
    return
  }
  checkKeys(path, given, ['status', 'parents'], [], ground)
  const { status, parents = [] } = given
  if (!Number.isInteger(status) || Number(status) < 400 || Number(status) > 599)
    note(
      ground,
      [...path, 'status'],
      `The status is ${shown(status)}.`,
      'Write a whole number from 400 to 599, as status: 409.',
    )
  if (taken.has(status))
    note(ground, [...path, 'status'], `The status ${status} is not for declared types.`, 'Write another one, as 400.')
  if (!Array.isArray(parents))
    note(ground, [...path, 'parents'], `\`parents\` is ${shown(parents)}.`, "Write a list, as parents: ['conflict'].")
  else
    for (const parent of parents.filter((one) => !known.includes(one)))
      note(
        ground,
        [...path, 'parents'],
        `There is no type ${shown(parent)}.`,
        guessed(parent, known, "Declare it too, or write a type that every service has, as 'conflict'."),
      )
}

/** Concepts, each after those that it is made of. */
function checkConcepts(ground: Ground): void {
  const { concepts, sound, found } = ground
  const visited = new Set<string>()
  const visit = (name: string): void => {
    if (visited.has(name) || !has(concepts, name)) return
    visited.add(name)
    for (const other of conceptsIn(concepts[name])) visit(other)
    const before = found.length
    checkName(['concepts', name], ground)
    checkField(['concepts', name], concepts[name], 'concept', ground)
    const field = whole(concepts[name], sound)
    if (field && found.length === before) sound.set(name, field)
  }
  for (const name of Object.keys(concepts)) visit(name)
  checkCircles(
    (name) => ['concepts', name],
    concepts,
    (name) => conceptsIn(concepts[name]),
    ground,
  )
}

/** The names of the concepts in a field. */
function conceptsIn(given: unknown, depth = 0): string[] {
  if (!isObject(given) || depth > 16) return []
  if (given.kind === 'concept') return typeof given.target === 'string' ? [given.target] : []
  const inner =
    given.kind === 'list'
      ? [given.item]
      : given.kind === 'object' && isObject(given.fields)
        ? Object.values(given.fields)
        : []
  return inner.flatMap((one) => conceptsIn(one, depth + 1))
}

/** `around` are the settings that the service declares. */
function checkResources(around: unknown, ground: Ground): void {
  for (const [name, given] of Object.entries(ground.resources)) {
    const path = ['resources', name]
    if (!isObject(given)) {
      note(
        ground,
        path,
        `It is ${shown(given)}.`,
        "Write an object, as { fields: { name: f.text() }, access: 'public' }.",
      )
      continue
    }
    const settings = readSettings(given.settings, ground.settings, true, (fault) => noteSetting(ground, path, fault))
    const judged = { name, given, settings }
    if (isObject(given.settings) && (given.settings.list || given.settings.idempotency))
      checkContradictions(path, [given.settings, around], settings, ground)
    checkResource(judged, ground)
    checkDeprecations([...path, 'deprecations'], given, ground)
    checkOwner(judged, ground)
    checkFieldRules(judged, ground)
    checkRemoval(judged, ground)
    checkOrders(judged, ground)
  }
  checkTogether(ground)
}
