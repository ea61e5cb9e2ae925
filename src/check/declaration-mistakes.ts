/** Declaration mistakes: all mistakes of a declaration, each with place, reason and fix. Part 2, resources. */
// long because: one short check for each part of a declaration
import { catalogue, type DeclaredError, extendCatalogue, typeChain, typeStatus } from '../errors/catalogue.ts'
import type { FieldKinds } from '../fields/kind.ts'
import { standardKinds } from '../fields/kinds.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import { isKebab, toKebab } from '../formats/naming.ts'
import type { Mistake } from '../resources/declaration.ts'
import { readSettings } from '../settings.ts'
import { checkDerivedCycles } from './aggregate-mistakes.ts'
import { checkConsistency, checkCycles, checkOrders } from './consistency.ts'
import { checkDerived, withCompleteFields } from './derived-mistakes.ts'
import { checkBatches, checkEvents, checkHistory } from './event-mistakes.ts'
import {
  checkField,
  checkFieldName,
  type DeclarationCheck,
  type DeclarationPath,
  type Finding,
  pathText,
  report,
  soundField,
} from './field-check.ts'
import { hasMember, nameHint, type UncheckedObject } from './kind-options.ts'
import { checkEmbed, checkLinks, checkPair, withPairResources } from './link-mistakes.ts'
import { checkFiles, checkOperations, checkSchedules } from './operation-mistakes.ts'
import { checkKnownKeys, checkResource, checkText, type ResourceCheck } from './resource-check.ts'
import { addSettingFinding, checkKeyField, checkSettingContradictions } from './setting-mistakes.ts'
import { checkParentStates, checkStates } from './state-mistakes.ts'
import { checkExports, checkImports, checkSummaries } from './summary-mistakes.ts'
import { checkKebabName, checkTiers } from './tiers.ts'
import { checkTokens } from './tokens.ts'
import { checkInput } from './transition-mistakes.ts'
import { checkDeprecations, checkVersions } from './version-mistakes.ts'
import { checkFieldVisibility, checkOwner, checkRemoval, checkRowRules } from './visibility.ts'

/** All mistakes in the order of their places. Never throws, whatever the input. R219. */
export function declarationMistakes(
  declaration: unknown,
  kinds: FieldKinds = standardKinds,
  isOlder = false,
): Mistake[] {
  const findings: Finding[] = []
  try {
    if (isObject(declaration)) checkService(declaration, findings, kinds, isOlder)
    else
      report(
        { findings },
        [],
        `The declaration is ${valueInWords(declaration)}.`,
        "Write service({ name: 'shop', resources: { … } }).",
      )
    if (isObject(declaration)) nameAsDeclared(declaration, findings)
    const ranks = new Map(findings.map((one) => [one, rankOf(declaration, one.path)]))
    findings.sort((a, b) => compareRanks(ranks.get(a) ?? [], ranks.get(b) ?? []))
  } catch (error) {
    // A member throws when it is read, so the rest cannot be checked.
    const reason = `The declaration cannot be read: ${error instanceof Error ? error.message : 'a member of it throws'}.`
    report({ findings }, [], reason, 'Write plain objects, and make fields with f.')
  }
  return findings.map(({ path, reason, mend }) => ({ place: pathText(path), reason, mend }))
}

/** Pairs are checked like resources; their mistakes are named where they are declared. */
function nameAsDeclared({ resources, pairs }: UncheckedObject, findings: Finding[]): void {
  const isPair = (name: unknown) => isObject(pairs) && hasMember(pairs, name)
  for (const [i, { path, ...one }] of findings.entries())
    if (path[0] === 'resources' && isPair(path[1]) && !(isObject(resources) && hasMember(resources, path[1])))
      findings[i] = { ...one, path: ['pairs', ...path.slice(1)] }
}

/** The position of each name of a path in its object; missing names come last. */
function rankOf(declaration: unknown, path: DeclarationPath): number[] {
  let at = declaration
  return path.map((name) => {
    const place = isObject(at) ? Object.keys(at).indexOf(name) : -1
    at = place < 0 ? undefined : (at as UncheckedObject)[name]
    return place < 0 ? Number.MAX_SAFE_INTEGER : place
  })
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const i = a.findIndex((one, at) => one !== b[at])
  return i < 0 ? a.length - b.length : (a[i] as number) - (b[i] ?? -1)
}

