/** `bylaw listen`, which forwards the events of a running service to a URL, as webhooks are delivered. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { verify, type WebhookEvent } from 'bylaw/webhooks'
import { folder, launch, post, run } from '../help/command.ts'
import { freePort } from '../help/free-port.ts'
import { listening } from '../help/sinks.ts'
import { until } from '../help/until.ts'

const api = (settings: string, access = "'public'") => `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  events: true,
  scopes: { 'orders:read': 'Read orders', 'orders:write': 'Write orders' },
  resources: {
    orders: { prefix: 'ord', fields: { note: f.text() }, access: ${access} },
    notes: { fields: { text: f.text() }, access: 'public', events: ${access === "'public'"} },
  },
  settings: ${settings},
})
`
const files = {
  'api.ts': api('{ events: { stream: true } }'),
  'closed.ts': api('{ events: { stream: true } }', "{ read: 'orders:read', write: 'orders:write' }"),
  'still.ts': api('{}'),
  'plain.ts': api('{}')
    .replace('events: true,', '')
    .replaceAll(/, events: \w+/g, ''),
}
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

/** A receiver that verifies each delivery; it refuses those for which `isRefused` holds. */
async function receiver(t: TestContext, secretOf: () => string, isRefused = (_: WebhookEvent) => false) {
  const got: { event: WebhookEvent; agent: string | undefined; path: string | undefined }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    try {
      const event = await verify(request.headers, Buffer.concat(chunks), secretOf())
      if (isRefused(event)) throw new Error('The stock is locked.')
      got.push({ event, agent: request.headers['user-agent'], path: request.url })
      response.writeHead(204).end()
    } catch (error) {
      response.writeHead(500).end((error as Error).message)
    }
  })
  const port = await listening(t, server)
  const notes = () => got.map(({ event }) => event.data.note ?? event.data.text)
  return { got, notes, url: `http://localhost:${port}/hooks` }
}

/** A service that can be started again on its port. */
async function restartable(t: TestContext, file = 'api.ts', env = {}) {
  const cwd = folder(files)
  const port = await freePort()
  const start = async () => {
    const words = ['serve', file, '--database', 'sqlite:./shop.db', '--port', String(port), '--drain', 'PT0.2S']
    const launched = launch(words, { cwd, env })
    t.after(() => launched.child.kill('SIGKILL'))
    await launched.hear(/^bylaw serves/)
    return launched
  }
  return { cwd, start, url: `http://127.0.0.1:${port}` }
}

function listen(t: TestContext, cwd: string, words: readonly string[], env = {}) {
  const launched = launch(['listen', ...words], { cwd, env })
  t.after(() => launched.child.kill('SIGKILL'))
  return launched
}

test('events are delivered as webhooks, and none is lost when the service is restarted', async (t) => {
  const { cwd, start, url } = await restartable(t)
  let service = await start()
  await post(`${url}/orders`, { note: 'before' })
  const { got, notes, url: sink } = await receiver(t, () => secret)
  const { hear, said, stop } = listen(t, cwd, ['--forward', sink, '--url', url], { WEBHOOK_SECRET: secret })
  await hear(/^bylaw forwards the events of \S+ to \S+\n\nSigned with the secret of WEBHOOK_SECRET\.\n/)

  assert.equal(await service.stop(), 0) // before the first event
  await hear(/The service ended the stream\./)
  service = await start()
  await post(`${url}/orders`, { note: 'one' })
  await hear(/\d\d:\d\d:\d\d 204 order\.created ord_\w+ \S+ ms\n/)

  service.child.kill('SIGKILL')
  await service.end()
  service = await start()
  await post(`${url}/orders`, { note: 'two' })
  await post(`${url}/notes`, { text: 'three' })
  const fresh = () => notes().filter((note) => note !== 'before')
  await until(() => fresh().length >= 3)

  assert.deepEqual(fresh(), ['one', 'two', 'three'])
  assert.deepEqual([got[0]?.agent, got[0]?.path], ['bylaw-webhooks', '/hooks'])
  const [event] = ((await (await fetch(`${url}/events?type=note.created`)).json()) as { data: WebhookEvent[] }).data
  assert.deepEqual(got.at(-1)?.event, event)
  assert.ok(!said.stdout.includes(secret))
  assert.equal(await stop(), 0)
  assert.equal(said.stderr, '')
})

