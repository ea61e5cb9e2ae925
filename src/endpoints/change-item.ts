/** Changes the given fields of an item: PATCH with a merge patch or a JSON Patch. Part 4, methods. */

import type { FoundRow } from '../flow/found-row.ts'
import type { Document, Intent } from '../flow/intent.ts'
import type { Route } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import { claimOfChange } from '../idempotency/claim.ts'
import { ruleFor } from '../resources/declaration.ts'
import { decodeDocument, mergePatch, takeWhole } from '../resources/document.ts'
import { changesByPatch } from '../resources/json-patch.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import { maskJoined } from '../views/view.ts'
import { jsonPatchType, mergePatchType } from './content-negotiation.ts'
import {
  describedItem,
  describedMinimal,
  replayHeaders,
  scopeTypes,
  stateTypes,
  totalTypes,
  uniqueTypes,
  writesRestricted,
} from './described.ts'
import { writeRules } from './further-rules.ts'
import { absentItem, type EndpointContext, itemPermissions, itemReply, mayRead, restrictedFields } from './item.ts'
import { judgeWrite } from './state-refusal.ts'
import {
  admitConditions,
  movedFieldWrites,
  updatePlanner,
  type WriteDescription,
  writeItemRoute,
} from './write-item.ts'

/** In the order of `Accept-Patch`. R115. */
const patchTypes: readonly string[] = [mergePatchType, 'application/json']

export function changeItemRoute(context: EndpointContext): Route {
  const { resource, view, representation } = context
  const concealed = restrictedFields(context)
  const updated = updatePlanner(context, 'change')
  const claims = resource.settings.idempotency.methods.includes('PATCH') ? 'optional' : null
  return writeItemRoute(context, {
    operation: 'change',
    method: 'PATCH',
    rule: ruleFor(resource.access, 'change') as string,
    rowRule: rowRuleOf(context.representation.today, 'change'),
    content: resource.settings.patch.jsonPatch ? [...patchTypes, jsonPatchType] : patchTypes,
    claiming: (request) => claimOfChange(request, representation.today, concealed),
    headers: () => ({}),
    admit: (request, current) => {
      if (current.is !== 'found') throw absentItem(context, current)
      admitConditions(context, request, current)
    },
    judgeState: judgeWrite(context, 'change'),
    decide: (requested, current) => {
      const row = current as FoundRow
      const intent = requested.patch
        ? { ...requested, body: fieldsByPatch(context, requested, row, concealed) }
        : requested
      const merge = requested.patch ? takeWhole : mergePatch
      const before = decodeDocument(representation.today, row.doc, row.hidden)
      const { body, key } = intent
      const rows = maskJoined(view(intent.caller), row.joined)
      const after = representation.change(body as Document, before, key, itemPermissions(context, intent), rows, merge)
      const leads = representation.joined.every(({ by }) => before[by] === after[by])
      const moved = movedFieldWrites(context, intent, after, { rows: leads ? rows : [], merge })
      return { ...updated(intent, row, before, after), ...moved }
    },
    furtherRules: writeRules(context),
    claims,
    about: changeDescription(context, claims),
  })
}

/**
 * The fields that a JSON Patch changes, with their new values; a removed one gets its default or null. The patch is
 * applied to the item as the caller sees it in this version, so that no `test` depends on a value that it cannot read. R118.
 */
function fieldsByPatch(
  context: EndpointContext,
  intent: Intent,
  row: FoundRow,
  concealed: ReadonlySet<string>,
): Document {
  const { resource, representation } = context
  const { limits, body } = resource.settings
  const seen = mayRead(intent.caller, representation.today) ? String(itemReply(context, intent, 200, row).body) : '{}'
  const bounds = { depth: body.maxDepth, size: limits.body }
  const changes = changesByPatch(JSON.parse(seen), intent.patch ?? [], bounds, concealed).flatMap(([name, value]) => {
    if (value !== undefined) return [[name, value] as const]
    const member = resource.byName.get(name)
    return member?.from === 'caller' ? [[name, member.absent ?? null] as const] : []
  })
  return Object.fromEntries(changes)
}

function changeDescription(context: EndpointContext, claims: Route['claims']): WriteDescription {
  const { resource } = context
  const replayed = replayHeaders(resource, claims)
  return {
    id: 'update',
    summary: () => `Update ${withArticle(resource.title)}`,
    body: 'change',
    answers: [
      describedItem(200, `${resource.title} was changed.`, resource, replayed),
      describedMinimal(resource, replayed),
    ],
    refusals: [
      ...scopeTypes(resource, writesRestricted),
      ...totalTypes(context),
      ...stateTypes(context, 'change'),
      ...uniqueTypes(context),
      ...(resource.settings.patch.jsonPatch ? ['patch-conflict'] : []),
    ],
  }
}
