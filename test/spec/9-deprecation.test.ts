import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const now = () => Date.parse('2026-11-20T12:00:00Z')
const [past, coming] = ['2026-11-20T11:59:59Z', '2026-11-20T12:00:01Z']
const end = 'Wed, 30 Jun 2027 23:59:59 GMT'

const parting = {
  deprecated: past,
  sunset: '2027-06-30T23:59:59Z',
  guide: 'https://docs.example.com/archive',
  policy: '/sunset-policy',
  successor: '/archived-notes',
}
const wanted =
  '<https://docs.example.com/archive>; rel="deprecation"; type="text/html", </sunset-policy>; rel="sunset", </archived-notes>; rel="successor-version"'

const notes = { fields: { text: f.text({ filter: true }) }, access: 'public' } as const
const declared = (deprecations: object, more: object = {}, settings = {}) =>
  service({ name: 'notes', ...more, resources: { notes: { ...notes, deprecations } }, settings } as never)

const reported = ({ headers }: Answer) => [headers.deprecation, headers.sunset, headers.link]
const silent = [undefined, undefined, undefined]

async function made(door: Door, path = '/notes'): Promise<string> {
  const { json, status } = await door.send('POST', path, { json: { text: 'a' } })
  assert.equal(status, 201)
  return `${path}/${json.id}`
}

doors(
  'deprecated operations of one version',
  declared({ read: parting, list: { deprecated: past } }, {}, { methods: { query: true } }),
  (door) => {
    spec('R198 R200 R201', 'all their answers say so, refusals too, with the successor', async () => {
      const path = await made(door)
      const { headers } = await door.send('GET', path)
      const answers = [
        await door.send('GET', path),
        await door.send('HEAD', path),
        await door.send('OPTIONS', path),
        await door.send('GET', path, { headers: { 'if-none-match': headers.etag as string } }),
        await door.send('GET', '/notes/note_01h455vb4pex5vsknk084sn02q'),
        await door.send('GET', `${path}?a=1`),
        await door.send('GET', path, { headers: { accept: 'text/html' } }),
        await door.send('GET', `/v1${path}`),
      ]
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 204, 304, 404, 400, 406, 200],
      )
      for (const one of answers) assert.deepEqual(reported(one), ['true', end, wanted])
    })
    spec('R198', 'a list says it for all its methods', async () => {
      const query = { body: 'text=a', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
      for (const one of [await door.send('GET', '/notes?text=a'), await door.send('QUERY', '/notes', query)])
        assert.deepEqual([one.status, one.headers.deprecation], [200, 'true'])
    })
    spec('R198', 'the others say nothing', async () => {
      const path = await made(door)
      for (const one of [
        await door.send('PATCH', path, { json: { text: 'b' } }),
        await door.send('PATCH', path, { json: { text: 5 } }),
        await door.send('POST', path),
        await door.send('DELETE', path),
      ])
        assert.deepEqual(reported(one), silent, one.text)
    })
  },
  { now },
)

doors(
  'operations that will be deprecated',
  declared({ read: { deprecated: coming, sunset: '2027-06-30T23:59:59Z' }, remove: { deprecated: past } }),
  (door) => {
    spec('R198 R200', 'before their day they only announce their end', async () => {
      assert.deepEqual(reported(await door.send('GET', await made(door))), [undefined, end, undefined])
    })
    spec('R198', 'a path has the earliest end of its operations', async () => {
      const { headers } = await door.send('OPTIONS', await made(door))
      assert.deepEqual([headers.deprecation, headers.sunset], ['true', end])
    })
  },
  { now },
)

doors(
  'dates of operations in the form of the service',
  declared({ read: { deprecated: coming } }, {}, { deprecation: { format: 'rfc9745' } }),
  (door) => {
    spec('R199', 'the date is sent from its announcement on', async () => {
      const { headers } = await door.send('GET', await made(door))
      assert.equal(headers.deprecation, `@${Date.parse(coming) / 1000}`)
    })
  },
  { now },
)

const versions = {
  v1: { released: '2020-01-01', deprecated: '2026-11-01', guide: 'https://docs.example.com/v2' },
  v2: { released: '2020-06-01' },
  v3: { released: '2020-07-01' },
}
doors(
  'operations of some versions',
  service({
    name: 'notes',
    versions,
    resources: {
      notes: { ...notes, methods: ['list', 'read', 'create', 'change'], deprecations: { change: parting } },
    },
  })
    .change('v3', 'notes', {
      about: 'Notes are not removed any more.',
      methods: { withdrawn: ['remove'] },
      deprecations: { remove: { deprecated: past } },
    })
    .change('v2', 'notes', {
      about: 'Notes can be changed.',
      methods: { added: ['change'] },
      deprecations: { create: { deprecated: past } },
    }),
  (door) => {
    const of = (answer: Answer) => [answer.headers.version, answer.headers.deprecation]
    spec(
      'R198',
      'a deprecation of the newest version holds in all versions, and one of a change in those before it',
      async () => {
        const [first = '', second = '', third = ''] = await Promise.all(
          ['v1', 'v2', 'v3'].map((label) => made(door, `/${label}/notes`)),
        )
        const json = { text: 'b' }
        assert.deepEqual(of(await door.send('PATCH', third, { json })), ['v3', 'true'])
        assert.deepEqual(of(await door.send('PATCH', second, { json })), ['v2', 'true'])
        assert.equal((await door.send('PATCH', first, { json })).status, 405)
        assert.deepEqual(of(await door.send('GET', second)), ['v2', undefined])
        assert.deepEqual(of(await door.send('POST', '/v2/notes', { json })), ['v2', undefined])
        assert.equal((await door.send('DELETE', third)).status, 405)
        assert.deepEqual(of(await door.send('DELETE', second)), ['v2', 'true'])
        for (const sent of [{}, { headers: { version: 'v2' } }])
          assert.deepEqual(of(await door.send('DELETE', `/notes/note_1${sent.headers ? '' : '?version=v2'}`, sent)), [
            'v2',
            'true',
          ])
      },
    )
    spec('R198 R201', 'if the version ends too, one header names both', async () => {
      const { headers } = await door.send('POST', '/v1/notes', { json: { text: 'a' } })
      assert.equal(headers.deprecation, 'true')
      assert.equal(
        headers.link,
        '<https://docs.example.com/v2>; rel="deprecation"; type="text/html", </v2/notes>; rel="successor-version"',
      )
    })
  },
  { now },
)
