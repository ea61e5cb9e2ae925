/** Part 8 of the contract: request quotas of authenticated callers, by the tier of their credential. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, doors, spec } from '../help/door.ts'

const clock = { now: Date.parse('2026-11-20T10:00:00.500Z') }
const now = () => clock.now
const later = () => {
  clock.now += 7_200_000
}

const shop = service({
  name: 'tiered',
  scopes: { 'notes:write': 'Write notes' },
  tiers: {
    anonymous: { hourly: 3 },
    free: { hourly: 4 },
    pro: { hourly: 8 },
    team: { hourly: { quota: 5, partition: 'tier' } },
    site: { hourly: { quota: 5, partition: 'address' } },
  },
  resources: {
    notes: {
      ...{ prefix: 'not', plural: true, fields: { text: f.text() } },
      access: { read: 'authenticated', write: 'notes:write' },
    },
    pages: { prefix: 'pag', fields: { text: f.text() }, access: 'public' },
  },
})

const holders = {
  ...{ ann: { tier: 'free' }, ben: { tier: 'free' }, pia: { tier: 'pro' }, lea: {}, old: { tier: 'gold' } },
  ...{ tim: { tier: 'team' }, tom: { tier: 'team' }, sid: { tier: 'site' }, sue: { tier: 'site' } },
} as const

doors(
  'tiers',
  shop,
  (door) => {
    const rate = ({ headers }: Answer) => headers.ratelimit
    const read = (holder: keyof typeof holders, path = '/notes') => door.send('GET', path, { headers: door.as(holder) })

    spec(
      'R181',
      'the tier of a credential decides; without one, or with one that is not declared, the first does',
      async () => {
        later()
        for (const [holder, policy] of [
          ['ann', '"hourly";q=4;w=3600'],
          ['pia', '"hourly";q=8;w=3600'],
          ['lea', '"hourly";q=4;w=3600'],
          ['old', '"hourly";q=4;w=3600'],
        ] as const)
          assert.equal((await read(holder)).headers['ratelimit-policy'], policy, holder)
      },
    )

    spec('R181 R184', 'callers are counted separately, over all their requests', async () => {
      later()
      assert.equal(rate(await read('ann')), '"hourly";r=3;t=3600')
      assert.equal(rate(await read('ann', '/pages')), '"hourly";r=2;t=3600')
      assert.equal(rate(await read('ben')), '"hourly";r=3;t=3600')
      assert.equal(rate(await door.send('GET', '/pages')), '"hourly";r=2;t=3600')
      await read('ann')
      await read('ann')
      assert.equal((await read('ann')).status, 429)
      assert.equal((await read('ben')).status, 200)
      assert.equal((await door.send('GET', '/pages')).status, 200)
    })

    spec('R181', 'callers of a tier, or of an address, can be counted together', async () => {
      later()
      for (const [one, other] of [
        ['tim', 'tom'],
        ['sid', 'sue'],
      ] as const) {
        await read(one)
        assert.equal(rate(await read(other)), '"hourly";r=3;t=3600')
        for (let n = 0; n < 3; n++) await read(one)
        assert.equal((await read(other)).status, 429)
      }
    })

    spec(
      'R1 R184',
      'a quota is checked after the credential and before permission, and forbidden requests count',
      async () => {
        later()
        const write = () => door.send('POST', '/notes', { json: { text: 'a' }, headers: door.as('ann') })
        const denied = await write()
        assert.deepEqual([denied.status, rate(denied)], [403, '"hourly";r=3;t=3600'])
        for (let n = 0; n < 3; n++) assert.equal((await write()).status, 403)
        assert.equal((await write()).status, 429)
      },
    )

    spec(
      'R184',
      'an invalid credential counts against its address, and not against callers with valid ones',
      async () => {
        later()
        const headers = { authorization: 'Bearer nonsense' }
        const failed = await door.send('GET', '/notes', { headers })
        assert.deepEqual([failed.status, rate(failed)], [401, '"hourly";r=2;t=3600'])
        assert.match(failed.headers['www-authenticate'] ?? '', /^Bearer/)
        assert.equal((await door.send('GET', '/notes')).status, 401)
        assert.equal((await door.send('GET', '/pages', { headers })).status, 401)
        const refused = await door.send('GET', '/notes', { headers })
        assert.deepEqual([refused.status, refused.json.type], [429, 'quota-exceeded'])
        assert.equal((await door.send('GET', '/pages')).status, 429)
        assert.equal((await read('ann')).status, 200)
      },
    )
  },
  { now, holders },
)

doors(
  'the share of a known caller',
  service({ ...shop.declaration, settings: { limits: { callerConcurrency: 1 } } }),
  (door) => {
    spec('R185', 'the requests of one caller do not block others', async () => {
      later()
      const all = await Promise.all(
        (['ann', 'ben', 'pia'] as const).map((one) => door.send('GET', '/notes', { headers: door.as(one) })),
      )
      assert.deepEqual(
        all.map(({ status }) => status),
        [200, 200, 200],
      )
    })
  },
  { now, holders },
)
