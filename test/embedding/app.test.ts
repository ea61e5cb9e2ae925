/** An app in a process of its user: its callers, its work without requests, its end, and what hosts can do wrong. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { f, type Service, service } from 'bylaw'
import { openApp, RefusedRequest, toFetch } from 'bylaw/embedding'
import fastify from 'fastify'
import { Hono } from 'hono'
import { hosts, keyedDatabase, openLogged, startHost } from '../help/hosts.ts'
import { freshPostgres } from '../help/postgres.ts'
import { until } from '../help/until.ts'

const notes = { prefix: 'not', fields: { text: f.text({ max: 200_000 }) }, access: 'public' } as const
const plain = service({ name: 'notes', resources: { notes }, settings: { server: { basePath: '/api' } } }) as Service
const post = (path = '/api/notes', body = '{"text":"a"}') =>
  new Request(`http://localhost${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })

const guarded = service({
  name: 'guarded',
  scopes: { 'notes:read': 'Read notes' },
  tiers: { free: { hourly: 1000 } },
  resources: { notes: { ...notes, access: { read: 'notes:read', write: 'notes:read' } } },
}) as unknown as Service

async function opened(t: TestContext, declared: Service = plain, options: Parameters<typeof openApp>[1] = {}) {
  const found = await openLogged(declared, options)
  t.after(() => found.app.close())
  return found
}

describe('the callers of own routes', () => {
  it('R163, R165, R169: are those of the service, and are refused as there', async (t) => {
    const { database, authorization } = await keyedDatabase(guarded, ['notes:read'])
    const { app } = await opened(t, guarded, { database })
    const asked = (headers: Record<string, string>) => new Request('http://localhost/own', { headers })
    const caller = await app.authenticate(asked({ authorization }), { access: 'notes:read' })
    assert.deepEqual(
      [caller.account, [...caller.scopes], caller.tier, caller.key],
      ['acc_1', ['notes:read'], 'free', 'ci'],
    )
    assert.equal((await app.authenticate(asked({}), { access: 'public' })).id, '')
    const refusedBy = async (headers: Record<string, string>, access?: string) => {
      const error = await app.authenticate(asked(headers), access === undefined ? {} : { access }).then(
        () => assert.fail('It was accepted.'),
        (thrown: unknown) => thrown as RefusedRequest,
      )
      assert.ok(error instanceof RefusedRequest)
      const answer = error.getResponse()
      assert.equal(answer.status, error.statusCode)
      const body = (await answer.json()) as { message?: string; detail?: string; type: string }
      assert.equal(body.message ?? body.detail, error.message)
      return [answer.status, body.type.split('/').at(-1), answer.headers.get('www-authenticate')?.split(' ')[0]]
    }
    assert.deepEqual(await refusedBy({}), [401, 'credentials-missing', 'Bearer'])
    assert.deepEqual(await refusedBy({ authorization: 'Bearer nonsense' }), [401, 'invalid-credentials', 'Bearer'])
    assert.deepEqual(await refusedBy({ authorization }, 'notes:write'), [403, 'insufficient-scope', 'Bearer'])
    assert.deepEqual(await refusedBy({ authorization, accept: 'application/problem+json' }, 'notes:write'), [
      403,
      'insufficient-scope',
      'Bearer',
    ])
  })

  it('R165: are refused by Fastify and by Hono with the answer of the service', async (t) => {
    const { app } = await opened(t, guarded)
    const server = fastify()
    server.get('/own', ({ raw }) => app.authenticate(raw))
    const refused = await server.inject('/own')
    assert.equal(refused.statusCode, 401)
    assert.match(String(refused.headers['www-authenticate']), /^Bearer/)
    const hono = new Hono().get('/own', async ({ req }) => Response.json(await app.authenticate(req.raw)))
    const answer = await hono.request('/own')
    assert.equal(((await answer.json()) as { type: string }).type, 'credentials-missing')
    assert.match(String(answer.headers.get('www-authenticate')), /^Bearer/)
  })

  it('R184: failed attempts count against the address, whichever way they come', async (t) => {
    const strict = service({
      ...guarded.declaration,
      tiers: { free: { hourly: 1000 }, anonymous: { hourly: 3 } },
    } as never) as unknown as Service
    const { app, lines } = await opened(t, strict, { trustedProxies: ['10.0.0.0/8'] })
    const ask = toFetch(app, { addressOf: (_, peer: string) => peer })
    const bad = (forwarded: string) =>
      new Request('http://localhost/notes', { headers: { authorization: 'Bearer x', 'x-forwarded-for': forwarded } })
    const statuses: number[] = []
    for (const address of ['10.0.0.1', '10.0.0.1', '10.0.0.2'])
      statuses.push((await ask(bad('192.0.2.1'), address)).status)
    const own = (forwarded: string) =>
      app.authenticate(bad(forwarded), { address: '10.0.0.3' }).catch((error: RefusedRequest) => error.status)
    statuses.push((await own('192.0.2.1')) as number, (await own('192.0.2.2')) as number)
    assert.deepEqual(statuses, [401, 401, 401, 429, 401])
    assert.ok(lines.every(({ level }) => level !== 'warn'))
  })
})

/** Notes that become old after a second, and a reaction to all of their events. */
function timed(seen: string[]): Service {
  const declared = service({
    name: 'timed',
    events: true,
    resources: {
      notes: {
        ...notes,
        states: {
          field: 'status',
          initial: 'fresh',
          transitions: { agings: { from: ['fresh'], to: 'old', after: 'PT1S' } },
        },
      },
    },
    settings: { server: { basePath: '/api' }, events: { stream: true } },
  })
  return declared.handlers({
    reactions: {
      watch: {
        on: ['note.created', 'note.old'],
        async run({ event }) {
          seen.push(event.type)
        },
      },
    },
  }) as unknown as Service
}

