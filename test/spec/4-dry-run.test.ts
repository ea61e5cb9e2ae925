/** Part 4 of the contract, methods: the parameter of dry runs, its values and its header. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const declared = (settings: object) =>
  service({
    name: 'notebook',
    settings,
    resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
  })

doors('dry runs', declared({}), (door: Door) => {
  const send = (method: string, path: string, json?: unknown) =>
    door.send(method, path, { ...(json !== undefined && { json }) })
  const count = async () => (await send('GET', '/notes')).json.data.length

  spec('R239', 'every write takes dryRun=true, and the answer says so', async () => {
    const { json } = await send('POST', '/notes', { text: 'a' })
    const all: [method: string, path: string, body: unknown, status: number][] = [
      ['POST', '/notes', { text: 'b' }, 201],
      ['PUT', `/notes/${json.id}`, { text: 'b' }, 200],
      ['PATCH', `/notes/${json.id}`, { text: 'b' }, 200],
      ['DELETE', `/notes/${json.id}`, undefined, 204],
      ['POST', '/notes', { text: 7 }, 400],
      ['PATCH', '/notes/not_00000000000000000000000000', { text: 'b' }, 404],
      ['PUT', '/notes', { text: 'b' }, 405],
      ['POST', '/nothing', { text: 'b' }, 404],
    ]
    for (const [method, path, body, status] of all) {
      const dry = await send(method, `${path}?dryRun=true`, body)
      assert.deepEqual([dry.status, dry.headers['dry-run']], [status, 'true'], `${method} ${path}`)
    }
    assert.deepEqual((await send('GET', `/notes/${json.id}`)).json, json)
    assert.equal(await count(), 1)
  })

  spec('R239', 'dryRun=false is a write', async () => {
    const before = await count()
    const made = await send('POST', '/notes?dryRun=false', { text: 'b' })
    assert.deepEqual([made.status, made.headers['dry-run']], [201, undefined])
    assert.equal(await count(), before + 1)
  })

  spec('R239', 'other values, repetitions and reads with the parameter are refused', async () => {
    const before = await count()
    for (const [query, type] of [
      ['dryRun=yes', 'invalid-parameter-value'],
      ['dryRun', 'invalid-parameter-value'],
      ['dryRun=TRUE', 'invalid-parameter-value'],
      ['dryRun=true&dryRun=false', 'repeated-parameter'],
      ['dryRun=false&dryRun=false', 'repeated-parameter'],
      ['dry_run=true', 'unknown-parameter'],
      ['%64ryRun=true&x=1', 'unknown-parameter'],
    ] as const) {
      const { status, json } = await send('POST', `/notes?${query}`, { text: 'b' })
      assert.deepEqual([status, json.errors[0].type], [400, type], query)
    }
    for (const path of ['/notes', '/notes/not_00000000000000000000000000']) {
      const read = await send('GET', `${path}?dryRun=true`)
      assert.deepEqual(
        [read.status, read.json.errors[0].type, read.headers['dry-run']],
        [400, 'unknown-parameter', undefined],
      )
    }
    assert.equal(await count(), before)
  })

  spec('R239 R121', 'the tag of a later write proves nothing about the content of a dry run', async () => {
    const { json } = await send('POST', '/notes', { text: 'a' })
    const dry = await send('PATCH', `/notes/${json.id}?dryRun=true`, { text: 'tried' })
    assert.deepEqual([dry.headers.etag, dry.headers['last-modified']], [undefined, undefined])
    assert.equal(dry.json.text, 'tried')
    const stale = await door.send('PATCH', `/notes/${json.id}?dryRun=true`, {
      json: { text: 'b' },
      headers: { 'if-match': '"x"' },
    })
    assert.deepEqual([stale.status, stale.headers.etag !== undefined], [412, true])
  })

  spec('R239', 'an escaped name is the same parameter', async () => {
    const before = await count()
    assert.equal((await send('POST', '/notes?%64ryRun=%74rue', { text: 'b' })).headers['dry-run'], 'true')
    assert.equal(await count(), before)
  })
})

doors('dry runs with other settings', declared({ naming: 'snake', query: { unknown: 'ignore' } }), (door: Door) => {
  spec('R239', 'the parameter follows the naming', async () => {
    const sent = (query: string) => door.send('POST', `/notes?${query}`, { json: { text: 'a' } })
    assert.equal((await sent('dry_run=true')).headers['dry-run'], 'true')
    assert.equal((await sent('dry_run=1')).status, 400)
    assert.deepEqual((await door.send('GET', '/notes')).json.data, [])
  })
})

const limited = service({
  name: 'notebook',
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
  tiers: { anonymous: { hourly: 2 } },
})

doors('dry runs with a quota', limited, (door: Door) => {
  spec('R239', 'a dry run counts as one request, and a refused one has its header', async () => {
    const send = () => door.send('POST', '/notes?dryRun=true', { json: { text: 'a' } })
    const [one, two, three] = [await send(), await send(), await send()]
    assert.deepEqual(
      [one, two, three].map(({ status }) => status),
      [201, 201, 429],
    )
    assert.match(String(one.headers.ratelimit), /;r=1;/)
    assert.equal(three.headers['dry-run'], 'true')
  })
})
