/** Lists the items of a collection, or those below an owner: GET and HEAD. Part 4, list parameters. */
import { createHash } from 'node:crypto'
import type { Asked, Query } from '../flow/intent.ts'
import type { Page } from '../flow/outcome.ts'
import type { List, Read } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { pageText } from '../lists/page.ts'
import { query } from '../lists/query.ts'
import { ruleFor } from '../resources/declaration.ts'
import { absent, admitPresent, isAbsent, ownerOf, type Scene } from './item.ts'

export function list(scene: Scene): Route {
  const { resource, view } = scene
  const owner = (asked: Asked) => ownerOf(scene, asked.params[0] ?? null)
  return {
    operation: 'list',
    resource,
    rule: ruleFor(resource.access, 'list') as string,
    content: [],
    query: ({ target }) => query(resource, target),
    target: (asked) => ownerRead(owner(asked)),
    parse: (asked) => ({ ...asked, key: { id: '', parent: null }, time: 0, conditions: null, document: null }),
    plan: (intent): List => {
      const { where, order, window, total } = intent.query as Query
      return { do: 'list', collection: resource.name, parent: owner(intent), where, order, window, total }
    },
    render: (intent, outcome) => {
      if (isAbsent(outcome)) throw absent(scene, outcome)
      const body = pageText(resource, intent.query as Query, outcome as Page)
      const headers: Record<string, string> = view.mode === 'off' ? {} : { ETag: listTag(view.mode, body) }
      return { status: 200, headers, body }
    },
    admit: (_, target) => admitPresent(scene, target),
  }
}

export const ownerRead = (owner: { collection: string; id: string } | null): Read | null =>
  owner && { do: 'read', collection: owner.collection, key: { id: owner.id, parent: null } }

/** The tag of a list is made of what it shows. R148. */
function listTag(mode: 'strong' | 'weak', body: string): string {
  const hash = createHash('sha1').update(body).digest('base64url').slice(0, 22)
  return mode === 'weak' ? `W/"${hash}"` : `"${hash}"`
}