describe('an app', () => {
  it('R184: warns once if requests come without the address of their client', async (t) => {
    const { app, lines } = await opened(t)
    const answer = toFetch(app)
    for (let i = 0; i < 3; i++) await answer(post())
    const warnings = lines.filter(({ level }) => level === 'warn')
    assert.match(String(warnings.map(({ message }) => message)), /^[^,]*without the address.*addressOf/)
    assert.equal(warnings.length, 1)
  })

  it('R17: answers for its hosts only', async (t) => {
    const { app } = await opened(t, plain, { allowedHosts: ['api.example.com'] })
    const statusAt = async (host: string) => (await toFetch(app)(new Request(`http://${host}/api/notes`))).status
    assert.deepEqual([await statusAt('api.example.com'), await statusAt('localhost')], [200, 421])
  })

  it('R186, R231: runs timers and reactions without requests', { timeout: 180_000 }, async (t) => {
    const seen: string[] = []
    const { app } = await opened(t, timed(seen))
    const answer = toFetch(app)
    const { id } = (await (await answer(post())).json()) as { id: string }
    await until(() => seen.length === 2)
    assert.deepEqual(seen, ['note.created', 'note.old'])
    const read = await answer(new Request(`http://localhost/api/notes/${id}`))
    assert.equal(((await read.json()) as { status: string }).status, 'old')
  })

  it('R213: ends a stream when its request is aborted, also before it begins', { timeout: 180_000 }, async (t) => {
    const { app } = await opened(t, timed([]))
    const answer = toFetch(app)
    const asked = (signal: AbortSignal) =>
      answer(new Request('http://localhost/api/events', { signal, headers: { accept: 'text/event-stream' } }))
    const aborter = new AbortController()
    const reader = (await asked(aborter.signal)).body?.getReader()
    assert.equal(Buffer.from((await reader?.read())?.value ?? '').toString(), ': events\n\n')
    aborter.abort()
    await assert.rejects(reader?.read() as Promise<unknown>, { name: 'AbortError' })
    const late = await asked(AbortSignal.abort())
      .then(
        (stream) => stream.text(),
        (error: Error) => Promise.reject(error),
      )
      .catch(({ name }: Error) => name)
    assert.equal(late, 'AbortError')
  })

  it('R186: finishes requests under way when it closes, and answers later ones with 503', async (t) => {
    for (const name of Object.keys(hosts)) {
      const held = Promise.withResolvers<void>()
      const begun = Promise.withResolvers<void>()
      const slow = plain as unknown as { handlers: (given: object) => Service }
      const declared = slow.handlers({
        notes: {
          async create() {
            begun.resolve()
            await held.promise
          },
        },
      })
      const { app, url, close } = await startHost(name, declared)
      t.after(close)
      const answer = fetch(`${url}/api/notes`, {
        method: 'POST',
        body: '{"text":"a"}',
        headers: { 'content-type': 'application/json' },
      })
      await begun.promise
      const closed = app.close()
      const ready = await toFetch(app)(new Request('http://localhost/api/readyz'))
      assert.equal(ready.status, 503)
      held.resolve()
      assert.equal((await answer).status, 201, name)
      await closed
      const late = await fetch(`${url}/api/notes`)
      assert.equal(late.status, 503)
      assert.equal(((await late.json()) as { type: string }).type, 'unavailable')
      await app.close()
    }
  })

  it('R186: waits until an answer that is made while it is read has been read', async (t) => {
    const { url, drop } = await freshPostgres()
    t.after(drop)
    const exported = service({
      name: 'notes',
      resources: { notes: { ...notes, exports: true } },
      settings: { server: { basePath: '/api' } },
    })
    const { app } = await openLogged(exported as unknown as Service, { database: url })
    const answer = toFetch(app)
    for (let i = 0; i < 400; i++) await answer(post('/api/notes', JSON.stringify({ text: 'a'.repeat(20_000) })))
    const headers = { accept: 'application/x-ndjson' }
    const { body } = await answer(new Request('http://localhost/api/notes', { headers }))
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    let text = String(Buffer.from((await reader.read()).value as Uint8Array))
    const closed = app.close()
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += Buffer.from(next.value)
    assert.equal(text.trimEnd().split('\n').length, 400)
    await closed
  })

  it('R186: does not wait longer than it is told to', async () => {
    const begun = Promise.withResolvers<void>()
    const limits = { handlerTimeout: 'PT0.5S' }
    const slow = service({ name: 'notes', resources: { notes }, settings: { server: { basePath: '/api' }, limits } })
    const declared = (slow as unknown as { handlers: (given: object) => Service }).handlers({
      notes: {
        async create({ signal }: { signal?: AbortSignal }) {
          begun.resolve()
          await new Promise((resolve) =>
            signal ? signal.addEventListener('abort', resolve) : setTimeout(resolve, 3000),
          )
        },
      },
    })
    const { app } = await openLogged(declared)
    const answer = toFetch(app)(post())
    await begun.promise
    assert.throws(() => app.close({ drain: '10 seconds' }), /"10 seconds" is no duration.*'PT10S'/)
    await app.close({ drain: 'PT0S' })
    assert.ok((await answer).status >= 500)
  })

  it('says what is wrong with its options', async () => {
    await assert.rejects(
      openApp(plain, { trustedProxies: ['everyone'] }),
      /trustedProxies has "everyone".*'10\.0\.0\.0\/8'/,
    )
    for (const host of ['https://api.example.com', '*.example.com', 'api.example.com/', ''])
      await assert.rejects(
        openApp(plain, { allowedHosts: [host] }),
        /allowedHosts has ".*", which is no host.*'localhost:3000'/,
      )
    await assert.rejects(openApp(plain, { database: 'mysql://localhost/a' }), /mysql/)
    const asynchronous = service({
      name: 'unhandled',
      resources: {
        notes: {
          ...notes,
          operations: { checks: { at: 'collection', output: { ok: f.boolean() }, access: 'public' } },
        },
      },
    } as never) as unknown as Service
    await assert.rejects(openApp(asynchronous, { database: 'sqlite::memory:' }), /checks/)
    assert.throws(() => toFetch({} as never), /no open app.*await openApp\(api\)/)
  })
})
