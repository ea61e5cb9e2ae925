/** `bylaw erase` empties personal fields, wherever their values are stored. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { folder, run, served } from '../help/command.ts'
import { crm, crmHandlers } from '../help/crm.ts'
import { tablesWith } from '../help/erasing.ts'
import { type Place, places } from '../help/places.ts'
import { sink } from '../help/sinks.ts'
import { until } from '../help/until.ts'

/** A word that each personal value contains. */
const mark = 'Zanzibar'

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they are
type Json = any

async function running(t: TestContext, place: Place) {
  const cwd = folder({ 'api.ts': crm, 'handlers.ts': crmHandlers })
  const words = ['handlers.ts', '--database', place.url]
  const env = { BYLAW_WEBHOOKS_TO_PRIVATE: '1', BYLAW_FILES: join(cwd, 'files') }
  const { url, stop, said } = await served(words, { cwd, env })
  t.after(stop)
  const scopes = 'all,webhook-endpoints:read,webhook-endpoints:write'
  const made = await run(['keys', 'create', ...words, '--name', 'test', '--scopes', scopes, '--account', 'shop_1'], {
    cwd,
  })
  const [key = ''] = made.stdout.split('\n')
  const send = async (method: string, path: string, sent?: unknown, headers: Record<string, string> = {}) => {
    const isBytes = Buffer.isBuffer(sent)
    const type = { 'content-type': isBytes ? 'text/plain' : 'application/json' }
    const body = sent === undefined ? {} : { body: isBytes ? new Uint8Array(sent) : JSON.stringify(sent) }
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(sent !== undefined && type), ...headers },
      ...body,
    })
    const text = await answer.text()
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      json: (text.startsWith('{') ? JSON.parse(text) : null) as Json,
    }
  }
  const erase = (...more: string[]) =>
    run(['erase', 'api.ts', ...more, '--database', place.url, '--account', 'shop_1'], { cwd, env })
  return { cwd, send, erase, stop, said }
}

/** The files and tables that contain the mark, in any case. */
async function marked(cwd: string, place: Place): Promise<string[]> {
  const { url } = place
  const pattern = new RegExp(mark, 'i')
  const files = readdirSync(join(cwd, 'files'), { recursive: true }).map((name) => join(cwd, 'files', String(name)))
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : null
  if (file) files.push(file, `${file}-wal`)
  const found = files.filter(
    (name) => statSync(name, { throwIfNoEntry: false })?.isFile() && pattern.test(readFileSync(name, 'latin1')),
  )
  return [...found, ...(await tablesWith(mark, place))]
}

