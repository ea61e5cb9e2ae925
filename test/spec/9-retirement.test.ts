import assert from 'node:assert/strict'
import { f, Problem, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const refused = () => new Problem('limit-reached', 'There are enough notes.')
const notes = { fields: { text: f.text() }, access: 'public' } as const
const now = () => Date.parse('2026-11-20T12:00:00Z')
const [past, coming] = ['2026-11-20T11:59:59Z', '2026-11-20T12:00:01Z']

const terms = { guide: 'https://docs.example.com/v1-retirement', policy: '/sunset-policy' }
const declared = (v1: object, settings = {}) =>
  service({
    name: 'notes',
    versions: { v1: { released: '2020-01-01', ...v1 }, v2: { released: '2020-06-01' } },
    resources: { notes },
    settings,
  })

const reported = async (door: Door, path = '/v1/notes', sent = {}) => {
  const { status, headers } = await door.send('GET', path, sent)
  return { status, deprecation: headers.deprecation, sunset: headers.sunset, link: headers.link ?? '' }
}

doors(
  'a deprecated version',
  declared({ deprecated: past, sunset: '2027-06-30T23:59:59Z', ...terms }),
  (door) => {
    spec('R198 R200 R201', 'every answer says so, with the successor', async () => {
      const { json } = await door.send('POST', '/v1/notes', { json: { text: 'a' } })
      const path = `/v1/notes/${json.id}`
      const { headers } = await door.send('GET', path)
      const answers = [
        await door.send('GET', path),
        await door.send('HEAD', path),
        await door.send('OPTIONS', path),
        await door.send('GET', path, { headers: { 'if-none-match': headers.etag as string } }),
        await door.send('PATCH', path, { json: { text: 5 } }),
        await door.send('POST', path),
      ]
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 204, 304, 400, 405],
      )
      for (const { headers } of answers) {
        assert.equal(headers.deprecation, 'true')
        assert.equal(headers.sunset, 'Wed, 30 Jun 2027 23:59:59 GMT')
        assert.equal(
          headers.link,
          `<https://docs.example.com/v1-retirement>; rel="deprecation"; type="text/html", </sunset-policy>; rel="sunset", <${path.replace('v1', 'v2')}>; rel="successor-version"`,
        )
      }
      const missing = await reported(door, '/v1/notes/note_01h455vb4pex5vsknk084sn02q')
      assert.deepEqual([missing.status, missing.deprecation], [404, 'true'])
      const newest = await door.send('GET', '/v2/notes')
      assert.deepEqual([newest.headers.deprecation, newest.headers.sunset], [undefined, undefined])
      assert.match((await reported(door, '/v1/notes?limit=1')).link, /rel="self", .*rel="successor-version"$/)
    })

    spec('R8 R201', 'a path with a malformed escape is refused, without a successor', async () => {
      for (const [path, sent] of [
        ['/v1/notes%ZZ', {}],
        ['/v1/notes/%ff', {}],
        ['/notes%ZZ', { headers: { version: 'v1' } }],
      ] as const) {
        const { status, headers, json } = await door.send('GET', path, sent)
        assert.deepEqual([status, json?.type, headers.deprecation], [400, 'invalid-url-encoding', 'true'], path)
        assert.doesNotMatch(headers.link ?? '', /successor/)
      }
    })
  },
  { now },
)

doors(
  'a version that will be deprecated',
  declared({ deprecated: coming, ...terms }),
  (door) => {
    spec('R198', 'it is not announced before its day', async () => {
      const { deprecation, link } = await reported(door)
      assert.equal(deprecation, undefined)
      assert.doesNotMatch(link, /deprecation|successor/)
    })
  },
  { now },
)

for (const [where, service] of [
  ['the version', declared({ deprecated: coming, format: 'rfc9745' })],
  ['the service', declared({ deprecated: coming }, { deprecation: { format: 'rfc9745' } })],
] as const)
  doors(
    `dates in the form that ${where} declares`,
    service,
    (door) => {
      spec('R199', 'the date is sent from its announcement on', async () => {
        assert.equal((await reported(door)).deprecation, `@${Date.parse(coming) / 1000}`)
      })
    },
    { now },
  )

doors(
  'a version after its planned end',
  declared({ sunset: past }),
  (door) => {
    spec('R203', 'it is served as before, with its planned end', async () => {
      const { status, sunset } = await reported(door)
      assert.deepEqual([status, sunset], [200, 'Fri, 20 Nov 2026 11:59:59 GMT'])
    })
  },
  { now },
)

for (const [how, service] of [
  ['that has ended', declared({ sunset: past }, { versions: { enforceSunset: true, default: 'v2' } })],
  ['that was taken away', declared({ retired: true })],
] as const)
  doors(
    `a version ${how}`,
    service,
    (door) => {
      spec('R204', 'it is 410 by path and query, refused by header, with a link to the successor', async () => {
        for (const [path, header, status] of [
          ['/v1/notes', undefined, 410],
          ['/notes?version=v1', undefined, 410],
          ['/notes', 'v1', 400],
        ] as const) {
          const answer = await door.send('GET', path, header ? { headers: { version: header } } : {})
          assert.deepEqual([answer.status, answer.json.type], [status, 'version-retired'], path)
          const place = header ? 'header' : path.includes('?') ? 'query' : 'path'
          assert.deepEqual([answer.json.in, answer.json.name], [place, place === 'path' ? undefined : 'version'])
          assert.equal(answer.headers.link, '</v2/notes>; rel="successor-version"')
          assert.match(answer.json.message, /Supported: v2\.$/)
        }
        const usual = await door.send('GET', '/notes')
        assert.deepEqual([usual.status, usual.headers.version], [200, 'v2'])
      })
    },
    { now },
  )