/** The parts of the description that are objects, with their members; `name` of a license and `url` of documentation are needed. */
const infoMembers = {
  contact: ['email', 'name', 'url'],
  license: ['name', 'identifier', 'url'],
  externalDocs: ['url', 'description'],
} as const
const serviceKeys = [
  ...['name', 'resources', 'pairs', 'concepts', 'scopes', 'errors', 'tiers', 'events', 'settings', 'versions'],
  ...['title', 'description', ...Object.keys(infoMembers)],
]

function checkService(declaration: UncheckedObject, findings: Finding[], kinds: FieldKinds, isOlder: boolean): void {
  const part = (name: string): UncheckedObject => (isObject(declaration[name]) ? declaration[name] : {})
  const settings = readSettings(declaration.settings, undefined, false, (fault) =>
    addSettingFinding({ findings }, [], fault),
  )
  const rules = { settings, isId: () => true, kinds }
  const [resources, pairs] = [part('resources'), part('pairs')]
  const parts = { resources, pairs, concepts: part('concepts'), scopes: part('scopes') }
  const declared: DeclarationCheck = { settings, rules, ...parts, soundConcepts: new Map(), isOlder, findings }
  const context = { ...declared, ...withPairResources(declared) }
  checkKnownKeys([], declaration, serviceKeys, [], context)
  checkInfo(declaration, context)
  for (const name of ['resources', 'pairs', 'concepts', 'scopes', 'errors', 'tiers']) {
    if (declaration[name] === undefined || isObject(declaration[name])) continue
    report(context, [name], `\`${name}\` is ${valueInWords(declaration[name])}.`, `Write an object, as ${name}: { … }.`)
  }
  checkServiceName(declaration, context)
  checkSettingContradictions([], [declaration.settings], settings, context)
  checkTokens(declaration.settings, context)
  checkBatches(context)
  checkEvents(declaration, context)
  checkScopes(context)
  checkErrorTypes(part('errors'), context)
  checkTiers(declaration.tiers, context)
  checkVersions(declaration.versions, context)
  checkConcepts(context)
  if (Object.keys(resources).length === 0 && (declaration.resources === undefined || isObject(declaration.resources))) {
    report(
      context,
      ['resources'],
      'The service has no resources.',
      "Write at least one, as resources: { orders: { fields: { … }, access: 'public' } }.",
    )
  }
  checkResources(declaration.settings, { ...context, resources: withCompleteFields(checkStates(context)) })
}

function checkServiceName({ name }: UncheckedObject, context: DeclarationCheck): void {
  if (typeof name === 'string' && isKebab(name)) return
  const better = typeof name === 'string' ? toKebab(name) : ''
  const reason =
    name === undefined ? 'The service has no name.' : `The name ${valueInWords(name)} is not in kebab-case.`
  report(context, ['name'], reason, `Write name: '${isKebab(better) ? better : 'my-shop'}'.`)
}

function checkInfo(declaration: UncheckedObject, context: DeclarationCheck): void {
  for (const [name, members] of Object.entries(infoMembers)) {
    const [first] = members
    const value = declaration[name]
    if (value === undefined) continue
    if (!isObject(value) || (name !== 'contact' && value[first] === undefined))
      report(context, [name], `\`${name}\` is ${valueInWords(value)}.`, `Write ${name}: { ${first}: '…' }.`)
    if (!isObject(value)) continue
    checkKnownKeys([name], value, members, [], context)
    for (const key of members) checkText([name, key], value[key], context)
  }
}

function checkScopes(context: DeclarationCheck): void {
  for (const [name, about] of Object.entries(context.scopes)) {
    const path = ['scopes', name]
    if (name === 'public' || name === 'authenticated')
      report(context, path, `\`${name}\` is a reserved rule of \`access\`, not a scope.`, 'Write another name.')
    else if (!/^[a-z][a-z0-9-]*(:[a-z0-9-]+)*$/.test(name))
      report(
        context,
        path,
        `${valueInWords(name)} is not a valid name of a scope.`,
        "Write lowercase letters, digits and dashes, separated by colons, as 'orders:read'.",
      )
    if (typeof about !== 'string' || about.trim() === '')
      report(context, path, 'The scope has no description.', `Describe what it allows, as '${name}': 'Read orders'.`)
  }
}

