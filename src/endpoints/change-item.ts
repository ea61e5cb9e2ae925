/** Changes the given fields of an item: PATCH with a merge patch. Part 4, methods. */
import type { Document } from '../flow/intent.ts'
import type { Decide } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { claimOfChange } from '../idempotency/claim.ts'
import { ruleFor } from '../resources/declaration.ts'
import { decodeDocument } from '../resources/document.ts'
import {
  describedItem,
  describedMinimal,
  replayHeaders,
  scopeTypes,
  uniqueTypes,
  writesRestricted,
} from './described.ts'
import { writeRules } from './further-rules.ts'
import { absentItem, type EndpointContext, itemPermissions, itemRead, restrictedFields } from './item.ts'
import { admitConditionalWrite } from './preconditions.ts'
import { maskJoined } from './view.ts'
import { movedFieldWrites, updatePlanner, type WriteDescription, writeItemRoute } from './write-item.ts'

/** In the order of `Accept-Patch`. R115. */
const patchTypes: readonly string[] = ['application/merge-patch+json', 'application/json']

export function changeItemRoute(scene: EndpointContext): Route {
  const { resource, view, representation } = scene
  const concealed = restrictedFields(scene)
  const updated = updatePlanner(scene)
  const claims = resource.settings.idempotency.methods.includes('PATCH') ? 'optional' : null
  return writeItemRoute(scene, {
    operation: 'change',
    method: 'PATCH',
    rule: ruleFor(resource.access, 'change') as string,
    content: patchTypes,
    claiming: (asked) => claimOfChange(asked, representation.today, concealed),
    plan: (intent): Decide => ({
      do: 'decide',
      read: itemRead(scene, intent),
      decide: (seen) => {
        if (seen.is !== 'found') throw absentItem(scene, seen)
        admitConditionalWrite(intent.preconditions, seen, view(intent.caller))
        const before = decodeDocument(representation.today, seen.doc, seen.hidden)
        const { body, key } = intent
        const rows = maskJoined(view(intent.caller), seen.joined)
        const after = representation.change(body as Document, before, key, itemPermissions(scene, intent), rows)
        const leads = representation.joined.every(({ by }) => before[by] === after[by])
        const along = movedFieldWrites(scene, intent, after, leads ? rows : [])
        return { ...updated(intent, seen, before, after), ...along }
      },
    }),
    headers: () => ({}),
    admit: (given, seen, caller) => {
      if (seen.is !== 'found') throw absentItem(scene, seen)
      admitConditionalWrite(given, seen, view(caller))
    },
    furtherRules: writeRules(scene),
    claims,
    about: changeDescription(scene, claims),
  })
}

function changeDescription(scene: EndpointContext, claims: Route['claims']): WriteDescription {
  const { resource } = scene
  const replayed = replayHeaders(resource, claims)
  return {
    id: 'update',
    summary: () => `Changes the given fields of one ${resource.title.toLowerCase()}`,
    body: 'change',
    answers: [
      describedItem(200, `${resource.title} was changed.`, resource, replayed),
      describedMinimal(resource, replayed),
    ],
    refusals: [...scopeTypes(resource, writesRestricted), ...uniqueTypes(scene)],
  }
}
