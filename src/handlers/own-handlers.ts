/** Own handlers: the handlers that a service declares, and a check that each of them belongs to an operation. Part 3, handlers. */

import { throwMistakes } from '../check/declaration-mistakes.ts'
import { hasMember, nameHint } from '../check/kind-options.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import type { Mistake, ResourceDeclaration } from '../resources/declaration.ts'

/** A handler as the engine calls it. */
export type HandlerFunction = (given: never) => unknown

/** A reaction: the types of events that it follows, where it begins, and its function. */
export interface OwnReaction {
  readonly on: readonly string[]
  readonly from?: 'now' | 'start'
  readonly run: HandlerFunction
}

/** The handlers of a service, and the value that they share. */
export interface OwnHandlers {
  readonly handlers: { readonly [resource: string]: { readonly [operation: string]: HandlerFunction } }
  /** The reactions to events, by name. */
  readonly reactions?: { readonly [name: string]: OwnReaction }
  /** Makes the value that handlers share, once per process. */
  readonly use?: () => unknown
  /** Releases the value. */
  readonly close?: (used: never) => unknown
}

/** The writes of fields that handlers decide on; `write` runs before `create`, `replace` and `change`. */
export const fieldOperations = ['create', 'replace', 'change'] as const
const ownOperations: readonly string[] = ['write', ...fieldOperations, 'remove']

/** The names of the handlers that a resource can have. */
const handlerNames = ({ states, operations }: ResourceDeclaration): readonly string[] => [
  ...ownOperations,
  ...Object.keys(states?.transitions ?? {}),
  ...Object.keys(operations ?? {}),
]

type Resources = { readonly [name: string]: ResourceDeclaration }

/** A service with the types of its events. */
interface HandledService {
  readonly name: string
  readonly resources: Resources
  readonly eventTypes: readonly string[]
}

/** The declared operations without a handler. */
function missingHandlers(resources: Resources, handlers: Partial<OwnHandlers['handlers']>): Mistake[] {
  return Object.entries(resources).flatMap(([resource, { operations = {} }]) => {
    const own = Object.hasOwn(handlers, resource) ? handlers[resource] : undefined
    if (own !== undefined && !isObject(own)) return [] // reported already
    return Object.entries(operations).flatMap(([name, { at, output }]) => {
      if (own && hasMember(own, name)) return []
      const parameters = at === 'item' ? '{ item, input }' : '{ input }'
      const body = output ? `return { ${Object.keys(output).join(', ')} }` : '…'
      const key = (text: string) => (/^\w+$/.test(text) ? text : `'${text}'`)
      const mend = `Write it, as api.handlers({ ${key(resource)}: { async ${key(name)}(${parameters}) { ${body} } } }), and serve the file with that as its default export.`
      return [{ place: `handlers.${resource}.${name}`, reason: 'The declared operation has no handler.', mend }]
    })
  })
}

/** Throws if declared operations have no handlers. */
export function requireHandlers(name: string, resources: Resources, ownHandlers: OwnHandlers | null): void {
  throwMistakes({ name }, missingHandlers(resources, ownHandlers?.handlers ?? {}))
}

/** Throws all mistakes in the names of handlers. */
export function checkOwnHandlers(
  { name, resources, eventTypes }: HandledService,
  { handlers, reactions, use, close }: OwnHandlers,
): void {
  throwMistakes({ name }, [
    ...(reactions === undefined ? [] : reactionMistakes(reactions, eventTypes)),
    ...(isObject(handlers)
      ? [
          ...Object.entries(handlers).flatMap(([resource, own]) => resourceMistakes(resource, own, resources)),
          ...missingHandlers(resources, handlers),
        ]
      : [mistake([], handlers, 'Write an object: { orders: { create({ input, refuse }) { … } } }.')]),
    ...[use, close].flatMap((one, i) =>
      one === undefined || typeof one === 'function'
        ? []
        : [mistake([i === 0 ? 'use' : 'close'], one, 'Write a function.')],
    ),
  ])
}

const mistake = (path: readonly string[], value: unknown, mend: string): Mistake => ({
  place: ['handlers', ...path].join('.'),
  reason: `This is ${valueInWords(value)}.`,
  mend,
})

function reactionMistakes(reactions: unknown, types: readonly string[]): Mistake[] {
  const example = "{ receipts: { on: ['order.placed'], async run({ event }) { … } } }"
  if (!isObject(reactions)) return [mistake(['reactions'], reactions, `Write an object: ${example}.`)]
  return Object.entries(reactions).flatMap(([name, own]) => {
    const path = ['reactions', name]
    if (!isObject(own)) return [mistake(path, own, `Write an object, as ${example}.`)]
    const { on, from, run, ...rest } = own
    const unknown = Object.keys(rest).map((key) => ({
      ...{ place: ['handlers', ...path, key].join('.'), reason: 'There is no option of this name.' },
      mend: nameHint(key, ['on', 'from', 'run']),
    }))
    return [
      ...unknown,
      ...(/^[a-z][A-Za-z0-9_-]{0,63}$/.test(name) ? [] : [mistake(path, name, 'Write a name of letters and digits.')]),
      ...(Array.isArray(on) && on.length > 0
        ? on.flatMap((type) => typeMistakes([...path, 'on'], type, types))
        : [mistake([...path, 'on'], on, "Write a list of types: ['order.placed'].")]),
      ...(from === undefined || from === 'now' || from === 'start'
        ? []
        : [mistake([...path, 'from'], from, "Write 'now' or 'start'.")]),
      ...(typeof run === 'function' ? [] : [mistake([...path, 'run'], run, 'Write a function.')]),
    ]
  })
}

function typeMistakes(path: readonly string[], type: unknown, types: readonly string[]): Mistake[] {
  if (types.includes(type as string)) return []
  const mend = types.length === 0 ? 'Declare `events: true`.' : nameHint(String(type), types)
  return [{ place: ['handlers', ...path].join('.'), reason: `There is no event type ${valueInWords(type)}.`, mend }]
}

function resourceMistakes(resource: string, own: unknown, resources: Resources): Mistake[] {
  if (!hasMember(resources, resource)) {
    const mend = nameHint(resource, Object.keys(resources))
    return [{ place: `handlers.${resource}`, reason: 'There is no resource of this name.', mend }]
  }
  if (!isObject(own)) return [mistake([resource], own, 'Write an object: { create({ input, refuse }) { … } }.')]
  const names = handlerNames(resources[resource] as ResourceDeclaration)
  return Object.entries(own).flatMap(([operation, handler]) => {
    if (!names.includes(operation)) {
      const reason = `${resource} has no operation or transition of this name.`
      return [{ place: `handlers.${resource}.${operation}`, reason, mend: nameHint(operation, names) }]
    }
    return typeof handler === 'function' ? [] : [mistake([resource, operation], handler, 'Write a function.')]
  })
}

/** Makes the value that handlers share at its first use, and releases it. */
export function usedByHandlers({ use, close }: OwnHandlers): {
  readonly used: () => Promise<unknown>
  readonly close: () => Promise<void>
} {
  let shared: Promise<unknown> | undefined
  return {
    used: () => {
      shared ??= (async () => use?.())()
      return shared
    },
    close: async () => {
      if (!shared || !close) return
      const made = await shared.then(
        (value) => ({ value }),
        () => null, // there is nothing to release
      )
      if (made) await close(made.value as never)
    },
  }
}