/** Checks declared types of errors. R160. */
function checkErrorTypes(errors: UncheckedObject, context: DeclarationCheck): void {
  const before = context.findings.length
  const typeNames = [...catalogue.keys(), ...Object.keys(errors)]
  const parents = (name: string) =>
    isObject(errors[name]) && Array.isArray(errors[name].parents) ? errors[name].parents : []
  for (const [name, declared] of Object.entries(errors)) checkErrorType(['errors', name], declared, typeNames, context)
  checkCycles((name) => ['errors', name, 'parents'], errors, parents, context)
  if (context.findings.length > before) return
  const types = extendCatalogue(errors as Record<string, DeclaredError>)
  for (const [name, { status, parents = [] }] of Object.entries(errors as Record<string, DeclaredError>)) {
    const line = typeChain(types, name)
    const stray = parents.find((one) => !line.includes(one))
    if (stray)
      report(
        context,
        ['errors', name, 'parents'],
        `\`${stray}\` is not among the parents of \`${parents[0]}\`.`,
        `Write parents: ['${line.slice(1).join("', '")}'], or name another type first.`,
      )
    if (line.includes('server-error') !== status >= 500)
      report(
        context,
        ['errors', name, 'status'],
        `The status ${status} does not belong to \`${line.at(-2)}\`.`,
        'Write a status and parents of the same class: 4xx under client-error, 5xx under server-error.',
      )
    else checkStatusOfParents(['errors', name, 'status'], status, line, context)
  }
}

/** A client that knows only a parent acts by it, so the status is that of the nearest one that every service has. R150, R159. */
function checkStatusOfParents(
  path: DeclarationPath,
  status: number,
  line: readonly string[],
  context: DeclarationCheck,
): void {
  const parent = line.slice(0, -2).find((one) => catalogue.has(one))
  if (parent === undefined) return
  const own = typeStatus(catalogue, parent)
  if (own === status) return
  const isAllowed = !reservedStatuses.has(own)
  const mend = `Write ${isAllowed ? `status: ${own}, or ` : ''}a parent with the status ${status}.`
  report(context, path, `The status is ${status}, but that of its parent \`${parent}\` is ${own}.`, mend)
}

function checkErrorFields(path: DeclarationPath, fields: unknown, context: DeclarationCheck): void {
  checkInput(path, fields, context)
  for (const name of Object.keys(isObject(fields) ? fields : {}).filter(isErrorMember))
    report(context, [...path, name], `Errors have a member \`${name}\` already.`, 'Write another name.')
}

/** Whether errors have this member already, in one of their two forms or in the report of an import. */
const isErrorMember = (name: string): boolean =>
  /^(?:message|types?|cause|errors|in|pointer|name|scope|line|created|existing|failed|title|status|detail|instance|(?:request|old)_?id|violated_?policies)$/i.test(
    name,
  )

/**
 * 401, 405, 407 and 426 need a header that a refusal does not have, 422 has a single meaning, and the service is not a
 * gateway. R12, R98, R161, R165.
 */
const reservedStatuses: ReadonlySet<unknown> = new Set([401, 405, 407, 422, 426, 502, 504])

function checkErrorStatus(path: DeclarationPath, status: unknown, context: DeclarationCheck): void {
  if (!Number.isInteger(status) || Number(status) < 400 || Number(status) > 599) {
    const mend = 'Write a whole number from 400 to 599, as status: 409.'
    report(context, path, `The status is ${valueInWords(status)}.`, mend)
  }
  if (reservedStatuses.has(status))
    report(
      context,
      path,
      `The status ${status} is reserved, and declared types cannot have it.`,
      'Write another one, as 400.',
    )
}

function checkErrorType(
  path: DeclarationPath,
  declared: unknown,
  typeNames: readonly string[],
  context: DeclarationCheck,
): void {
  const name = path.at(-1) as string
  checkKebabName(path, context)
  if (catalogue.has(name))
    report(context, path, `Every service has the type \`${name}\` already.`, 'Write another name.')
  if (!isObject(declared)) {
    report(
      context,
      path,
      `It is ${valueInWords(declared)}.`,
      "Write an object, as { status: 409, parents: ['conflict'] }.",
    )
    return
  }
  checkKnownKeys(path, declared, ['status', 'parents', 'fields', 'title', 'description', 'example'], [], context)
  checkText([...path, 'example'], declared.example, context)
  const { status, parents = [] } = declared
  checkErrorStatus([...path, 'status'], status, context)
  checkErrorFields([...path, 'fields'], declared.fields, context)
  if (!Array.isArray(parents))
    report(
      context,
      [...path, 'parents'],
      `\`parents\` is ${valueInWords(parents)}.`,
      "Write a list, as parents: ['conflict'].",
    )
  else
    for (const parent of parents.filter((one) => !typeNames.includes(one)))
      report(
        context,
        [...path, 'parents'],
        `There is no type ${valueInWords(parent)}.`,
        nameHint(parent, typeNames, "Declare it too, or write a type that every service has, as 'conflict'."),
      )
}