doors(
  'a version to come to its end',
  declared({ sunset: coming }, { versions: { enforceSunset: true } }),
  (door) => {
    spec('R203', 'it is served until then', async () => assert.equal((await reported(door)).status, 200))
  },
  { now },
)

const choosing = (versions: object, tiers = {}) =>
  service({
    name: 'notes',
    versions: { v1: { released: '2020-01-01' }, v2: { released: '2020-06-01' }, v3: { released: '2020-07-01' } },
    resources: { notes: { ...notes, settings: { cache: { maxAge: 'PT1H' } } } },
    settings: { versions },
    tiers,
  })
    .change('v3', 'notes', { about: 'A new word.', renamed: { content: 'text' } })
    .change('v2', 'notes', { about: 'Another word.', feature: 'words', renamed: { body: 'content' } })

const usual = async (door: Door, sent = {}) => (await door.send('GET', '/notes', sent)).headers.version

doors('the latest version by default', choosing({ default: 'latest' }), (door) => {
  spec('R192', 'it is the newest one', async () => assert.equal(await usual(door), 'v3'))
})
doors('a fixed version by default', choosing({ default: 'v2' }), (door) => {
  spec('R192', 'it is that one', async () => assert.equal(await usual(door), 'v2'))
})
doors('no version by default', choosing({ default: 'required' }), (door) => {
  spec('R192', 'one has to be named', async () => {
    const { status, json } = await door.send('GET', '/notes')
    assert.deepEqual([status, json.type], [400, 'version-required'])
    assert.match(json.message, /v1, v2 and v3/)
    assert.equal((await door.send('GET', '/v2/notes')).status, 200)
  })
})
doors('one carrier', choosing({ carriers: ['query'] }), (door) => {
  spec('R188', 'the others mean nothing', async () => {
    assert.equal((await door.send('GET', '/v2/notes')).json.type, 'route-not-found')
    const { headers } = await door.send('GET', '/notes?version=v2', { headers: { version: 'v3' } })
    assert.deepEqual([headers.version, headers.vary], ['v2', 'Accept-Encoding'])
  })
})
doors('no query carrier', choosing({ carriers: ['path', 'header'] }), (door) => {
  spec('R188', 'the parameter is not known', async () => {
    assert.equal((await door.send('GET', '/notes?version=v2')).json.errors[0].type, 'unknown-parameter')
  })
})

const holders = {
  none: {},
  words: { features: ['words'] },
  both: { features: ['words', 'v3'] },
  late: { features: ['v3'] },
}
for (const [how, fromFeatures] of [
  ['its changes', 'changes'],
  ['a function', (has: ReadonlySet<string>) => (has.has('words') ? (has.has('v3') ? 'v3' : 'v2') : null)],
] as const)
  doors(
    `a version by ${how}`,
    choosing({ fromFeatures }),
    (door) => {
      spec(
        'R191',
        'the version follows from the features of the caller, an explicit one wins, and shared caches may not store the answer',
        async () => {
          const by = (name: string) => ({ headers: door.as(name) })
          assert.deepEqual(await Promise.all(['none', 'words', 'both', 'late'].map((name) => usual(door, by(name)))), [
            'v1',
            'v2',
            'v3',
            'v1',
          ])
          assert.equal(await usual(door), 'v1')
          const { headers } = await door.send('GET', '/v1/notes', by('both'))
          assert.deepEqual([headers.version, headers['cache-control']], ['v1', 'private, max-age=3600'])
        },
      )
    },
    { holders },
  )

doors(
  'a version by its tier',
  choosing({ fromFeatures: 'changes' }, { free: { hourly: 100 }, early: { hourly: 100, features: ['words', 'v3'] } }),
  (door) => {
    spec('R191', 'a tier has features for all its callers', async () => {
      const by = (name: string) => ({ headers: door.as(name) })
      assert.deepEqual(await Promise.all(['free', 'early', 'own'].map((name) => usual(door, by(name)))), [
        'v1',
        'v3',
        'v2',
      ])
    })
  },
  { holders: { free: { tier: 'free' }, early: { tier: 'early' }, own: { tier: 'free', features: ['words'] } } },
)

doors('no versions', service({ name: 'notes', resources: { notes } }), (door) => {
  spec('R187a', 'there is one, v1, and every carrier names it', async () => {
    for (const [path, headers] of [
      ['/notes', {}],
      ['/v1/notes', {}],
      ['/notes?version=v1', {}],
      ['/notes', { version: 'v1' }],
    ] as const) {
      const answer = await door.send('GET', path, { headers })
      assert.deepEqual([answer.status, answer.headers.version], [200, 'v1'], path)
    }
    assert.equal((await door.send('GET', '/v2/notes')).json.type, 'unknown-version')
  })
})

doors(
  'a type of errors with another name',
  service({
    name: 'notes',
    versions: { v1: { released: '2020-01-01' }, v2: { released: '2020-06-01' } },
    errors: { 'limit-reached': { status: 409, parents: ['conflict'] } },
    resources: {
      notes: {
        ...notes,
        settings: {
          resource: {
            id: () => {
              throw refused()
            },
          },
        },
      },
    },
  }).change('v2', 'notes', { about: 'A clearer name.', errors: { 'too-many': 'limit-reached' } }),
  (door) => {
    spec('R160 R194', 'it has the name of the version', async () => {
      for (const [label, type] of [
        ['v1', 'too-many'],
        ['v2', 'limit-reached'],
      ] as const) {
        const { status, json } = await door.send('POST', `/${label}/notes`, { json: { text: 'a' } })
        assert.deepEqual([status, json.type, json.types], [409, type, [type, 'conflict', 'client-error', 'error']])
      }
    })
  },
)
