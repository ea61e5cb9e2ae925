/** Part 8 of the contract: request quotas of anonymous callers, and their headers. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Network, networkOf } from '../../src/flow/network.ts'
import { type Answer, doors, spec } from '../help/door.ts'

const resources = {
  notes: { prefix: 'not', plural: true, fields: { text: f.text({ optional: true }) }, access: 'public' },
} as const
const few = service({ name: 'few', resources, tiers: { anonymous: { hourly: 5 } } })

const clock = { now: Date.parse('2026-11-20T10:00:00.500Z') }
const now = () => clock.now
const hour = 3_600_000
const later = () => {
  clock.now += 2 * hour
}
const ratesOf = ({ headers }: Answer) => [headers['ratelimit-policy'], headers.ratelimit]

doors(
  'quotas',
  few,
  (door) => {
    const use = async (count: number) => {
      for (let n = 0; n < count; n++) assert.ok((await door.send('GET', '/notes')).status < 400)
    }

    spec('R181 R183', 'answers of any status have the rest of the quota', async () => {
      later()
      const policy = '"hourly";q=5;w=3600'
      assert.deepEqual(ratesOf(await door.send('GET', '/notes')), [policy, '"hourly";r=4;t=3600'])
      clock.now += 1000
      assert.deepEqual(ratesOf(await door.send('GET', '/notes/nope')), [policy, '"hourly";r=3;t=3599'])
      clock.now += 600
      const bad = await door.send('POST', '/notes', { json: { text: 1 } })
      assert.deepEqual([bad.status, ...ratesOf(bad)], [400, policy, '"hourly";r=2;t=3599'])
    })

    spec('R182', 'a quota that is used up is refused until its window ends, and nothing is done', async () => {
      later()
      await use(5)
      clock.now += hour / 2
      const refused = await door.send('POST', '/notes', { json: { text: 'a' } })
      assert.equal(refused.status, 429)
      assert.deepEqual(refused.json, {
        message: 'The hourly quota of 5 requests is used up. Ask again in 1800 seconds.',
        type: 'quota-exceeded',
        types: ['quota-exceeded', 'too-many-requests', 'client-error', 'error'],
        violatedPolicies: ['hourly'],
      })
      assert.equal(refused.headers['retry-after'], '1800')
      assert.deepEqual(ratesOf(refused), ['"hourly";q=5;w=3600', '"hourly";r=0;t=1800'])
      clock.now += hour / 2 - 1
      assert.equal((await door.send('GET', '/notes')).headers['retry-after'], '1')
      clock.now += 1
      const list = await door.send('GET', '/notes')
      assert.deepEqual([list.status, list.json.data], [200, []])
      assert.match(list.headers.ratelimit ?? '', /r=4;t=3600$/)
    })

    spec('R182', 'as a problem it has the type that is registered for it', async () => {
      later()
      await use(5)
      const { headers, json } = await door.send('GET', '/notes', { headers: { accept: 'application/problem+json' } })
      assert.equal(headers['content-type'], 'application/problem+json')
      assert.equal(json.type, 'https://iana.org/assignments/http-problem-types#quota-exceeded')
      assert.equal(json.status, 429)
      assert.deepEqual(json['violated-policies'], ['hourly'])
      assert.equal('violatedPolicies' in json, false)
    })

    spec(
      'R184',
      'an answer without content counts, and clients cannot choose under which key they are counted',
      async () => {
        later()
        const { headers } = await door.send('GET', '/notes')
        for (let n = 0; n < 4; n++) {
          const same = await door.send('GET', '/notes', {
            headers: { 'if-none-match': headers.etag ?? '', 'user-agent': `a${n}`, 'x-forwarded-for': `192.0.2.${n}` },
          })
          assert.deepEqual([same.status, same.headers.ratelimit], [304, `"hourly";r=${3 - n};t=3600`])
        }
        assert.equal((await door.send('GET', '/notes', { headers: { 'x-forwarded-for': '192.0.2.99' } })).status, 429)
      },
    )

    spec('R184 R1', 'OPTIONS, probes and unknown paths do not count', async () => {
      later()
      await use(4)
      for (const [method, path] of [
        ['OPTIONS', '/notes'],
        ['GET', '/healthz'],
        ['GET', '/readyz'],
        ['GET', '/nope'],
        ['PUT', '/notes'],
      ] as const)
        assert.equal((await door.send(method, path)).headers.ratelimit, undefined, path)
      await use(1)
      for (const [method, path, status] of [
        ['OPTIONS', '/notes', 204],
        ['GET', '/healthz', 200],
        ['GET', '/nope', 404],
        ['PUT', '/notes', 405],
        ['GET', '/notes', 429],
      ] as const)
        assert.equal((await door.send(method, path)).status, status, path)
    })

    spec('R1 R182', 'a quota comes before Accept, the content, the query and the item', async () => {
      later()
      await use(5)
      for (const [method, path, sent] of [
        ['GET', '/notes', { headers: { accept: 'text/html' } }],
        ['GET', '/notes?nope=1', {}],
        ['GET', '/notes/not_1', {}],
        ['POST', '/notes', { body: 'a', headers: { 'content-type': 'text/plain' } }],
      ] as const)
        assert.equal((await door.send(method, path, sent)).status, 429, path)
    })

    spec('R184', 'requests at the same time are counted one by one', async () => {
      later()
      const all = await Promise.all(Array.from({ length: 40 }, () => door.send('GET', '/notes')))
      assert.equal(all.filter(({ status }) => status === 200).length, 5)
      assert.equal(all.filter(({ status }) => status === 429).length, 35)
    })
  },
  { now },
)

const several = {
  hourly: { quota: 4 },
  burst: { quota: 2, window: 'PT1S' },
} as const

doors(
  'several quotas',
  service({ name: 'several', resources, tiers: { anonymous: several } }),
  (door) => {
    spec('R181 R183', 'all quotas of a tier apply, and a refused request counts against none', async () => {
      later()
      const policies = '"hourly";q=4;w=3600, "burst";q=2;w=1'
      assert.deepEqual(ratesOf(await door.send('GET', '/notes')), [policies, '"hourly";r=3;t=3600, "burst";r=1;t=1'])
      await door.send('GET', '/notes')
      for (let n = 0; n < 3; n++) {
        const refused = await door.send('GET', '/notes')
        assert.deepEqual(refused.json.violatedPolicies, ['burst'])
        assert.equal(refused.headers['retry-after'], '1')
        // With the reset of the hour, a client would wait longer than necessary.
        assert.equal(refused.headers.ratelimit, '"hourly";r=2, "burst";r=0;t=1')
      }
      clock.now += 1000
      assert.equal((await door.send('GET', '/notes')).headers.ratelimit, '"hourly";r=1;t=3599, "burst";r=1;t=1')
      await door.send('GET', '/notes')
      const refused = await door.send('GET', '/notes')
      assert.deepEqual(refused.json.violatedPolicies, ['hourly', 'burst'])
      assert.match(refused.json.message, /^The hourly quota of 4 requests/)
      assert.equal(refused.headers['retry-after'], '3599')
    })
  },
  { now },
)

for (const [headers, names] of [
  ['x-ratelimit', ['5', '4', '3600']],
  ['none', [undefined, undefined, undefined]],
] as const)
  doors(
    `quotas with ${headers}`,
    service({ name: 'told', resources, tiers: { anonymous: { hourly: 5 } }, settings: { rateLimit: { headers } } }),
    (door) => {
      spec('R183', `rateLimit.headers can be ${headers}`, async () => {
        later()
        const { headers: got } = await door.send('GET', '/notes')
        const shown = ['limit', 'remaining', 'reset'].map((name) => got[`x-ratelimit-${name}`])
        assert.deepEqual([shown, got.ratelimit, got['ratelimit-policy']], [names, undefined, undefined])
        for (let n = 0; n < 4; n++) await door.send('GET', '/notes')
        const refused = await door.send('GET', '/notes')
        assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '3600'])
      })
    },
    { now },
  )

doors(
  'quotas behind proxies',
  few,
  (door) => {
    spec('R184', 'a trusted proxy names the address of the client', async () => {
      later()
      const from = async (forwarded: string) =>
        (await door.send('GET', '/notes', { headers: { 'x-forwarded-for': forwarded } })).headers.ratelimit
      assert.equal(await from('192.0.2.1'), '"hourly";r=4;t=3600')
      assert.equal(await from('192.0.2.2'), '"hourly";r=4;t=3600')
      assert.equal(await from('198.51.100.7, 192.0.2.1'), '"hourly";r=3;t=3600')
      assert.equal(await from('2001:db8::1'), '"hourly";r=4;t=3600')
      assert.equal(await from('2001:db8::2'), '"hourly";r=3;t=3600')
    })
  },
  { now, socketOnly: true, proxies: [networkOf('127.0.0.0/8') as Network] },
)

doors('no quotas', service({ name: 'free', resources, tiers: { pro: { hourly: 1 } } }), (door) => {
  spec('R181 R183', 'without a quota nothing is counted or reported', async () => {
    for (let n = 0; n < 3; n++) {
      const answer = await door.send('GET', '/notes')
      assert.deepEqual([answer.status, ...ratesOf(answer)], [200, undefined, undefined])
    }
  })
})

const chosen = service({
  name: 'chosen',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { versions: { fromFeatures: 'changes' }, openapi: { public: false } },
  resources,
  tiers: { anonymous: { hourly: 5 } },
})

doors(
  'failed authentication',
  chosen,
  (door) => {
    const failing = { headers: { authorization: 'Bearer nonsense' } }
    const places: readonly (readonly [about: string, path: string])[] = [
      ['before the version is chosen by features', '/notes'],
      ['where there is no such path', '/nowhere'],
      ['in a version that the path names', '/v1/notes'],
      ['at the description, where that is not public', '/openapi.json'],
    ]
    for (const [about, path] of places)
      spec('R184 R191', `costs its address a request ${about}`, async () => {
        later()
        const statuses: number[] = []
        for (let n = 0; n < 7; n++) statuses.push((await door.send('GET', path, failing)).status)
        assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429])
        assert.equal((await door.send('GET', '/notes')).status, 429, 'the quota of the address is used up')
      })
  },
  { now, socketOnly: true },
)
