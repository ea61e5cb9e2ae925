/** Setting mistakes: unknown settings, invalid values, and contradictions between settings. Part 2, resources. */

import { isObject } from '../fields/value-check.ts'
import { isInCase, listInWords, toCase } from '../formats/naming.ts'
import type { SettingFault, Settings } from '../settings.ts'
import { type DeclarationCheck, type DeclarationPath, report } from './field-check.ts'
import { hasMember, nameHint } from './kind-options.ts'
import { type ResourceCheck, serviceNames } from './resource-check.ts'

const outsideSettings =
  /^(server(?!\.paths)|database|secrets?|logLevel|port|host)(\.|$)|^errors\.exposeInternals$|\.secrets?$/

export function addSettingFinding(
  context: Pick<DeclarationCheck, 'findings'>,
  before: DeclarationPath,
  { path, reason, allowed }: SettingFault,
): void {
  const at = [...before, 'settings', ...path.split('.').filter(Boolean)]
  const name = path.split('.').at(-1) as string
  if (outsideSettings.test(path))
    report(
      context,
      at,
      `\`${path}\` is not a setting of a declaration.`,
      'Remove it here, and pass it as a flag of `bylaw serve` or in the environment.',
    )
  else if (reason === 'unknown') report(context, at, `There is no setting \`${path}\`.`, nameHint(name, allowed))
  else if (reason === 'value')
    report(context, at, `The setting \`${path || 'settings'}\` has an invalid value.`, `Write ${listInWords(allowed)}.`)
  else report(context, at, `\`${path}\` is a setting of the whole service.`, 'Write it in the settings of the service.')
}

/** Reports settings that contradict each other; `style` and `pageSize` only if they were written, not by default. */
export function checkSettingContradictions(
  before: DeclarationPath,
  all: readonly unknown[],
  settings: Settings,
  context: DeclarationCheck,
): void {
  const { list } = settings
  const { styles, style, field, names } = list.pagination
  const say: AddContradiction = (path, reason, mend) =>
    report(context, [...before, 'settings', ...path.split('.')], reason, mend)
  const said = (...path: string[]) => all.some((one) => valueAtPath(one, path) !== undefined)
  if (styles.length === 0)
    say('list.pagination.styles', 'The list of styles is empty.', "Write at least one of 'page', 'offset', 'cursor'.")
  else if (!styles.includes(style) && said('list', 'pagination', 'style')) {
    const mend = `Write style: '${styles[0]}', or add '${style}' to the styles.`
    say('list.pagination.style', `The style '${style}' is not among the styles.`, mend)
  }
  if (list.pageSize > list.maxPageSize && said('list', 'pageSize')) {
    const reason = `\`list.pageSize\` is ${list.pageSize}, which is more than list.maxPageSize (${list.maxPageSize}).`
    say('list.pageSize', reason, `Write pageSize: ${list.maxPageSize} or less.`)
  }
  if (field === 'data')
    say('list.pagination.field', 'The items of a list are already in `data`.', "Write another name, as 'pagination'.")
  const renamed = Object.values(names)
  const twice = renamed.find((name, i) => name === 'data' || renamed.indexOf(name) < i) ?? memberTwice(settings)
  if (twice) say('list.pagination.names', `The name '${twice}' is already used.`, 'Give each a different name.')
  if (settings.patch.jsonPatch && settings.body.maxDepth < 2)
    say(
      'patch.jsonPatch',
      'A JSON Patch is a list of objects, which is 2 levels deep, and body.maxDepth is 1.',
      'Write maxDepth: 2 or more, or leave jsonPatch out.',
    )
  const { docs, problems } = settings.server.paths
  if (docs === problems)
    say('server.paths.problems', `The reference page has the path '${docs}' too.`, 'Write another path.')
  checkIdempotencySettings(settings, say)
}

/** The members of the page information that are answered together, by style. R75. */
const pageMembers = {
  page: ['currentPage', 'pageSize', 'totalPages', 'totalRecords', 'hasMore', 'nextCursor'],
  offset: ['limit', 'offset', 'totalRecords', 'hasMore', 'nextCursor'],
  cursor: ['limit', 'nextCursor', 'prevCursor', 'hasMore'],
} as const

/** A name that two members of one style would have; one of them would be missing from the answer. */
function memberTwice({ naming, list: { pagination } }: Settings): string | undefined {
  const names: Readonly<Record<string, string>> = pagination.names
  for (const style of pagination.styles) {
    const shown = pageMembers[style].map((name) => names[name] ?? toCase(name, naming))
    const twice = shown.find((name, i) => shown.indexOf(name) < i)
    if (twice !== undefined) return twice
  }
  return undefined
}

type AddContradiction = (path: string, reason: string, mend: string) => void

function checkIdempotencySettings({ naming, idempotency }: Settings, say: AddContradiction): void {
  const { bodyField, methods, mode } = idempotency
  if (methods.includes('PATCH') && mode !== 'replay')
    say(
      'idempotency.methods',
      "A repeated PATCH needs mode: 'replay', as it creates no resource that a 409 could name.",
      "Write mode: 'replay', or leave PATCH out.",
    )
  if (bodyField && !isInCase(bodyField, naming))
    say(
      'idempotency.bodyField',
      `'${bodyField}' does not follow \`naming\`, which is '${naming}'.`,
      `Write '${naming === 'camel' ? 'idempotencyKey' : 'idempotency_key'}', or another name of that form.`,
    )
}

/** The value at a path of objects; undefined if there is none. */
const valueAtPath = (settings: unknown, path: readonly string[]): unknown =>
  path.reduce((at: unknown, name) => (isObject(at) ? at[name] : undefined), settings)

/** The key must not be read from a member that bodies have for something else. R93. */
export function checkKeyField({ name, given, settings }: ResourceCheck, context: DeclarationCheck): void {
  const { idempotency, naming } = settings
  const field = idempotency.bodyField === '' ? toCase('idempotency-key', naming) : idempotency.bodyField
  if (field === null) return
  const path = ['resources', name]
  const others = { ...settings, idempotency: { ...idempotency, bodyField: null } }
  if (serviceNames({ name, given, settings: others }, context).has(field)) {
    const own = valueAtPath(given.settings, ['idempotency', 'bodyField']) === undefined ? [] : path
    report(
      context,
      [...own, 'settings', 'idempotency', 'bodyField'],
      `'${field}' is a field of each item of \`${name}\`, so it cannot carry the idempotency key.`,
      `Write '${toCase('idempotency-key', naming)}', or another name.`,
    )
  }
  const states = isObject(given.states) ? given.states : {}
  for (const [kind, actions] of [
    [['states', 'transitions'], states.transitions],
    [['operations'], given.operations],
  ] as const)
    for (const [own, action] of Object.entries(isObject(actions) ? actions : {}))
      if (isObject(action) && hasMember(isObject(action.input) ? action.input : {}, field))
        report(
          context,
          [...path, ...kind, own, 'input', field],
          'In a body this name carries the idempotency key.',
          'Write another name.',
        )
}
