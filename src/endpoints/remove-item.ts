/** Removes an item and leaves a tombstone: DELETE. Part 4, methods; part 7, 410. */

import { otherRowsRefusal } from '../auth/allow.ts'
import { handledBy } from '../effects/row-writer.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import type { RowWrite } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import { ruleFor } from '../resources/declaration.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import { stateTypes, totalTypes } from './described.ts'
import { cascadeRules } from './further-rules.ts'
import { absentItem, type EndpointContext, writeRefusal } from './item.ts'
import { judgeWrite, stateGuard } from './state-refusal.ts'
import { admitConditions, type WriteDescription, writeItemRoute } from './write-item.ts'

export function removeItemRoute(context: EndpointContext): Route {
  const { resource } = context
  const rules = cascadeRules(context)
  return {
    ...writeItemRoute(context, {
      operation: 'remove',
      method: 'DELETE',
      rule: ruleFor(resource.access, 'remove') as string,
      rowRule: rowRuleOf(context.representation.today, 'remove'),
      content: [],
      headers: () => ({}),
      admit: (request, current) => admitRemoval(context, request, current),
      judgeState: judgeWrite(context, 'remove'),
      decide: (intent, current) =>
        current.is === 'found' ? planRemoval(context, intent, current, rules) : { do: 'keep' },
      furtherRules: [...new Set(rules.values())],
      claims: null,
      about: removeDescription(context),
    }),
    render: ({ key, caller }, outcome) => {
      if (outcome.is === 'withheld') throw cascadeRefusal(context, rules, outcome.collection, caller)
      if (outcome.is !== 'removed' && outcome.is !== 'kept') throw writeRefusal(context, outcome, key)
      return { status: 204, headers: {}, body: null }
    },
  }
}

function planRemoval(
  context: EndpointContext,
  intent: Intent,
  current: FoundRow,
  rules: ReturnType<typeof cascadeRules>,
): RowWrite {
  const { today } = context.representation
  const before = JSON.parse(current.doc) as Document
  const { caller, key, time } = intent
  const takes = new Set([...rules].filter(([, rule]) => permits(caller, rule)).map(([one]) => one))
  const own = { operation: 'remove', document: before } as const
  const guard = stateGuard(context, today, { own, owner: before[today.parent?.field ?? ''] }, intent)
  return context.writer.remove(
    today,
    { key, time, takes, guard, handled: handledBy(intent, () => ['remove']) },
    current,
  )
}

/** With `delete.repeat: no-content` a repeated removal succeeds, whatever its preconditions. R133. */
function admitRemoval(context: EndpointContext, request: RequestContext, current: ReadResult): void {
  if (current.is === 'found') admitConditions(context, request, current)
  const { collection, settings } = context.resource
  const repeated =
    current.is === 'gone' && current.collection === collection.name && settings.delete.repeat === 'no-content'
  if (current.is !== 'found' && !repeated) throw absentItem(context, current)
}

function removeDescription(context: EndpointContext): WriteDescription {
  const {
    title,
    settings,
    collection: { dependents },
  } = context.resource
  return {
    id: 'delete',
    summary: () => `Delete ${withArticle(title)}`,
    notes: [
      ...(dependents.some(({ onDelete }) => onDelete === 'restrict') ? ['Not while others depend on it.'] : []),
      ...(settings.delete.repeat === 'no-content' ? ['A repeat is as good as the first.'] : []),
    ],
    body: null,
    answers: [{ status: 204, says: 'It is no longer there.', body: null, headers: [], name: 'Removed' }],
    refusals: [
      ...totalTypes(context, cascadeRules(context).keys()),
      ...stateTypes(context, 'remove'),
      ...(dependents.some(({ pairs }) => !pairs) ? ['has-dependents'] : []),
    ],
  }
}

/** The refusal of a removal that would also remove rows that the caller may not remove. */
function cascadeRefusal(
  { challenge, resource }: EndpointContext,
  rules: ReturnType<typeof cascadeRules>,
  other: string,
  caller: Caller,
): Error {
  const { auth } = resource.settings
  return otherRowsRefusal(`remove ${other}, which are deleted with it,`, rules.get(other), { caller, challenge, auth })
}
