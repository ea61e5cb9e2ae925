/** `bylaw erase` of files: in a folder, and in a bucket where access depends on the item. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { openContents } from '../../src/contents/open-contents.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { standIn } from '../help/bucket.ts'
import { folder, run, served } from '../help/command.ts'
import { tablesWith } from '../help/erasing.ts'
import { freshFile } from '../help/file.ts'
import { fileNode } from '../help/file-node.ts'
import { type Place, places } from '../help/places.ts'
import { sink } from '../help/sinks.ts'
import { until } from '../help/until.ts'

/** A word that each personal value contains. */
const mark = 'Zanzibar'

const desk = `import { caller, f, service } from 'bylaw'

const own = [{ scope: 'all' }, { where: { agent: caller } }]

export default service({
  name: 'desk',
  events: true,
  scopes: { all: 'Everything' },
  settings: { events: { webhooks: true }, idempotency: { mode: 'replay' } },
  resources: {
    clients: {
      prefix: 'cli',
      owner: 'firm',
      fields: {
        name: f.text({ default: 'Erased', personal: true, search: true }),
        agent: f.text({ max: 100, optional: true, filter: true, personal: true }),
        scan: f.file({ personal: true }),
        logo: f.file(),
      },
      operations: { letters: { at: 'item', input: { text: f.text() }, output: { sent: f.text() }, asynchronous: true } },
      history: { read: 'authenticated' },
      access: { read: own, write: own },
    },
    notes: {
      prefix: 'not',
      parent: { resource: 'clients', onDelete: 'cascade' },
      fields: { text: f.text({ optional: true, personal: true }), agent: f.text({ max: 100 }) },
      history: { read: 'authenticated' },
      access: { read: own, write: own },
    },
  },
})
`
const handlers = `import api from './api.ts'

export default api.handlers({ clients: { letters: async ({ input, item }) => ({ sent: item.name + input.text }) } })
`

async function running(t: TestContext, place: Place) {
  const bucket = await standIn()
  t.after(bucket.close)
  const cwd = folder({ 'api.ts': desk, 'handlers.ts': handlers })
  const words = ['handlers.ts', '--database', place.url]
  const env = { ...bucket.environment, BYLAW_WEBHOOKS_TO_PRIVATE: '1', BYLAW_FILES: bucket.place }
  const { url, stop } = await served(words, { cwd, env })
  t.after(stop)
  const callerOf = async (name: string, more = '') => {
    const scopes = `webhook-endpoints:read,webhook-endpoints:write${more}`
    const made = await run(['keys', 'create', ...words, '--name', name, '--scopes', scopes, '--account', 'firm_1'], {
      cwd,
    })
    const [key = ''] = made.stdout.split('\n')
    return async (method: string, path: string, sent?: unknown, headers: Record<string, string> = {}) => {
      const isText = typeof sent === 'string'
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(sent !== undefined && { 'content-type': isText ? 'text/plain' : 'application/json' }),
          ...headers,
        },
        ...(sent !== undefined && { body: isText ? sent : JSON.stringify(sent) }),
      })
      const text = await answer.text()
      // biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they are
      return { status: answer.status, text, json: (text.startsWith('{') ? JSON.parse(text) : null) as any }
    }
  }
  const erase = (...more: string[]) =>
    run(['erase', 'api.ts', ...more, '--database', place.url, '--account', 'firm_1'], { cwd, env })
  return { bucket, erase, ann: await callerOf('ann'), bo: await callerOf('bo'), boss: await callerOf('boss', ',all') }
}

