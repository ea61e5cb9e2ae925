/** Changes the given fields of an item: PATCH with a merge patch. Part 4, methods. */
import type { FoundRow } from '../flow/found-row.ts'
import type { Document } from '../flow/intent.ts'
import type { Route } from '../flow/route.ts'
import { claimOfChange } from '../idempotency/claim.ts'
import { ruleFor } from '../resources/declaration.ts'
import { decodeDocument } from '../resources/document.ts'
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
import { absentItem, type EndpointContext, itemPermissions, restrictedFields } from './item.ts'
import { maskJoined } from './view.ts'
import {
  admitConditions,
  movedFieldWrites,
  updatePlanner,
  type WriteDescription,
  writeItemRoute,
} from './write-item.ts'

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
    headers: () => ({}),
    admit: (asked, seen) => {
      if (seen.is !== 'found') throw absentItem(scene, seen)
      admitConditions(scene, asked, seen)
    },
    decide: (intent, seen) => {
      const found = seen as FoundRow
      const before = decodeDocument(representation.today, found.doc, found.hidden)
      const { body, key } = intent
      const rows = maskJoined(view(intent.caller), found.joined)
      const after = representation.change(body as Document, before, key, itemPermissions(scene, intent), rows)
      const leads = representation.joined.every(({ by }) => before[by] === after[by])
      const moved = movedFieldWrites(scene, intent, after, leads ? rows : [])
      return { ...updated(intent, found, before, after), ...moved }
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
    refusals: [
      ...scopeTypes(resource, writesRestricted),
      ...totalTypes(scene),
      ...stateTypes(scene, 'change'),
      ...uniqueTypes(scene),
    ],
  }
}
