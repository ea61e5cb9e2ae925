/** Carries out a transition of an item: POST below its URL. Part 3, states. */

import { inputNamesOf, readServedInput } from '../changes/older-inputs.ts'
import { handledBy } from '../effects/row-writer.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { Intent } from '../flow/intent.ts'
import type { RowWrite } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { titleInSentence } from '../formats/naming.ts'
import { claimOfTransition } from '../idempotency/claim.ts'
import { decodeDocument } from '../resources/document.ts'
import type { ServedTransition } from '../resources/machine.ts'
import { rowRuleWith } from '../rules/row-rules.ts'
import { describedItem, describedMinimal, totalTypes, uniqueTypes } from './described.ts'
import { admitConvertible, type EndpointContext, itemPath, withFirstName } from './item.ts'
import { admitOpen, admitTransition } from './state-refusal.ts'
import { admitItem, admitUnlessKeyed, type WriteDescription, writeItemRoute } from './write-item.ts'

/** The routes of the transitions of a resource, as its version names them. */
export const transitionRoutes = (scene: EndpointContext): Route[] =>
  scene.transitions.map((served) => transitionRoute(scene, served))

function transitionRoute(scene: EndpointContext, served: ServedTransition): Route {
  const { resource } = scene
  const { own, today, older } = served
  const route = writeItemRoute(namedByInputs(scene, served), {
    operation: own.name,
    method: 'POST',
    at: `item/${own.name}`,
    rule: own.rule,
    rowRule: rowRuleWith(scene.representation.today, today.rowRule),
    content: ['application/json'],
    contentOptional: own.input.every(({ absent }) => absent !== undefined),
    claiming: (asked) =>
      claimOfTransition(asked, scene.representation.today, withFirstName(scene, 'transitions', today), older),
    headers: ({ key, carried }) => ({ 'Content-Location': itemPath(resource, key, carried) }),
    admit: (asked, seen) => {
      admitOpen(scene, today.to, asked)
      admitUnlessKeyed(scene)(asked, seen)
    },
    judgeState: (stored) => {
      admitTransition(scene, served, stored)
      return undefined
    },
    decide: (intent, seen) => planTransition(scene, served, intent, seen),
    claims: 'replayed',
    about: transitionDescription(scene, served),
  })
  return { ...route, inputNames: inputNamesOf(served) }
}

function planTransition(scene: EndpointContext, served: ServedTransition, intent: Intent, seen: ReadResult): RowWrite {
  const { today } = served
  admitItem(scene, intent, seen)
  const found = seen as FoundRow
  const { caller, key, time, body } = intent
  const { settings } = scene.resource
  const input = readServedInput(served, body ?? {}, settings)
  const stored = scene.representation.today
  const before = decodeDocument(stored, found.doc, found.hidden)
  admitTransition(scene, served, before)
  const after = { ...before, ...today.values({ time, caller: caller.id === '' ? null : caller.id, input }) }
  const write = scene.writer.update(stored, after, {
    ...{ key, time, seen: found, before, always: true, entered: true },
    handled: handledBy(intent, () => [today.name], input),
  })
  admitConvertible(scene, caller, after, found.joined)
  return write
}

/** Refusals name the inputs that fields are set from, in place of the fields. */
function namedByInputs(scene: EndpointContext, { today: { inputs }, older }: ServedTransition): EndpointContext {
  const { representation } = scene
  const names: typeof representation.names = (field, collection = representation.today.name) => {
    const input = collection === representation.today.name ? inputs.get(field) : undefined
    return input === undefined ? representation.names(field, collection) : (older?.names(input) ?? [input])
  }
  return inputs.size === 0 ? scene : { ...scene, representation: { ...representation, names } }
}

function transitionDescription(scene: EndpointContext, { own, refused }: ServedTransition): WriteDescription {
  const { resource } = scene
  const { name, from, to, input } = own
  const replayed = ['Idempotency-Replayed']
  return {
    id: name,
    summary: () => `Makes one ${titleInSentence(resource.title)} ${to}`,
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
      ...totalTypes(scene),
      ...uniqueTypes(scene),
    ],
  }
}
