/** Replaces an item, or creates it at its URL: PUT. Part 4, methods. */

import { allow, isScope } from '../auth/allow.ts'
import { handledBy } from '../effects/row-writer.ts'
import type { Caller } from '../flow/caller.ts'
import type { AbsentRow, FoundRow } from '../flow/found-row.ts'
import type { Document, Intent } from '../flow/intent.ts'
import type { RowWrite } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
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

export function replaceItemRoute(context: EndpointContext): Route {
  const { resource } = context
  const updated = updatePlanner(context, 'replace')
  return writeItemRoute(context, {
    operation: 'replace',
    method: 'PUT',
    rule: ruleFor(resource.access, 'replace') as string,
    rowRule: rowRuleOf(context.representation.today, 'replace'),
    content: ['application/json'],
    headers: ({ key, carried }) => ({ 'Content-Location': itemPath(resource, key, carried) }),
    admit: (request, current) => {
      if (current.is !== 'found') admitPutCreate(context, current, request.caller)
      admitConditions(context, request, current.is === 'found' ? current : null)
    },
    judgeState: judgeWrite(context, 'change'),
    decide: (intent, current) =>
      current.is === 'found' ? planReplace(context, intent, current, updated) : planPutCreate(context, intent, current),
    furtherRules: writeRules(context),
    claims: null,
    about: replaceDescription(context),
  })
}

function replaceDescription(context: EndpointContext): WriteDescription {
  const { resource } = context
  const { title, access } = resource
  const [own, creating] = [ruleFor(access, 'replace'), ruleFor(access, 'create')]
  const creates = createsOnPut(resource)
  return {
    id: 'replace',
    summary: () => `Replace ${withArticle(title)}`,
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
      ...totalTypes(context),
      ...stateTypes(context, 'change'),
      ...uniqueTypes(context),
    ],
  }
}

export function planReplace(
  context: EndpointContext,
  intent: Intent,
  current: FoundRow,
  updated: ReturnType<typeof updatePlanner>,
): RowWrite {
  const { representation, view } = context
  const before = decodeDocument(representation.today, current.doc, current.hidden)
  const body = { ...omittedMovedFields(context, intent), ...(intent.body as Document) }
  const rows = maskJoined(view(intent.caller), current.joined)
  const after = representation.replace(body, before, intent.key, itemPermissions(context, intent), rows)
  return { ...updated(intent, current, before, after), ...movedFieldWrites(context, { ...intent, body }, after) }
}

/** The defaults of moved fields that a PUT leaves out, if the caller may write them: as for fields of the own row. R111. */
function omittedMovedFields(context: EndpointContext, { caller }: Intent): Document {
  const { resource, representation } = context
  const { scopes } = caller
  const own = resource.members.filter(
    ({ name, absent, writeOnly, immutable, read, write }) =>
      representation.moved.some((one) => one.name === name && mayWriteMovedField(context, caller, one)) &&
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
function admitPutCreate(context: EndpointContext, current: AbsentRow, caller: Caller): void {
  const { resource } = context
  const own = current.collection === resource.collection.name
  if (!own || !createsOnPut(resource) || (current.is === 'gone' && !resource.settings.resource.putRevives))
    throw absentItem(context, current)
  allow(caller, ruleFor(resource.access, 'create') as string, context.challenge)
}

export function planPutCreate(context: EndpointContext, intent: Intent, current: AbsentRow): RowWrite {
  const { representation } = context
  const resource = representation.today
  const document = representation.replace(intent.body as Document, null, intent.key, itemPermissions(context, intent))
  enterWrittenState(context, intent, null, document)
  if (resource.key !== null)
    document[resource.key] = keyValue(
      (resource.byName.get(resource.key) as Member).field,
      resource.rules,
      intent.key.id,
    )
  stampDocument(resource, document, intent.key, intent.key.parent, intent.time)
  admitConvertible(context, intent.caller, document)
  const { key, time } = intent
  const id = current.is === 'gone' ? 'revived' : 'chosen'
  const guard = stateGuard(context, resource, { owner: key.parent }, intent)
  const birth = context.writer.create(resource, document, {
    ...{ key, parent: ownerOf(context, key.parent), time, id, guard },
    handled: handledBy(intent, () => operationsOfCreation(context, document)),
  })
  return { ...birth, ...movedFieldWrites(context, intent, document) }
}
