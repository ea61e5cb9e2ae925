/** Part 4 of the contract, methods: entity tags and the conditions of reads and writes. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text(), note: f.text({ optional: true }) }

const archive = service({
  name: 'archive',
  resources: {
    files: { prefix: 'fil', fields, access: 'public' },
    plain: { prefix: 'pla', plural: true, fields, access: 'public', settings: { resource: { putCreates: 'off' } } },
  },
})

type Headers = Record<string, string>

/** An item in some state, with values for conditions. */
interface Target {
  readonly path: string
  readonly current: string
  readonly stale: string
}

async function there(door: Door): Promise<Target> {
  const made = await door.send('POST', '/files', { json: { name: 'A' } })
  const path = made.headers.location as string
  const now = await door.send('PATCH', path, { json: { note: 'x' } })
  assert.equal(now.status, 200)
  return {
    path,
    current: now.headers.etag ?? '',
    stale: made.headers.etag ?? '',
  }
}

async function deleted(door: Door): Promise<Target> {
  const target = await there(door)
  assert.equal((await door.send('DELETE', target.path)).status, 204)
  return target
}

let used = 0
const unused = async (): Promise<Target> => {
  const path = `/files/fil_${String(++used).padStart(26, '0')}`
  return { path, current: '"1-1-abcdef"', stale: '"2-1-abcdef"' }
}

const bodies: Record<string, object> = { PUT: { name: 'B' }, PATCH: { name: 'B' } }

function ask(door: Door, method: string, path: string, headers: Headers, json = bodies[method]): Promise<Answer> {
  return door.send(method, path, json === undefined ? { headers } : { json, headers })
}

doors('conditions by method and target', archive, (door) => {
  const writes = ['PUT', 'PATCH', 'DELETE']
  const done: Record<string, number> = { GET: 200, HEAD: 200, PUT: 200, PATCH: 200, DELETE: 204 }
  const conditions: Record<string, (target: Target) => Headers> = {
    'If-Match current': ({ current }) => ({ 'if-match': current }),
    'If-Match stale': ({ stale }) => ({ 'if-match': stale }),
    'If-Match weak': ({ current }) => ({ 'if-match': `W/${current}` }),
    'If-Match *': () => ({ 'if-match': '*' }),
    'If-None-Match current': ({ current }) => ({ 'if-none-match': current }),
    'If-None-Match *': () => ({ 'if-none-match': '*' }),
  }
  const reads: Record<string, number> = {
    'If-Match current': 200,
    'If-Match stale': 412,
    'If-Match weak': 412,
    'If-Match *': 200,
    'If-None-Match current': 304,
    'If-None-Match *': 304,
  }

  for (const [name, headersOf] of Object.entries(conditions)) {
    spec('R124 R125 R139', `${name} on a read`, async () => {
      for (const method of ['GET', 'HEAD']) {
        const target = await there(door)
        const answer = await ask(door, method, target.path, headersOf(target))
        assert.equal(answer.status, reads[name], method)
        assert.equal(answer.headers.etag, target.current)
        if (answer.status !== 200 || method === 'HEAD')
          assert.equal(answer.text === '', answer.status !== 412 || method === 'HEAD')
      }
    })

    spec('R124 R125', `${name} on a write to an item that exists`, async () => {
      for (const method of writes) {
        const target = await there(door)
        const answer = await ask(door, method, target.path, headersOf(target))
        const passes = name === 'If-Match current' || name === 'If-Match *'
        assert.equal(answer.status, passes ? done[method] : 412, method)
        const after = await door.send('GET', target.path)
        if (passes) {
          assert.equal(after.status, method === 'DELETE' ? 410 : 200)
          continue
        }
        assert.deepEqual([answer.json.type, answer.headers.etag], ['precondition-failed', target.current])
        assert.deepEqual(answer.json.types, ['precondition-failed', 'client-error', 'error'])
        assert.deepEqual([after.json.name, after.headers.etag], ['A', target.current])
      }
    })

    spec('R125', `${name} on a PUT to an unused id`, async () => {
      const target = await unused()
      const answer = await ask(door, 'PUT', target.path, headersOf(target))
      const creates = name.startsWith('If-None-Match')
      assert.equal(answer.status, creates ? 201 : 412)
      if (!creates) assert.deepEqual([answer.json.type, answer.headers.etag], ['precondition-failed', undefined])
      assert.equal((await door.send('GET', target.path)).status, creates ? 200 : 404)
    })

    spec('R126 R133', `${name} on a missing item`, async () => {
      for (const [method, target, status] of [
        ['PATCH', await unused(), 404],
        ['DELETE', await unused(), 404],
        ['GET', await unused(), 404],
        ['PUT', await deleted(door), 410],
        ['PATCH', await deleted(door), 410],
        ['GET', await deleted(door), 410],
        ['DELETE', await deleted(door), 204],
      ] as const)
        assert.equal(
          (await ask(door, method, target.path, headersOf(target))).status,
          status,
          `${method} ${target.path}`,
        )
      const off = '/plain/pla_00000000000000000000000000'
      assert.equal((await ask(door, 'PUT', off, headersOf(await unused()))).status, 404)
    })
  }

  spec('R126 R1', 'conditions are checked before the body, and after the URL', async () => {
    const target = await there(door)
    const stale = { 'if-match': target.stale }
    for (const method of ['PUT', 'PATCH']) {
      assert.equal((await ask(door, method, target.path, stale, { nome: 1 })).status, 412)
      const broken = { body: '{', headers: { ...stale, 'content-type': 'application/json' } }
      assert.equal((await door.send(method, target.path, broken)).status, 412)
      assert.equal((await door.send(method, target.path, { headers: stale })).status, 412)
      const fresh = { 'if-match': target.current }
      assert.equal((await ask(door, method, target.path, fresh, { nome: 1 })).status, 400)
      assert.equal((await ask(door, method, `${target.path}?x=1`, stale, {})).status, 400)
      assert.equal((await ask(door, method, target.path, { ...stale, 'content-type': 'text/plain' }, {})).status, 415)
      assert.equal((await ask(door, method, target.path, { ...stale, accept: 'text/html' }, {})).status, 406)
    }
    const missing = (await unused()).path
    const broken = { body: '{', headers: { ...stale, 'content-type': 'application/json' } }
    assert.equal((await door.send('PATCH', missing, broken)).status, 404)
    assert.equal((await door.send('PUT', missing, broken)).status, 412)
    assert.equal((await door.send('GET', target.path)).headers.etag, target.current)
  })
})
