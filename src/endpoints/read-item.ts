/** Reads an item: GET and HEAD. Part 4, methods. */

import type { ReadResult } from '../flow/found-row.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { titleInSentence } from '../formats/naming.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { absenceTypes, describedItem, describedUnchanged, itemConditions } from './described.ts'
import { admitPresent, type EndpointContext, itemKey, itemRead, itemReply } from './item.ts'
import { presentItem } from './present-item.ts'

export function readItemRoute(scene: EndpointContext): Route {
  const { resource } = scene
  return {
    operation: 'read',
    method: 'GET',
    at: 'item',
    safe: true,
    resource,
    rule: ruleFor(resource.access, 'read') as string,
    content: [],
    query: (call) => refuseParameters(call, resource.settings),
    target: (asked) => ({ read: itemRead(scene, asked), admit: (seen) => admitPresent(scene, seen) }),
    parse: (asked) => ({ ...asked, key: itemKey(scene, asked), time: 0, document: null, claim: null }),
    plan: (intent) => itemRead(scene, intent),
    render: (intent, outcome) => {
      return itemReply(scene, intent, 200, presentItem(scene, intent, outcome as ReadResult))
    },
    claims: null,
    about: readDescription(resource),
  }
}

const readDescription = (resource: Resource): OperationDescription => ({
  id: 'get',
  summary: () => `Reads one ${titleInSentence(resource.title)}`,
  notes: [],
  body: null,
  headers: [...itemConditions, 'modifiedSince'],
  answers: [describedItem(200, `${resource.title}.`, resource), describedUnchanged(resource)],
  refusals: [...absenceTypes(resource), 'precondition-failed'],
})
