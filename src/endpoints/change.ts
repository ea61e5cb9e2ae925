/** Changes the given fields of an item: PATCH with a merge patch. Part 4, methods. */
import type { Document } from '../flow/intent.ts'
import type { Decide } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { claimOfChange } from '../idempotency/claim.ts'
import { ruleFor } from '../resources/declaration.ts'
import { documentOf } from '../resources/row.ts'
import { admitWrite } from './conditional.ts'
import { absent, concealedIn, handOf, itemRead, type Scene } from './item.ts'
import { audibleBeside } from './view.ts'
import { alongOf, updating, writing } from './write.ts'

/** In the order of `Accept-Patch`. R115. */
export const patchTypes: readonly string[] = ['application/merge-patch+json', 'application/json']

export function change(scene: Scene): Route {
  const { resource, view, form } = scene
  const concealed = concealedIn(scene)
  const updated = updating(scene)
  return writing(scene, {
    operation: 'change',
    rule: ruleFor(resource.access, 'change') as string,
    content: patchTypes,
    claiming: (asked) => claimOfChange(asked, form.today, concealed),
    plan: (intent): Decide => ({
      do: 'decide',
      read: itemRead(scene, intent),
      decide: (seen) => {
        if (seen.is !== 'found') throw absent(scene, seen)
        admitWrite(intent.conditions, seen, view(intent.caller))
        const before = documentOf(form.today, seen.doc, seen.hidden)
        const { body, key } = intent
        const rows = audibleBeside(view(intent.caller), seen.beside)
        const after = form.change(body as Document, before, key, handOf(scene, intent), rows)
        const leads = form.beside.every(({ by }) => before[by] === after[by])
        const along = alongOf(scene, intent, after, leads ? rows : [])
        return { ...updated(intent, seen, before, after), ...along }
      },
    }),
    headers: () => ({}),
    admit: (given, seen, caller) => {
      if (seen.is !== 'found') throw absent(scene, seen)
      admitWrite(given, seen, view(caller))
    },
  })
}
