/** Asynchronous operations that wait, or have ended, while a deployment renames them, their inputs and their resource. R228. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { alive, places } from '../help/places.ts'

const fields = { title: f.text() }
const before = service({
  name: 'archive',
  versions: { v1: { released: '2026-01-15' } },
  resources: {
    files: {
      prefix: 'fil',
      fields,
      access: 'public',
      operations: {
        exports: {
          at: 'item',
          input: { kind: f.enum(['brief', 'full']), pages: f.integer({ min: 1 }) },
          output: { sum: f.integer() },
          asynchronous: true,
        },
        checks: { at: 'collection', output: { ok: f.boolean() }, asynchronous: true },
      },
    },
  },
}).handlers({
  files: { exports: ({ input }) => ({ sum: input.pages }), checks: () => ({ ok: true }) },
})

const given: unknown[] = []
const after = service({
  name: 'archive',
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-11-20' } },
  resources: {
    documents: {
      prefix: 'fil',
      fields,
      access: 'public',
      operations: {
        dumps: {
          at: 'item',
          input: { form: f.enum(['short', 'full']), length: f.integer({ min: 1 }), pace: f.text({ default: 'slow' }) },
          output: { total: f.integer() },
          asynchronous: true,
        },
        checks: { at: 'collection', output: { ok: f.boolean() }, asynchronous: true },
      },
    },
  },
})
  .change('v2', 'documents', {
    about: '`files` are called documents, and `exports` dumps.',
    was: 'files',
    operations: {
      renamed: { exports: 'dumps' },
      changed: {
        dumps: {
          input: { renamed: { kind: 'form', pages: 'length' }, mapped: { form: { brief: 'short' } }, added: ['pace'] },
          output: { renamed: { sum: 'total' } },
        },
      },
    },
  })
  .handlers({
    documents: {
      dumps: ({ input, item }) => {
        given.push({ ...input, title: item.title })
        return { total: input.length }
      },
      checks: () => ({ ok: true }),
    },
  })

for (const [name, place] of places)
  test(`R228 R196: operations that were renamed after they were asked for are run and shown (${name})`, async (t) => {
    const { url } = await place(t)
    const old = testing(before, { database: url })
    const { id } = (await (await old.call('/v1/files', { method: 'POST', json: { title: 'a' } })).json()) as {
      id: string
    }
    const start = async (pages: number) => {
      const init = { method: 'POST', json: { kind: 'brief', pages } }
      const answer = await old.call(`/v1/files/${id}/exports`, init)
      assert.equal(answer.status, 202)
      return String(answer.headers.get('location')).replace('/v1', '')
    }
    const ended = await start(3)
    await old.pass('PT1M')
    const [waiting, cancelled] = [await start(5), await start(7)]
    await old.close()
    const node = testing(after, { database: url })
    t.after(node.close)
    const status = async (version: string, path: string) =>
      (await node.call(`/${version}${path}`)).json() as Promise<Record<string, unknown>>
    const short = ({ operation, status, result }: Record<string, unknown>) => [operation, status, result]
    assert.deepEqual(short(await status('v1', ended)), ['files.exports', 'succeeded', { sum: 3 }])
    assert.deepEqual(short(await status('v2', ended)), ['documents.dumps', 'succeeded', { total: 3 }])
    assert.deepEqual(short(await status('v1', waiting)), ['files.exports', 'queued', null])
    assert.equal((await node.call(`/v1${cancelled}/cancellations`, { method: 'POST' })).status, 200)
    given.length = 0
    await node.pass('PT1M')
    assert.deepEqual(given, [{ form: 'short', length: 5, pace: 'slow', title: 'a' }])
    assert.deepEqual(short(await status('v1', waiting)), ['files.exports', 'succeeded', { sum: 5 }])
    assert.deepEqual(short(await status('v2', waiting)), ['documents.dumps', 'succeeded', { total: 5 }])
    assert.deepEqual(short(await status('v2', cancelled)), ['documents.dumps', 'cancelled', null])
  })

for (const [name, place] of places)
  test(`R228 R196: nodes of both declarations show operations of each other, and none misreads an input (${name})`, async (t) => {
    const where = await place(t)
    const old = testing(before, { database: where.url })
    t.after(old.close)
    const path = async (node: typeof old, asked: string, json: object) => {
      const answer = await node.call(`/v1${asked}`, { method: 'POST', json })
      assert.ok(answer.status < 300, `${answer.status}`)
      return answer.status === 202
        ? String(answer.headers.get('location')).replace('/v1', '')
        : `/files/${((await answer.json()) as { id: string }).id}`
    }
    const file = await path(old, '/files', { title: 'a' })
    const [check, first] = [
      await path(old, '/files/checks', {}),
      await path(old, `${file}/exports`, { kind: 'full', pages: 2 }),
    ]
    await alive(where)
    const node = testing(after, { database: where.url })
    t.after(node.close)
    const second = await path(node, `${file}/exports`, { kind: 'brief', pages: 4 })
    const seen = async (from: typeof old, version: string, asked: string) => {
      const { operation, status, result } = (await (await from.call(`/${version}${asked}`)).json()) as Record<
        string,
        unknown
      >
      return [operation, status, result]
    }
    given.length = 0
    await old.pass('PT1M')
    assert.deepEqual(await seen(old, 'v1', check), ['files.checks', 'succeeded', { ok: true }])
    assert.deepEqual(await seen(node, 'v2', check), ['documents.checks', 'succeeded', { ok: true }])
    assert.deepEqual(await seen(node, 'v2', first), ['documents.dumps', 'succeeded', { total: 2 }])
    assert.deepEqual(await seen(node, 'v1', second), ['files.exports', 'queued', null])
    await node.pass('PT3M')
    assert.deepEqual(given, [{ form: 'short', length: 4, pace: 'slow', title: 'a' }])
    assert.deepEqual(await seen(node, 'v2', second), ['documents.dumps', 'succeeded', { total: 4 }])
    assert.deepEqual(await seen(old, 'v1', second), ['files.exports', 'succeeded', { sum: 4 }])
  })