/** Checks concepts, each after those that it contains. */
function checkConcepts(context: DeclarationCheck): void {
  const { concepts, soundConcepts, findings } = context
  const visited = new Set<string>()
  const visit = (name: string): void => {
    if (visited.has(name) || !hasMember(concepts, name)) return
    visited.add(name)
    for (const other of conceptsIn(concepts[name])) visit(other)
    const before = findings.length
    checkFieldName(['concepts', name], context)
    checkField(['concepts', name], concepts[name], 'concept', context)
    const field = soundField(concepts[name], context)
    if (field && findings.length === before) soundConcepts.set(name, field)
  }
  for (const name of Object.keys(concepts)) visit(name)
  checkCycles(
    (name) => ['concepts', name],
    concepts,
    (name) => conceptsIn(concepts[name]),
    context,
  )
}

/** The names of the concepts in a field. */
function conceptsIn(field: unknown, depth = 0): string[] {
  if (!isObject(field) || depth > 16) return []
  if (field.kind === 'concept') return typeof field.target === 'string' ? [field.target] : []
  const inner =
    field.kind === 'list'
      ? [field.item]
      : field.kind === 'object' && isObject(field.fields)
        ? Object.values(field.fields)
        : []
  return inner.flatMap((one) => conceptsIn(one, depth + 1))
}

/** Checks the operations, when they run by themselves, and the member of bodies that carries the key. */
function checkActions(judged: ResourceCheck, context: DeclarationCheck): void {
  checkOperations(judged, context)
  checkSchedules(judged, context)
  checkKeyField(judged, context)
}

/** `around` are the settings that the service declares. */
function checkResources(declaration: unknown, context: DeclarationCheck): void {
  for (const [name, given] of Object.entries(context.resources)) {
    const path = ['resources', name]
    if (!isObject(given)) {
      const mend = "Write an object, as { fields: { name: f.text() }, access: 'public' }."
      report(context, path, `It is ${valueInWords(given)}.`, mend)
      continue
    }
    const settings = readSettings(given.settings, context.settings, true, (fault) =>
      addSettingFinding(context, path, fault),
    )
    const judged = { name, given, settings }
    if (hasMember(context.pairs, name)) {
      checkPair(judged, context)
      continue
    }
    if (isObject(given.settings) && (given.settings.list || given.settings.idempotency))
      checkSettingContradictions(path, [given.settings, declaration], settings, context)
    checkResource(judged, context)
    checkParentStates(judged, context)
    checkActions(judged, context)
    checkFiles(judged, context)
    checkDerived(judged, context)
    checkLinks(judged, context)
    checkEmbed(judged, context)
    checkDeprecations([...path, 'deprecations'], given, context)
    checkOwner(judged, context)
    checkFieldVisibility(judged, context)
    checkRemoval(judged, context)
    checkRowRules(judged, context)
    checkOrders(judged, context)
    checkSummaries(judged, context)
    checkExports(judged, context)
    checkImports(judged, context)
    checkHistory(judged, context)
  }
  checkConsistency(context)
  checkDerivedCycles(context)
}

/** Throws one error with all mistakes of a declaration, in its message and as `mistakes`. */
export function throwMistakes(declaration: unknown, mistakes: readonly Mistake[]): void {
  if (mistakes.length === 0) return
  const name = (declaration as { readonly name?: unknown } | null)?.name
  const lines = mistakes.map(({ place, reason, mend }, i) => `${i + 1}. ${place}: ${reason}\n   ${mend}`)
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`
  const whose = typeof name === 'string' ? `The declaration of "${name}"` : 'The declaration'
  throw Object.assign(new Error(`${whose} has ${count}.\n\n${lines.join('\n\n')}\n`), { mistakes })
}
