/** Replaces an item, or creates it at its URL: PUT. Part 4, methods. */

import { allow, isScope } from '../auth/allow.ts'
import { handledBy } from '../effects/row-writer.ts'
import type { Caller } from '../flow/caller.ts'
import type { AbsentRow, FoundRow } from '../flow/found-row.ts'
import type { Document, Intent } from '../flow/intent.ts'
import type { RowWrite } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { titleInSentence } from '../formats/naming.ts'
import { ruleFor } from '../resources/declaration.ts'
import { decodeDocument, stampDocument } from '../resources/document.ts'
import { keyValue, type Member, type Resource } from '../resources/resource.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import { maskJoined } from '../views/view.ts'
import {
  describedCreation,
  describedItem,
  describedMinimal,
  scopeTypes,
  stateTypes,
  totalTypes,
  uniqueTypes,
  writesRestricted,
} from './described.ts'
import { mayWriteMovedField, writeRules } from './further-rules.ts'
import { absentItem, admitConvertible, type EndpointContext, itemPath, itemPermissions, ownerOf } from './item.ts'
import { enterWrittenState, judgeWrite, operationsOfCreation, stateGuard } from './state-refusal.ts'
import {
  admitConditions,
  movedFieldWrites,
  updatePlanner,
  type WriteDescription,
  writeItemRoute,
} from './write-item.ts'

export function replaceItemRoute(scene: EndpointContext): Route {
  const { resource } = scene
  const updated = updatePlanner(scene, 'replace')
  return writeItemRoute(scene, {
    operation: 'replace',
    method: 'PUT',
    rule: ruleFor(resource.access, 'replace') as string,
    rowRule: rowRuleOf(scene.representation.today, 'replace'),
    content: ['application/json'],
    headers: ({ key, carried }) => ({ 'Content-Location': itemPath(resource, key, carried) }),
    admit: (asked, seen) => {
      if (seen.is !== 'found') admitPutCreate(scene, seen, asked.caller)
      admitConditions(scene, asked, seen.is === 'found' ? seen : null)
    },
    judgeState: judgeWrite(scene, 'change'),
    decide: (intent, seen) =>
      seen.is === 'found' ? planReplace(scene, intent, seen, updated) : planPutCreate(scene, intent, seen),
    furtherRules: writeRules(scene),
    claims: null,
    about: replaceDescription(scene),
  })
}

function replaceDescription(scene: EndpointContext): WriteDescription {
  const { resource } = scene
  const { title, access } = resource
  const [own, creating] = [ruleFor(access, 'replace'), ruleFor(access, 'create')]
  const creates = createsOnPut(resource)
  return {
    id: 'replace',
    summary: () => `Replaces one ${titleInSentence(title)}`,
    notes:
      creating !== undefined && creating !== own && isScope(creating)
        ? [`What it creates takes the scope ${creating}.`]
        : [],
    body: 'replace',
    answers: [
      describedItem(200, `${title} was replaced.`, resource, ['Content-Location']),
      ...(creates ? [describedCreation(resource)] : []),
      describedMinimal(resource, ['Content-Location']),
    ],
    refusals: [
      ...scopeTypes(resource, writesRestricted),
      ...(typeof access === 'object' ? ['insufficient-scope'] : []),
      ...totalTypes(scene),
      ...stateTypes(scene, 'change'),
      ...uniqueTypes(scene),
    ],
  }
}

export function planReplace(
  scene: EndpointContext,
  intent: Intent,
  seen: FoundRow,
  updated: ReturnType<typeof updatePlanner>,
): RowWrite {
  const { representation, view } = scene
  const before = decodeDocument(representation.today, seen.doc, seen.hidden)
  const body = { ...omittedMovedFields(scene, intent), ...(intent.body as Document) }
  const rows = maskJoined(view(intent.caller), seen.joined)
  const after = representation.replace(body, before, intent.key, itemPermissions(scene, intent), rows)
  return { ...updated(intent, seen, before, after), ...movedFieldWrites(scene, { ...intent, body }, after) }
}

/** The defaults of moved fields that a PUT leaves out, if the caller may write them: as for fields of the own row. R111. */
function omittedMovedFields(scene: EndpointContext, { caller }: Intent): Document {
  const { resource, representation } = scene
  const { scopes } = caller
  const own = resource.members.filter(
    ({ name, absent, writeOnly, immutable, read, write }) =>
      representation.moved.some((one) => one.name === name && mayWriteMovedField(scene, caller, one)) &&
      absent !== undefined &&
      !writeOnly &&
      !immutable &&
      [read ?? [], write].flat().every((one) => scopes.has(one)),
  )
  return Object.fromEntries(own.map(({ name, absent: usual }) => [name, usual]))
}

/** Whether PUT creates missing items. R110. */
const createsOnPut = ({ settings, methods, collection, parent }: Resource): boolean =>
  settings.resource.putCreates && methods.includes('create') && (collection.composite || !parent)

/** PUT may create only what this caller could create with POST, and a deleted item only with `putRevives`. R110, R136. */
function admitPutCreate(scene: EndpointContext, seen: AbsentRow, caller: Caller): void {
  const { resource } = scene
  const own = seen.collection === resource.collection.name
  if (!own || !createsOnPut(resource) || (seen.is === 'gone' && !resource.settings.resource.putRevives))
    throw absentItem(scene, seen)
  allow(caller, ruleFor(resource.access, 'create') as string, scene.challenge)
}

export function planPutCreate(scene: EndpointContext, intent: Intent, seen: AbsentRow): RowWrite {
  const { representation } = scene
  const resource = representation.today
  const document = representation.replace(intent.body as Document, null, intent.key, itemPermissions(scene, intent))
  enterWrittenState(scene, intent, null, document)
  if (resource.key !== null)
    document[resource.key] = keyValue(
      (resource.byName.get(resource.key) as Member).field,
      resource.rules,
      intent.key.id,
    )
  stampDocument(resource, document, intent.key, intent.key.parent, intent.time)
  admitConvertible(scene, intent.caller, document)
  const { key, time } = intent
  const id = seen.is === 'gone' ? 'revived' : 'chosen'
  const guard = stateGuard(scene, resource, { owner: key.parent }, intent)
  const birth = scene.writer.create(resource, document, {
    ...{ key, parent: ownerOf(scene, key.parent), time, id, guard },
    handled: handledBy(intent, () => operationsOfCreation(scene, document)),
  })
  return { ...birth, ...movedFieldWrites(scene, intent, document) }
}