for (const [name, place] of places)
  describe(`an erasure on ${name}`, () => {
    test('empties all places where a value was stored, while the service runs', async (t) => {
      const there = await place(t)
      const { cwd, send, erase, stop } = await running(t, there)
      const echo = await sink(t, (request, response) => {
        const chunks: Buffer[] = []
        request.on('data', (chunk) => chunks.push(chunk))
        request.on('end', () => response.writeHead(500).end(Buffer.concat(chunks)))
      })
      const hook = await send('POST', '/webhook-endpoints', {
        url: echo.url.replace('hooks.example', 'localhost'),
        eventTypes: ['customer.*', 'card.*'],
      })
      assert.equal(hook.status, 201, hook.text)
      const whole = {
        name: `Ann ${mark}`,
        email: `ann@${mark}.example`,
        address: { street: `${mark} Street 1`, town: 'Oslo' },
        contacts: [{ phone: `${mark}-1`, use: 'work' }],
        aliases: [`The ${mark}`],
        marks: { from: mark },
        pin: `pin ${mark}`,
      }
      const created = await send('POST', '/v2/customers', whole, { 'idempotency-key': 'create-1' })
      assert.equal(created.status, 201, created.text)
      const { id } = created.json
      const at = `/v2/customers/${id}`
      const patched = await send('PATCH', `/v1/customers/${id}`, { mail: `other@${mark}.example` })
      assert.equal(patched.status, 200, patched.text)
      for (const [field, text] of [
        ['passport', `First ${mark}`],
        ['passport', `Second ${mark}`],
        ['logo', 'A logo'],
      ] as const) {
        const sent = await send('PUT', `${at}/${field}`, Buffer.from(text), {
          'content-disposition': `attachment; filename="${field === 'logo' ? 'logo' : mark}.txt"`,
        })
        assert.ok(sent.status < 300, sent.text)
      }
      const previewed = await send('POST', `${at}/previews`, { text: 'Hello' }, { 'idempotency-key': 'preview-1' })
      assert.match(previewed.json?.text, /Zanzibar/, previewed.text)
      const letter = await send('POST', `${at}/letters`, { text: `For ${mark}` }, { 'idempotency-key': 'letter-1' })
      assert.equal(letter.status, 202, letter.text)
      const operation = `/v2/operations/${letter.json.id}`
      await until(async () => (await send('GET', operation)).json.status === 'succeeded')
      const cards: string[] = []
      for (const last of ['1111', '2222']) {
        const card = await send('POST', `${at}/cards`, { holder: `${mark} ${last}`, last })
        assert.equal(card.status, 201, card.text)
        cards.push(card.json.id)
      }
      assert.equal((await send('DELETE', `/v2/cards/${cards[1]}`)).status, 204)
      const order = await send('POST', '/v2/orders', { customerId: id, total: 7 })
      assert.equal(order.status, 201, order.text)
      const batch = await send(
        'POST',
        '/v2/batches',
        { operations: [{ method: 'PATCH', path: `/customers/${id}`, body: { name: `Bea ${mark}` } }] },
        { 'idempotency-key': 'batch-1' },
      )
      assert.equal(batch.status, 200, batch.text)
      const lines = [
        { name: 'Cy', email: `no email ${mark}` },
        { name: 'Dan', email: `other@${mark}.example` },
        { name: 'Eve' },
      ]
      const imported = await send(
        'POST',
        '/v2/customers/imports',
        Buffer.from(lines.map((one) => JSON.stringify(one)).join('\n')),
        {
          'content-type': 'application/x-ndjson',
          'idempotency-key': 'import-1',
        },
      )
      assert.equal(imported.json?.failed, 2, imported.text)
      const parked = () => there.rows(`SELECT failure FROM bylaw_reaction_failures WHERE failure IS NOT NULL`)
      await until(async () => (await parked()).length >= 3)
      const tried = async () => (await send('GET', '/v2/webhook-deliveries?limit=100')).json.data
      await until(async () => {
        const all = await tried()
        return all.length >= 8 && all.every((one: Json) => one.attempts.length > 0)
      })
      assert.ok((await marked(cwd, there)).length >= 10, String(await marked(cwd, there)))

      const before = await send('GET', at)
      const dry = await erase('customers', id, '--dry-run')
      assert.equal(dry.code, 0, dry.stderr)
      assert.equal((await send('GET', at)).headers.get('etag'), before.headers.get('etag'))
      const done = await erase('customers', id)
      assert.equal(done.code, 0, done.stderr)
      assert.deepEqual(await marked(cwd, there), [])
      assert.equal(dry.stdout.replace('would be', 'is'), done.stdout)
      assert.match(done.stdout, /^.*: customers cus_\w+ is emptied\.$/m)
      assert.match(
        done.stdout,
        /^ {2}customers: 1 item, \d+ events, \d+ revisions, 4 idempotency keys, 2 files, 1 reason, 1 operation and \d+ deliveries$/m,
      )
      assert.match(done.stdout, /^ {2}cards: 1 item, 3 events, 3 revisions, 2 reasons and 3 deliveries$/m)

      const { json: item, headers } = await send('GET', at)
      assert.notEqual(headers.get('etag'), before.headers.get('etag'))
      assert.deepEqual(
        { ...item, _links: 0, logo: item.logo.name, id, createdAt: 0, updatedAt: 0 },
        {
          ...{
            id,
            name: 'Erased',
            email: null,
            address: { street: null, town: 'Oslo' },
            contacts: [{ phone: null, use: 'work' }],
          },
          ...{ aliases: [], marks: {}, greeting: 'Dear Erased', plan: 'free', passport: null, logo: 'logo.txt' },
          ...{ _links: 0, createdAt: 0, updatedAt: 0 },
        },
      )
      assert.equal((await send('GET', `${at}/logo`)).text, 'A logo')
      assert.equal((await send('GET', `/v1/customers/${id}`)).json.mail, null)
      assert.equal((await send('GET', `/v1/orders/${order.json.id}`)).json.customerName, 'Erased')
      const search = async (word: string) => (await send('GET', `/v2/customers?search=${word}`)).json.data
      assert.deepEqual([await search(mark), (await search('Eve')).length], [[], 1])

      const { data: revisions } = (await send('GET', `${at}/revisions`)).json
      assert.deepEqual(
        revisions.map((one: Json) => [one.id, one.type]),
        ['7', '6', '5', '4', '3', '2', '1'].map((one) => [one, one === '1' ? 'created' : 'updated']),
      )
      assert.equal(revisions[0].by, 'command:erase')
      assert.equal(revisions.at(-1).changes.name, 'Erased')
      const { data: events } = (await send('GET', '/v1/events?limit=100')).json
      const own = events.filter((one: Json) => one.data.id === id)
      assert.deepEqual([own.length, own.every((one: Json) => one.data.mail === null)], [7, true])
      for (const one of await tried()) {
        const { data } = JSON.parse(one.request.body)
        assert.ok(data.mail === null || data.holder === null, one.request.body)
      }

      for (const [path, sent, key] of [
        ['/v2/customers', whole, 'create-1'],
        [`${at}/previews`, { text: 'Hello' }, 'preview-1'],
        [`${at}/letters`, { text: `For ${mark}` }, 'letter-1'],
        [
          '/v2/batches',
          { operations: [{ method: 'PATCH', path: `/customers/${id}`, body: { name: `Bea ${mark}` } }] },
          'batch-1',
        ],
      ] as const) {
        const again = await send('POST', path, sent, { 'idempotency-key': key })
        assert.deepEqual([path, again.status, again.json.type], [path, 409, 'idempotency-key-reused'])
      }
      const status = await send('GET', operation)
      assert.deepEqual(
        [status.status, status.json.status, status.json.result ?? null],
        [200, 'succeeded', null],
        status.text,
      )
      await stop()
      const doctor = await run(['doctor', 'api.ts', '--database', there.url, '--files', join(cwd, 'files')], { cwd })
      assert.equal(doctor.code, 0, doctor.stdout)
      await erase('customers', id) // the reaction may have failed again, now without the values
      const second = await erase('customers', id)
      assert.deepEqual([second.code, /: nothing is left to erase\.\n$/.test(second.stdout)], [0, true], second.stdout)
      assert.deepEqual(await marked(cwd, there), [])
    })
  })

