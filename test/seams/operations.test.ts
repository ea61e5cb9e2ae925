/** Operations are entries of a list: a made-up one, POST /tasks/{id}/finish, is served, described, listed and explained like the others. */
import assert from 'node:assert/strict'
import { f } from 'bylaw'
import { operationsOf } from '../../src/cli/routes.ts'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import { describedItem, describedMinimal } from '../../src/endpoints/described.ts'
import { absentItem, type EndpointContext, itemPermissions } from '../../src/endpoints/item.ts'
import { admitConditions, updatePlanner, writeItemRoute } from '../../src/endpoints/write-item.ts'
import type { FoundRow } from '../../src/flow/found-row.ts'
import type { Route } from '../../src/flow/route.ts'
import { decodeDocument } from '../../src/resources/document.ts'
import { standardOperations } from '../../src/routing/operations.ts'
import { serviceWith } from '../../src/service.ts'
import { type Door, doors, spec } from '../help/door.ts'

function finishRoute(context: EndpointContext): Route {
  const { resource, representation } = context
  const update = updatePlanner(context, 'change')
  return writeItemRoute(context, {
    operation: 'finish',
    method: 'POST',
    at: 'item/finish',
    rule: 'public',
    content: [],
    claims: null,
    headers: () => ({}),
    admit: (asked, seen) => {
      if (seen.is !== 'found') throw absentItem(context, seen)
      admitConditions(context, asked, seen)
    },
    decide: (intent, seen) => {
      const found = seen as FoundRow
      const before = decodeDocument(representation.today, found.doc, found.hidden)
      const after = representation.change({ done: true }, before, intent.key, itemPermissions(context, intent), [])
      return update(intent, found, before, after)
    },
    about: {
      id: 'finish',
      summary: () => 'Finishes one task',
      body: null,
      answers: [describedItem(200, 'The task was finished.', resource), describedMinimal(resource, [])],
      refusals: [],
    },
  })
}

const tasks = serviceWith(
  {
    name: 'tasks',
    resources: {
      tasks: { prefix: 'tsk', fields: { text: f.text(), done: f.boolean({ default: false }) }, access: 'public' },
    },
  },
  { operations: [...standardOperations, (context) => [finishRoute(context)]] },
)

doors('a made-up operation', tasks, (door: Door) => {
  spec('R4 R12', 'is served, and refused like all writes', async () => {
    const made = await door.send('POST', '/tasks', { json: { text: 'Write it' } })
    const path = `${made.headers.location}/finish`
    const done = await door.send('POST', path, { headers: { 'if-match': made.headers.etag as string } })
    assert.deepEqual([done.status, done.json.done], [200, true])
    const stale = await door.send('POST', path, { headers: { 'if-match': made.headers.etag as string } })
    assert.equal(stale.json.type, 'precondition-failed')
    const absent = await door.send('POST', '/tasks/tsk_00000000000000000000000000/finish')
    assert.equal(absent.status, 404)
    const other = await door.send('GET', path)
    assert.deepEqual([other.status, other.headers.allow], [405, 'OPTIONS, POST'])
  })

  spec('R216', 'is described and listed', () => {
    // biome-ignore lint/suspicious/noExplicitAny: a document of any shape
    const { paths } = openapiDocument(tasks, 'v1', standardCorridor) as any
    const { post } = paths['/tasks/{id}/finish']
    assert.deepEqual([post.operationId, post.summary], ['tasks.finish', 'Finishes one task'])
    assert.deepEqual(
      Object.keys(post.responses).filter((status) => status < '300' || status === '412'),
      ['200', '204', '412'],
    )
    const line = { method: 'POST', path: '/tasks/{id}/finish', operation: 'finish', access: 'public' }
    assert.deepEqual(
      operationsOf(tasks).filter(({ operation }) => operation === 'finish'),
      [line],
    )
  })
})
