/** Replaces an item, or creates it at its URL: PUT. Part 4, methods. */

import { allow } from '../auth/allow.ts'
import type { Caller } from '../flow/caller.ts'
import type { Document, Intent } from '../flow/intent.ts'
import type { Absent, Decide, Found, Write } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { ruleFor } from '../resources/declaration.ts'
import { keyValue } from '../resources/resource.ts'
import { documentOf } from '../resources/row.ts'
import { mayMove } from './borders.ts'
import { admitWrite } from './conditional.ts'
import { creation, stamped } from './create.ts'
import { absent, admitShown, handOf, itemRead, ownerOf, pathOf, type Scene } from './item.ts'
import { audibleBeside } from './view.ts'
import { alongOf, updating, writing } from './write.ts'

export function replace(scene: Scene): Route {
  const { resource, view } = scene
  const updated = updating(scene)
  return writing(scene, {
    operation: 'replace',
    rule: ruleFor(resource.access, 'replace') as string,
    content: ['application/json'],
    plan: (intent): Decide => ({
      do: 'decide',
      read: itemRead(scene, intent),
      decide: (seen) => (seen.is === 'found' ? replaced(scene, intent, seen, updated) : made(scene, intent, seen)),
    }),
    headers: ({ key, carried }) => ({ 'Content-Location': pathOf(resource, key, carried) }),
    admit: (given, seen, caller) => {
      if (seen.is === 'found') admitWrite(given, seen, view(caller))
      else {
        admitMaking(scene, seen, caller)
        admitWrite(given, null, view(caller))
      }
    },
  })
}

function replaced(scene: Scene, intent: Intent, seen: Found, updated: ReturnType<typeof updating>): Write {
  const { form, view } = scene
  admitWrite(intent.conditions, seen, view(intent.caller))
  const before = documentOf(form.today, seen.doc, seen.hidden)
  const body = { ...leftOut(scene, intent), ...(intent.body as Document) }
  const rows = audibleBeside(view(intent.caller), seen.beside)
  const after = form.replace(body, before, intent.key, handOf(scene, intent), rows)
  return { ...updated(intent, seen, before, after), ...alongOf(scene, { ...intent, body }, after) }
}

/** What a PUT that leaves it out says of fields that other rows have today: the same as of its own. R111. */
function leftOut(scene: Scene, { caller }: Intent): Document {
  const { resource, form } = scene
  const { scopes } = caller
  const own = resource.members.filter(
    ({ name, absent, hidden, immutable, read, write }) =>
      form.moved.some((one) => one.name === name && mayMove(scene, caller, one)) &&
      absent !== undefined &&
      !hidden &&
      !immutable &&
      [read ?? [], write].flat().every((one) => scopes.has(one)),
  )
  return Object.fromEntries(own.map(({ name, absent: usual }) => [name, usual]))
}

/** Whether PUT may make what is not there: only where and by whom POST could, and never what was deleted. R110, R136. */
function admitMaking(scene: Scene, seen: Absent, caller: Caller): void {
  const { resource } = scene
  const { putCreates, putRevives } = resource.settings.resource
  const own = seen.collection === resource.collection.name
  const offered =
    putCreates && resource.methods.includes('create') && (resource.collection.composite || !resource.parent)
  if (!own || !offered || (seen.is === 'gone' && !putRevives)) throw absent(scene, seen)
  allow(caller, ruleFor(resource.access, 'create') as string, scene.challenge)
}

function made(scene: Scene, intent: Intent, seen: Absent): Write {
  const { form, view } = scene
  const resource = form.today
  admitMaking(scene, seen, intent.caller)
  admitWrite(intent.conditions, null, view(intent.caller))
  const document = form.replace(intent.body as Document, null, intent.key, handOf(scene, intent))
  if (resource.key !== null)
    document[resource.key] = keyValue(resource.byName.get(resource.key)?.field.kind ?? 'text', intent.key.id)
  stamped(resource, document, intent.key, intent.key.parent, intent.time)
  admitShown(scene, intent.caller, document)
  const birth = creation(resource, document, {
    key: intent.key,
    owner: ownerOf(scene, intent.key.parent),
    time: intent.time,
  })
  return { ...birth, ...alongOf(scene, intent, document), id: seen.is === 'gone' ? 'revived' : 'chosen' }
}
