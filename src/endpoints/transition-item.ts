/** Carries out a transition of an item: POST below its URL. Part 3, states. */

import { inputNamesOf, readServedInput } from '../changes/older-inputs.ts'
import { handledBy } from '../effects/row-writer.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { Intent } from '../flow/intent.ts'
import type { RowWrite } from '../flow/plan.ts'
import { Prepared } from '../flow/prepared.ts'
import type { Route } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import { claimOfTransition } from '../idempotency/claim.ts'
import { decodeDocument } from '../resources/document.ts'
import type { ServedAction, ServedTransition } from '../resources/machine.ts'
import { rowRuleWith } from '../rules/row-rules.ts'
import { describedItem, describedMinimal, totalTypes, uniqueTypes } from './described.ts'
import { admitConvertible, contextIn, type EndpointContext, itemPath } from './item.ts'
import { admitOpen, admitTransition } from './state-refusal.ts'
import { admitItem, admitUnlessKeyed, type WriteDescription, writeItemRoute } from './write-item.ts'

/**
 * A transition or an operation under the name that idempotency keys use: its name in the first version that has it. If an
 * older version used that name for another action, the version is appended. The name is computed at the first request, when
 * all versions are complete.
 */
export function actionOfKeys<A extends { readonly name: string }>(
  context: EndpointContext,
  kind: 'transitions' | 'operations',
  action: A,
): A {
  const names = new Prepared()
  return {
    ...action,
    get name() {
      return names.form('first', () => firstName(context, kind, action.name))
    },
  }
}

function firstName(context: EndpointContext, kind: 'transitions' | 'operations', name: string): string {
  const taken = new Set<string>()
  for (const label of context.versions.keys()) {
    const actions: readonly ServedAction<{ readonly name: string }>[] = contextIn(context, label)?.[kind] ?? []
    const { own } = actions.find(({ refused, today }) => refused === null && today.name === name) ?? {}
    if (own) return taken.has(own.name) ? `${own.name}@${label}` : own.name
    for (const one of actions) taken.add(one.own.name)
  }
  return name
}

/** The routes of the transitions of a resource, as its version names them. */
export const transitionRoutes = (context: EndpointContext): Route[] =>
  context.transitions.map((served) => transitionRoute(context, served))

function transitionRoute(context: EndpointContext, served: ServedTransition): Route {
  const { resource } = context
  const { own, today, older } = served
  const keyed = actionOfKeys(context, 'transitions', today)
  const route = writeItemRoute(namedByInputs(context, served), {
    operation: own.name,
    method: 'POST',
    at: `item/${own.name}`,
    rule: own.rule,
    rowRule: rowRuleWith(context.representation.today, today.rowRule),
    content: ['application/json'],
    contentOptional: own.input.every(({ absent }) => absent !== undefined),
    claiming: (request) => claimOfTransition(request, context.representation.today, keyed, older),
    headers: ({ key, carried }) => ({ 'Content-Location': itemPath(resource, key, carried) }),
    admit: (request, current) => {
      admitOpen(context, today.to, request)
      admitUnlessKeyed(context)(request, current)
    },
    judgeState: (stored) => {
      admitTransition(context, served, stored)
      return undefined
    },
    decide: (intent, current) => planTransition(context, served, intent, current),
    claims: 'replayed',
    about: transitionDescription(context, served),
  })
  return { ...route, inputNames: inputNamesOf(served) }
}

function planTransition(
  context: EndpointContext,
  served: ServedTransition,
  intent: Intent,
  current: ReadResult,
): RowWrite {
  const { today } = served
  admitItem(context, intent, current)
  const row = current as FoundRow
  const { caller, key, time, body } = intent
  const { settings } = context.resource
  const input = readServedInput(served, body ?? {}, settings)
  const stored = context.representation.today
  const before = decodeDocument(stored, row.doc, row.hidden)
  admitTransition(context, served, before)
  const after = { ...before, ...today.values({ time, caller: caller.id === '' ? null : caller.id, input }) }
  const write = context.writer.update(stored, after, {
    ...{ key, time, current: row, before, always: true, entered: true },
    handled: handledBy(intent, () => [today.name], input),
  })
  admitConvertible(context, caller, after, row.joined)
  return write
}

/** Refusals name the inputs that fields are set from, in place of the fields. */
function namedByInputs(context: EndpointContext, { today: { inputs }, older }: ServedTransition): EndpointContext {
  const { representation } = context
  const names: typeof representation.names = (field, collection = representation.today.name) => {
    const input = collection === representation.today.name ? inputs.get(field) : undefined
    return input === undefined ? representation.names(field, collection) : (older?.names(input) ?? [input])
  }
  return inputs.size === 0 ? context : { ...context, representation: { ...representation, names } }
}

function transitionDescription(context: EndpointContext, { own, refused }: ServedTransition): WriteDescription {
  const { resource } = context
  const { name, from, to, input } = own
  const replayed = ['Idempotency-Replayed']
  return {
    id: name,
    summary: () => `Move ${withArticle(resource.title)} to ${to}`,
    notes: [
      refused
        ? `${refused.version} withdrew it: it is refused with ${refused.status}.`
        : `Possible while it is ${from.join(' or ')}.`,
    ],
    body: 'input',
    input,
    answers: [
      describedItem(200, `${resource.title} is ${to}.`, resource, ['Content-Location', ...replayed]),
      describedMinimal(resource, ['Content-Location', ...replayed]),
    ],
    refusals: [
      refused?.status === 410 ? 'gone' : 'invalid-state',
      'maintenance',
      ...totalTypes(context),
      ...uniqueTypes(context),
    ],
  }
}
