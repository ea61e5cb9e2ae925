/** R238: what exports show to whom: accounts, hidden fields, access rules, and older versions. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const market = service({
  name: 'market',
  scopes: { costs: 'See costs' },
  resources: {
    stalls: {
      prefix: 'sta',
      owner: 'accountId',
      fields: {
        name: f.text({ max: 40, filter: true }),
        rent: f.decimal({ scale: 2, default: '1', read: 'costs', filter: true }),
        pin: f.text({ optional: true, writeOnly: true }),
      },
      exports: true,
      access: 'authenticated',
    },
  },
  settings: { list: { fields: true } },
})
const holders = {
  ann: { account: 'a', scopes: [] },
  boss: { account: 'a', scopes: ['costs'] },
  eve: { account: 'b', scopes: ['costs'] },
}
const [lines, csv] = ['application/x-ndjson', 'text/csv']

doors(
  'exports of accounts',
  market,
  (door) => {
    const get = (who: string | null, path: string, accept = csv) =>
      door.send('GET', path, { headers: { ...(who && door.as(who)), accept } })

    spec('R238 R169 R170', 'items of the account, without the fields that the caller may not read', async () => {
      for (const [who, name] of [
        ['boss', 'own'],
        ['eve', 'foreign'],
      ] as const) {
        const json = { name, rent: '7.77', pin: 'secret' }
        assert.equal((await door.send('POST', '/stalls', { json, headers: door.as(who) })).status, 201)
      }
      const ann = await get('ann', '/stalls')
      assert.match(ann.text, /^id,name,createdAt,updatedAt\r\n[^,]*,own,[^\r]*\r\n$/)
      const [one, ...more] = (await get('ann', '/stalls', lines)).text.trimEnd().split('\n')
      assert.deepEqual(more, [])
      assert.deepEqual(
        Object.keys(JSON.parse(one as string)).filter((name) => name !== '_links'),
        ['id', 'name', 'createdAt', 'updatedAt'],
      )
      const boss = await get('boss', '/stalls')
      assert.match(boss.text, /^id,name,rent,createdAt,updatedAt\r\n[^,]*,own,7\.77,[^\r]*\r\n$/)
      assert.match((await get('eve', '/stalls', lines)).text, /"foreign"[^\n]*\n$/)
    })
    spec('R238 R169', 'no parameter reveals a hidden field, and nobody exports without credentials', async () => {
      for (const path of ['/stalls?rent=7.77', '/stalls?fields=rent', '/stalls?rent[null]=true'])
        for (const accept of [lines, csv]) {
          const { status, json } = await get('ann', path, accept)
          assert.deepEqual([status, json.type], [403, 'insufficient-scope'])
        }
      for (const path of ['/stalls?pin=secret', '/stalls?fields=pin', '/stalls?accountId=b'])
        assert.equal((await get('boss', path)).status, 400)
      assert.equal((await get(null, '/stalls')).status, 401)
    })
  },
  { holders },
)

const versioned = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: { label: f.text({ max: 40, filter: true }), kind: f.enum(['new', 'old']) },
      exports: true,
      access: 'public',
    },
  },
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
}).change('v2', 'orders', {
  about: '`name` is `label`, and kinds have other names.',
  renamed: { name: 'label' },
  mapped: { kind: { fresh: 'new', worn: 'old' } },
})

doors('exports of versions', versioned, (door) => {
  spec('R238 R190', 'an older version has its own names, as filters, members and columns', async () => {
    for (const label of ['a', '=b'])
      assert.equal((await door.send('POST', '/v2/orders', { json: { label, kind: 'new' } })).status, 201)
    const old = await door.send('GET', '/v1/orders?name=%3Db', { headers: { accept: csv } })
    assert.equal(old.status, 200, old.text)
    assert.match(old.text, /^id,name,kind,createdAt,updatedAt\r\n[^,]*,'=b,fresh,[^\r]*\r\n$/)
    const now = await door.send('GET', '/v2/orders', { headers: { accept: csv } })
    assert.match(now.text, /^id,label,kind,createdAt,/)
    const items = await door.send('GET', '/v1/orders', { headers: { accept: lines } })
    assert.deepEqual(
      items.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).name),
      ['a', '=b'],
    )
  })
})
