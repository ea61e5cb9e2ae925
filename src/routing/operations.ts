/** Operations: all kinds of operations at the URLs of a resource, in the order in which they are listed. Part 4, methods. */

import { endpointRoute } from '../deliveries/endpoint-routes.ts'
import { webhookRoutes } from '../deliveries/webhook-routes.ts'
import { ownOperationRoutes } from '../endpoints/call-operation.ts'
import { changeItemRoute } from '../endpoints/change-item.ts'
import { createItemRoute } from '../endpoints/create-item.ts'
import type { EndpointContext } from '../endpoints/item.ts'
import { listItemsRoute, queryItemsRoute } from '../endpoints/list-items.ts'
import { readItemRoute } from '../endpoints/read-item.ts'
import { removeItemRoute } from '../endpoints/remove-item.ts'
import { replaceItemRoute } from '../endpoints/replace-item.ts'
import { transitionRoutes } from '../endpoints/transition-item.ts'
import { withExport } from '../exports/export-items.ts'
import { fileRoutes } from '../files/file-routes.ts'
import type { Route } from '../flow/route.ts'
import { revisionRoutes } from '../history/revision-routes.ts'
import { importRoutes } from '../imports/import-route.ts'
import type { Operation } from '../resources/declaration.ts'
import { summaryRoutes } from '../summaries/summarize-items.ts'

/** Makes the routes of one kind of operation for a resource; empty if the resource does not offer it. */
export type OperationRoutes = (context: EndpointContext) => readonly Route[]

const offered =
  (name: Operation, makeRoute: (context: EndpointContext) => Route): OperationRoutes =>
  (context) =>
    context.resource.methods.includes(name) ? [makeRoute(context)] : []

/** A new kind of operation is one more entry. */
export const standardOperations: readonly OperationRoutes[] = [
  offered('list', (context) => withExport(context, listItemsRoute(context))),
  offered('read', readItemRoute),
  offered('create', (context) => endpointRoute(createItemRoute(context), context)),
  offered('replace', replaceItemRoute),
  offered('change', (context) => endpointRoute(changeItemRoute(context), context)),
  offered('remove', removeItemRoute),
  (context) => (context.resource.machine === null ? [] : transitionRoutes(context)),
  ownOperationRoutes,
  summaryRoutes,
  importRoutes,
  revisionRoutes,
  fileRoutes,
  webhookRoutes,
  (context) => (context.resource.settings.methods.query ? offered('list', queryItemsRoute)(context) : []),
]