test('nothing of an item of another account is emptied because an idempotency key names it', async () => {
  const seed =
    "export default async (app) => console.log((await app.customers.create({ name: 'Ann', plan: 'x' })).id)\n"
  const cwd = folder({ 'api.ts': crm, 'handlers.ts': crmHandlers, 'seed.ts': seed })
  const database = ['--database', 'sqlite:./crm.db']
  const seeded = await run(['seed', 'handlers.ts', ...database, '--account', 'shop_1'], { cwd })
  assert.equal(seeded.code, 0, seeded.stderr)
  const [id = ''] = seeded.stdout.match(/cus_\w+/) ?? []
  const erase = (...more: string[]) =>
    run(['erase', 'api.ts', 'customers', id, ...database, '--files', '.', ...more], { cwd })
  const wrong = /no item cus_\w+ in customers of the account "development", and nothing is recorded of one/
  for (const more of [['--dry-run'], []]) {
    const elsewhere = await erase(...more)
    assert.deepEqual([elsewhere.code, elsewhere.stdout], [1, ''])
    assert.match(elsewhere.stderr, wrong)
    assert.match(elsewhere.stderr, /Idempotency keys with its id stay/)
    assert.match(elsewhere.stderr, /--account ID/)
  }
  const here = await erase('--account', 'shop_1')
  assert.deepEqual([here.code, /is emptied/.test(here.stdout)], [0, true], here.stderr)
  assert.match(here.stdout, /1 idempotency key\b/)
})

for (const [kind, make] of places)
  test(`idempotency keys are emptied if nothing else is left of an item (${kind})`, async (t) => {
    const place = await make(t)
    const { cwd, send, erase, stop } = await running(t, place)
    const body = { name: mark, plan: 'x' }
    const made = await send('POST', '/customers', body, { 'idempotency-key': 'k' })
    assert.equal(made.status, 201, made.text)
    await stop()
    for (const table of await tablesWith(mark, place))
      if (table !== 'bylaw_keys') await place.rows(`DELETE FROM "${table}"`)
    assert.deepEqual(await tablesWith(mark, place), ['bylaw_keys'])
    const done = await erase('customers', made.json.id, '--files', join(cwd, 'files'))
    assert.deepEqual([done.code, /customers: 1 idempotency key$/m.test(done.stdout)], [0, true], done.stderr)
    assert.deepEqual(await tablesWith(mark, place), [])
  })

test('mistakes of the command are named, with their mend', async () => {
  const cwd = folder({ 'api.ts': crm })
  const database = ['--database', 'sqlite:./crm.db']
  assert.equal((await run(['migrate', 'apply', 'api.ts', ...database], { cwd })).code, 0)
  for (const [words, ...says] of [
    [['customers', 'cus_01h455vb4pex5vsknk084sn02q'], /no item cus_.* and nothing is recorded of one/, /--account ID/],
    [
      ['orders', 'ord_01h455vb4pex5vsknk084sn02q'],
      /orders have no personal fields/,
      /personal: true .*resources\.orders/,
    ],
    [['costumers', 'cus_1'], /no resource "costumers"/, /Did you mean customers\?/],
    [['things', 'thg_1'], /no resource "things"/, /customers and cards/],
    [['customers', 'ord_1'], /"ord_1" is no id of an item of customers/],
    [['customers', 'cus_01h455vb4pex5vsknk084sn02q', '--parent', 'x'], /enough to name it/, /--parent out/],
  ] as const) {
    const { code, stderr } = await run(['erase', 'api.ts', ...words, ...database, '--files', '.'], { cwd })
    assert.equal(code, 1)
    for (const one of says) assert.match(stderr, one)
  }
  const { stdout } = await run(['openapi', 'api.ts'], { cwd })
  const { Customer } = JSON.parse(stdout).components.schemas
  assert.deepEqual([Customer.properties.email['x-personal'], Customer.properties.plan['x-personal']], [true, undefined])
})