test('a secret is made, types are chosen, and a refused delivery is repeated', async (t) => {
  const { cwd, start, url } = await restartable(t)
  await start()
  let [made, refusals] = ['', 1]
  const {
    got,
    notes,
    url: sink,
  } = await receiver(
    t,
    () => made,
    ({ data }) => data.note === 'locked' && refusals-- > 0,
  )
  const { hear, child, end } = listen(t, cwd, ['--forward', sink, '--url', `${url}/`, '--types', 'order.*,x.created'])
  const [, shown = ''] = await hear(/The signing secret, for the receiver:\n\n {2}(whsec_\S+)\n/)
  made = shown
  await post(`${url}/notes`, { text: 'other' })
  await hear(/note\.created is not among --types/)
  await post(`${url}/orders`, { note: 'locked' })
  await hear(
    / 500 order\.created \S+ \S+ ms The endpoint answered 500\. It said "The stock is locked\."\. Again in 1 s\.\n/,
  )
  await hear(/ 204 order\.created /)
  assert.deepEqual(notes(), ['locked'])
  assert.equal(got[0]?.event.type, 'order.created')
  child.kill('SIGINT')
  assert.equal(await end(), 0)
})

test('a stop counts what was not delivered', async (t) => {
  const { cwd, start, url } = await restartable(t)
  await start()
  const { hear, stop } = listen(t, cwd, ['--forward', 'http://localhost:1', '--url', url])
  await hear(/^bylaw forwards/)
  await post(`${url}/orders`, { note: 'one' })
  await hear(/ --- order\.created \S+ \S+ ms The endpoint cannot be reached \(ECONNREFUSED\)\. Again in 1 s\.\n/)
  const ended = stop()
  await hear(/1 event was not delivered\.\n/)
  assert.equal(await ended, 0)
})

test('a key reads what it may read, and it is never printed', async (t) => {
  const { cwd, start, url } = await restartable(t, 'closed.ts')
  await start()
  const keyOf = async (name: string, scopes: string) => {
    const words = ['keys', 'create', 'closed.ts', '--name', name, ...(scopes ? ['--scopes', scopes] : []), '--json']
    return JSON.parse((await run([...words, '--database', 'sqlite:./shop.db'], { cwd })).stdout).key as string
  }
  const [reader, none] = [await keyOf('reader', 'orders:read,orders:write'), await keyOf('none', '')]
  const { got, url: sink } = await receiver(t, () => secret)
  const given = ['--forward', sink, '--url', url, '--secret', secret]
  const { hear, said } = listen(t, cwd, given, { BYLAW_AS: reader })
  await hear(/Signed with the secret of --secret/)
  const headers = { authorization: `Bearer ${reader}`, 'content-type': 'application/json' }
  await fetch(`${url}/orders`, { method: 'POST', headers, body: '{"note":"one"}' })
  await until(() => got.length === 1)
  assert.ok(!said.stdout.includes(reader))

  const refused = async (as: string | undefined) => {
    const { code, stderr } = await run(['listen', ...given, ...(as ? ['--as', as] : [])], { cwd })
    assert.equal(code, 1)
    assert.ok(as === undefined || !stderr.includes(as))
    return stderr
  }
  assert.match(await refused(undefined), /answered 401\. This needs credentials[\s\S]*--as or BYLAW_AS/)
  assert.match(await refused(reader.slice(0, -1)), /answered 401\. [\s\S]*--as or BYLAW_AS/)
  assert.match(await refused(none), /answered 403\. [\s\S]*bylaw keys create/)
  assert.match(await refused('my key'), /--as is neither an API key nor an access token/)
})

describe('a mistake is named with its mend', () => {
  const listened = async (...words: string[]) => {
    const { code, stderr } = await run(['listen', ...words], { cwd: folder() })
    assert.equal(code, 1)
    return stderr
  }
  for (const [file, message] of [
    ['still.ts', /answered 406\.[\s\S]*declare `settings: \{ events: \{ stream: true \} \}`/],
    ['plain.ts', /answered 404\.[\s\S]*needs `events: true`/],
  ] as const)
    test(`events of ${file}`, async (t) => {
      const { start, url } = await restartable(t, file)
      await start()
      assert.match(await listened('--forward', 'http://localhost:1', '--url', url), message)
    })
  for (const [words, message] of [
    [[], /needs a URL to forward to\.[\s\S]*--forward http:\/\/localhost:4000/],
    [['--forward', 'localhost:4000'], /--forward must be an absolute http or https URL/],
    [['--forward', 'http://localhost:1', '--url', 'http://me:pw@localhost'], /--url must not have a user name/],
    [['--forward', 'http://localhost:1', '--types', 'order'], /"order" is not a type[\s\S]*order\.\*/],
    [['--forward', 'http://localhost:1', '--secret', 'whsec_short'], /--secret is not a secret/],
    [['--forward', 'http://localhost:1', '--url', 'http://127.0.0.1:1'], /cannot be reached[\s\S]*bylaw dev/],
  ] as const)
    test(words.join(' ') || 'no flags', async () => assert.match(await listened(...words), message))
})
