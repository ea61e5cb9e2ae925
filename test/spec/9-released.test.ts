/** Versions before their release, and the headers for caches if features choose the version. Part 9, versions. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const declared = (settings: object) =>
  service({
    name: 'notes',
    versions: {
      v1: { released: '2025-01-01', deprecated: '2026-01-01', guide: 'https://docs.example.com/v2' },
      v2: { released: '2026-01-01' },
      v3: { released: '2026-09-01' },
    },
    settings,
    resources: { notes: { prefix: 'nte', fields: { text: f.text() }, access: 'public' } },
  } as never) as never as Parameters<typeof doors>[1]

const nobody = '/notes/nte_00000000000000000000000000'
let clock = Date.parse('2026-08-31T23:59:59Z')
const stage = { now: () => clock, preview: [] }

doors(
  'a version before it is released',
  declared({ versions: { default: 'latest' } }),
  (door) => {
    spec('R189', 'is an unknown version, wherever it is named', async () => {
      clock = Date.parse('2026-08-31T23:59:59Z')
      const path = await door.send('GET', '/v3/notes')
      assert.deepEqual([path.status, path.json.type], [404, 'unknown-version'])
      assert.doesNotMatch(path.text, /v3/)
      for (const [target, headers] of [
        ['/notes?version=v3', {}],
        ['/notes', { version: 'v3' }],
      ] as const) {
        const answer = await door.send('GET', target, { headers })
        assert.deepEqual([answer.status, answer.json.type], [400, 'unsupported-version'])
        assert.match(answer.json.message, /Supported: v1 and v2\./)
      }
      assert.equal((await door.send('GET', '/openapi/v3.json')).status, 404)
      assert.doesNotMatch((await door.send('GET', '/.well-known/api-catalog')).text, /v3/)
      const { text } = await door.send('GET', '/openapi.json')
      assert.match(text, /"2\.0\.0"/)
      assert.match(text, /where nothing names a version, the latest released version answers/)
      assert.doesNotMatch(text, /v3/)
    })
    spec('R192', 'is not the latest one', async () => {
      clock = Date.parse('2026-08-31T23:59:59Z')
      assert.equal((await door.send('GET', '/notes')).headers.version, 'v2')
      clock = Date.parse('2026-09-01T00:00:00Z')
      assert.equal((await door.send('GET', '/notes')).headers.version, 'v3')
      assert.equal((await door.send('GET', '/v3/notes')).status, 200)
      assert.match((await door.send('GET', '/.well-known/api-catalog')).text, /v3/)
    })
    spec('R201', 'a 404 of a deprecated version leads to its successor too', async () => {
      const { status, headers } = await door.send('GET', `/v1${nobody}`)
      assert.equal(status, 404)
      assert.match(headers.link ?? '', /<\/v2\/notes\/nte_0+>; rel="successor-version"/)
    })
  },
  stage,
)

doors(
  'a version that is previewed',
  declared({}),
  (door) => {
    spec('R189', 'answers before it is released', async () => {
      clock = Date.parse('2026-08-31T23:59:59Z')
      assert.equal((await door.send('GET', '/v3/notes')).status, 200)
    })
  },
  { ...stage, preview: ['v3'] },
)

doors(
  'versions that features choose',
  declared({ auth: { apiKeyHeader: 'X-API-Key' }, versions: { fromFeatures: () => 'v3' } }),
  (door) => {
    const varies = ['X-API-Key', 'Authorization', 'version']
    spec('R145 R191', 'vary by the credentials on every answer whose URL names no version', async () => {
      clock = Date.parse('2026-08-31T23:59:59Z')
      const first = await door.send('GET', '/notes')
      assert.equal(first.headers.version, 'v1') // a feature chooses nothing before its release
      const tag = { 'if-none-match': first.headers.etag as string }
      const answers = [
        first,
        await door.send('GET', '/notes', { headers: tag }),
        await door.send('HEAD', '/notes'),
        await door.send('GET', nobody),
        await door.send('POST', '/notes', { json: {} }),
        await door.send('GET', '/nowhere'),
      ]
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 304, 200, 404, 400, 404],
      )
      for (const { headers, status } of answers)
        for (const name of varies) assert.ok(headers.vary?.split(', ').includes(name), `${status}: ${headers.vary}`)
      assert.doesNotMatch((await door.send('GET', '/v1/notes')).headers.vary ?? '', /Authorization/)
      assert.doesNotMatch((await door.send('GET', '/notes?version=v1')).headers.vary ?? '', /Authorization/)
    })
  },
  stage,
)

let day = 0
doors(
  'versions that end one after the other',
  service({
    name: 'ending',
    versions: {
      v1: { released: '2024-01-01', deprecated: '2025-01-01', sunset: '2026-01-01' },
      v2: { released: '2025-01-01', deprecated: '2025-06-01', sunset: '2026-02-01' },
      v3: { released: '2026-01-01' },
    },
    settings: { versions: { enforceSunset: true, default: 'v3' } },
    resources: { lines: { fields: { text: f.text() }, access: 'public' } },
  }).change('v3', 'lines', { about: '`notes` are called `lines`.', was: 'notes' }),
  (door) => {
    spec('R201 R204', 'lead past one that has ended, under the names of the version that is served', async () => {
      const link = async (path: string, headers = {}) => (await door.send('GET', path, { headers })).headers.link
      day = Date.parse('2026-01-15')
      assert.equal(await link('/v1/notes'), '</v2/notes>; rel="successor-version"')
      day = Date.parse('2026-02-15')
      for (const label of ['v1', 'v2']) {
        assert.equal(await link(`/${label}/notes`), '</v3/lines>; rel="successor-version"')
        assert.equal(await link('/notes', { version: label }), '</v3/lines>; rel="successor-version"')
      }
    })
  },
  { now: () => day },
)