for (const [name, place] of places)
  describe(`an erasure of items with rules on ${name}`, { concurrency: false }, () => {
    test('empties all records of an item that only its agent may see, and its contents in the bucket', async (t) => {
      const there = await place(t)
      const { bucket, erase, ann, bo, boss } = await running(t, there)
      const hook = await sink(t, (_, response) => response.writeHead(204).end())
      const made = await boss('POST', '/webhook-endpoints', {
        url: hook.url.replace('hooks.example', 'localhost'),
        eventTypes: ['client.*', 'note.*'],
      })
      assert.equal(made.status, 201, made.text)
      const body = { name: `Ann ${mark}`, agent: 'key:ann' }
      const created = await ann('POST', '/clients', body, { 'idempotency-key': 'one' })
      assert.equal(created.status, 201, created.text)
      const { id } = created.json
      const at = `/clients/${id}`
      for (const [field, text] of [
        ['scan', `First ${mark}`],
        ['scan', `Second ${mark}`],
        ['logo', 'A logo'],
      ] as const)
        assert.ok((await ann('PUT', `${at}/${field}`, text)).status < 300)
      const note = await ann('POST', `${at}/notes`, { text: `A ${mark}`, agent: 'key:ann' })
      assert.equal(note.status, 201, note.text)
      const letter = await ann('POST', `${at}/letters`, { text: mark }, { 'idempotency-key': 'two' })
      await until(async () => (await ann('GET', `/operations/${letter.json.id}`)).json?.status === 'succeeded')
      assert.equal((await bo('GET', at)).status, 404)
      await until(async () => (await boss('GET', '/webhook-deliveries?limit=100')).json.data.length >= 5)
      assert.ok((await tablesWith(mark, there)).length > 5)
      assert.equal(bucket.objects.size, 3)

      const reading = ({ method }: { readonly method: string }) => method !== 'GET' && method !== 'HEAD'
      bucket.fault = (seen) => (reading(seen) ? { status: 403, code: 'AccessDenied' } : null)
      const dry = await erase('clients', id, '--dry-run')
      assert.equal(dry.code, 0, dry.stderr)
      assert.equal((await ann('GET', at)).json.name, body.name)
      const half = await erase('clients', id)
      assert.equal(half.code, 1)
      assert.equal(half.stdout, dry.stdout.replace('would be', 'is'))
      assert.match(
        half.stderr,
        /^Contents of files could not be removed: The bucket shop-files at .* 403 AccessDenied\. .* Run this again once they can\.\n$/,
      )
      assert.deepEqual(await tablesWith(mark, there), [])
      assert.equal(bucket.objects.size, 3)
      bucket.fault = () => null
      const done = await erase('clients', id)
      assert.equal(done.code, 0, done.stderr)
      assert.match(done.stdout, /nothing is left to erase/)
      assert.deepEqual([...bucket.objects.values()].map(String), ['A logo'])

      for (const one of [ann, bo]) assert.equal((await one('GET', at)).status, 404) // its agent is no longer recorded
      const { json: item } = await boss('GET', at)
      assert.deepEqual([item.name, item.agent, item.scan, item.logo.length], ['Erased', null, null, 6])
      const { data } = (await boss('GET', `${at}/revisions`)).json
      assert.equal(data[0].by, 'command:erase')
      assert.ok(data.every((one: { changes: { agent?: unknown } }) => (one.changes.agent ?? null) === null))
      const { data: deliveries } = (await boss('GET', '/webhook-deliveries?limit=100')).json
      for (const { request } of deliveries) assert.doesNotMatch(request.body, /Zanzibar|client\..*key:ann/)
      assert.equal(
        (await boss('GET', '/events')).json.data.every((one: object) => !JSON.stringify(one).includes(mark)),
        true,
      )
      assert.equal((await boss('GET', `/notes/${note.json.id}`)).json.text, null)
      const again = await ann('POST', '/clients', body, { 'idempotency-key': 'one' })
      assert.deepEqual([again.status, again.json.type], [409, 'idempotency-key-reused'])
    })
  })

const people = `import { f, service } from 'bylaw'
export default service({
  name: 'people',
  resources: { people: { plural: true, fields: { scan: f.file({ personal: true }), photo: f.file() }, access: 'public' } },
})
`

test('contents are removed from the place that has them, others are missed, and a place that does not exist is refused', async (t) => {
  const cwd = folder({ 'api.ts': people })
  const api = service({
    name: 'people',
    resources: {
      people: { plural: true, fields: { scan: f.file({ personal: true }), photo: f.file() }, access: 'public' },
    },
  })
  const file = freshFile(t)
  const contents = await openContents(join(cwd, 'files'), realWorld)
  const node = await fileNode(api as unknown as Service, { url: `sqlite:${file}` }, contents)
  const { id } = (await (await node.send('POST', '/people', {})).json()) as { id: string }
  for (const field of ['scan', 'scan', 'photo'])
    assert.ok((await node.send('PUT', `/people/${id}/${field}`, Buffer.from(`%PDF-1.4 ${field}`))).ok)
  const stored = () =>
    readdirSync(join(cwd, 'files'), { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).length
  const erase = (files: string, ...more: readonly string[]) =>
    run(['erase', 'api.ts', 'people', id, '--database', `sqlite:${file}`, '--files', files, ...more], { cwd })
  assert.equal(stored(), 3)
  for (const [files, ...more] of [['./other'], ['./other', '--dry-run'], ['./api.ts'], ['./other/deep']] as const) {
    const refused = await erase(files, ...more)
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(refused.stderr, /There is no folder of files \/.*\/(other|api\.ts|other\/deep)\.\n.* --files/)
    assert.ok(!existsSync(join(cwd, 'other')))
    assert.equal((await node.send('GET', `/people/${id}/scan`)).status, 200)
  }
  mkdirSync(join(cwd, 'other'))
  const elsewhere = await erase('./other')
  assert.deepEqual([elsewhere.code, stored()], [1, 3])
  assert.match(elsewhere.stdout, /people: 1 item and 2 files$/m)
  assert.match(elsewhere.stderr, /2 contents of files are not in the place of files\. .* --files/)
  const here = await erase('./files')
  assert.deepEqual([here.code, stored()], [0, 1], here.stderr)
  assert.match(here.stdout, /nothing is left to erase/)
  assert.equal((await node.send('GET', `/people/${id}/scan`)).status, 404)
  assert.equal(await (await node.send('GET', `/people/${id}/photo`)).text(), '%PDF-1.4 photo')
  await node.close()
})
