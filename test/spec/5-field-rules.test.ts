/** Fields that need a scope to be read or written. Part 5, authentication. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, doors, type Sent, spec } from '../help/door.ts'

const api = service({
  name: 'clinic',
  scopes: { pii: 'See personal data', vip: 'Change who is a VIP', edit: 'Change patients' },
  resources: {
    patients: {
      prefix: 'pat',
      fields: {
        name: f.text({ max: 100, sort: true }),
        ssn: f.text({ max: 11, optional: true, read: 'pii', filter: true, sort: true }),
        contact: f.object({ city: f.text({ filter: true }), street: f.text() }, { optional: true, read: 'pii' }),
        level: f.enum(['plain', 'vip'], { default: 'plain', write: 'vip', filter: true }),
        secret: f.text({ writeOnly: true, optional: true }),
        doctors: f.list(f.text(), { read: 'pii', write: 'vip' }),
      },
      access: { read: 'public', write: 'edit' },
    },
    wishes: {
      fields: {
        text: f.text(),
        rank: f.integer({ default: 0, write: 'vip' }),
        price: f.integer({ optional: true, read: 'pii', write: 'pii' }),
      },
      access: 'public',
    },
  },
})
const holders = {
  clerk: { scopes: ['edit'] },
  nurse: { scopes: ['edit', 'pii'] },
  chief: { scopes: ['edit', 'pii', 'vip'] },
  guard: { scopes: ['edit', 'vip'] },
} as const

doors(
  'fields with scopes',
  api,
  (door) => {
    const as = (
      who: keyof typeof holders | null,
      method: string,
      path: string,
      { headers, ...sent }: Sent = {},
    ): Promise<Answer> => door.send(method, path, { ...sent, headers: { ...(who && door.as(who)), ...headers } })
    const whole = {
      name: 'Ann',
      ssn: 's-123-n',
      contact: { city: 'Rome', street: 'Via' },
      level: 'vip',
      doctors: ['B'],
    }
    const made = async (json: object = whole): Promise<string> => {
      const answer = await as('chief', 'POST', '/patients', { json })
      assert.equal(answer.status, 201, answer.text)
      return `/patients/${answer.json.id}`
    }
    const refused = ({ status, json, headers }: Answer, scope: string): void => {
      assert.deepEqual([status, json.type], [403, 'insufficient-scope'], JSON.stringify(json))
      assert.match(headers['www-authenticate'] as string, new RegExp(`error="insufficient_scope", scope="${scope}"`))
    }

    const unproven = ({ status, json, headers }: Answer): void => {
      assert.deepEqual([status, json.type], [401, 'credentials-missing'], JSON.stringify(json))
      assert.equal(headers['www-authenticate'], 'Bearer realm="clinic"')
    }

    spec('R42', 'callers without the scope get items and lists without the field', async () => {
      const path = await made()
      const open = ['id', 'name', 'level', 'createdAt', 'updatedAt']
      for (const who of [null, 'clerk', 'guard'] as const) {
        const item = (await as(who, 'GET', path)).json
        assert.deepEqual(Object.keys(item), open, String(who))
        const list = (await as(who, 'GET', '/patients')).json.data
        assert.deepEqual(
          list.find((one: { id: string }) => one.id === item.id),
          item,
        )
        assert.doesNotMatch((await as(who, 'GET', '/patients')).text, /s-123-n|Rome/)
      }
      const full = (await as('nurse', 'GET', path)).json
      assert.deepEqual([full.ssn, full.contact.city, full.doctors], ['s-123-n', 'Rome', ['B']])
    })

    spec('R121', 'tags differ by the visible fields, and each of them is valid for a write', async () => {
      const path = await made()
      const [short, long] = [await as('clerk', 'GET', path), await as('nurse', 'GET', path)]
      assert.notEqual(short.headers.etag, long.headers.etag)
      const again = await as('nurse', 'GET', path, { headers: { 'if-none-match': short.headers.etag as string } })
      assert.equal(again.status, 200)
      const failed = await as('clerk', 'PATCH', path, { json: { name: 'B' }, headers: { 'if-match': '"9-1-000000"' } })
      assert.deepEqual([failed.status, failed.headers.etag], [412, short.headers.etag])
      const changed = await as('clerk', 'PATCH', path, {
        json: { name: 'B' },
        headers: { 'if-match': long.headers.etag as string },
      })
      assert.equal(changed.status, 200)
      assert.equal('ssn' in changed.json, false)
      const lists = await Promise.all((['clerk', 'nurse'] as const).map((who) => as(who, 'GET', '/patients')))
      assert.notEqual(lists[0]?.headers.etag, lists[1]?.headers.etag)
    })

    spec('R143 R145', 'answers that depend on the caller are private, also if everybody may read', async () => {
      const { headers } = await as(null, 'GET', await made())
      assert.match(headers['cache-control'] as string, /^private/)
      assert.match(headers.vary as string, /Authorization/)
    })

    spec('R169', 'callers who do not see a field cannot filter or sort by it', async () => {
      await made()
      for (const query of ['ssn=s-123-n', 'ssn[null]=true', 'ssn=in:(s-123-n,4)', 'sort=ssn', 'contact.city=Rome']) {
        const clerk = await as('clerk', 'GET', `/patients?${query}`)
        refused(clerk, 'pii')
        // The parameter, as other mistakes of the query name it; the message names the field.
        assert.deepEqual([clerk.json.in, clerk.json.name], ['query', query.split('=')[0]])
        unproven(await as(null, 'GET', `/patients?${query}`))
        assert.equal((await as('nurse', 'GET', `/patients?${query}`)).status, 200, query)
      }
      const page = await as('nurse', 'GET', '/patients?sort=ssn&limit=1&cursor=')
      const next = page.json.pagination.nextCursor
      refused(await as('clerk', 'GET', `/patients?sort=ssn&limit=1&cursor=${next}`), 'pii')
      unproven(await as(null, 'GET', `/patients?sort=ssn&limit=1&cursor=${next}`))
    })

    spec('R165', 'without credentials, a public write to a field that takes a scope is 401', async () => {
      const open = await as(null, 'POST', '/wishes', { json: { text: 'a' } })
      assert.equal(open.status, 201)
      const path = `/wishes/${open.json.id}`
      const writes: readonly (readonly [method: string, path: string, json: object])[] = [
        ['POST', '/wishes', { text: 'b', rank: 1 }],
        ['PATCH', path, { rank: 2 }],
        ['PUT', path, { text: 'c', rank: 3 }],
      ]
      for (const [method, target, json] of writes) {
        unproven(await as(null, method, target, { json }))
        refused(await as('clerk', method, target, { json }), 'vip')
        assert.ok((await as('guard', method, target, { json })).status < 300, method)
      }
    })

    spec('R169', 'hidden fields cannot be written, and cannot be guessed', async () => {
      const path = await made()
      const tag = (await as('clerk', 'GET', path)).headers.etag
      for (const json of [
        { ssn: 's-123-n' },
        { ssn: 's-124-n' },
        { ssn: null },
        { contact: { city: 'Rome' } },
        { ssn: 5 },
      ])
        refused(await as('clerk', 'PATCH', path, { json }), 'pii')
      refused(await as('clerk', 'PUT', path, { json: { name: 'A', ssn: 's-123-n' } }), 'pii')
      refused(await as('clerk', 'POST', '/patients', { json: { name: 'A', ssn: 's-123-n' } }), 'pii')
      refused(await as('guard', 'PATCH', path, { json: { doctors: ['B'] } }), 'pii')
      assert.equal((await as('clerk', 'GET', path)).headers.etag, tag)
    })

    spec('R169 R48', 'a field that needs a scope to be written can only be sent back unchanged', async () => {
      const path = await made()
      refused(await as('nurse', 'PATCH', path, { json: { level: 'plain' } }), 'vip')
      refused(await as('nurse', 'PUT', path, { json: { name: 'A', level: 'plain' } }), 'vip')
      refused(await as('nurse', 'POST', '/patients', { json: { name: 'A', level: 'vip' } }), 'vip')
      refused(await as('nurse', 'PATCH', path, { json: { doctors: [] } }), 'vip')
      assert.equal((await as('nurse', 'PATCH', path, { json: { level: 'vip', name: 'C' } })).json.name, 'C')
      const seen = (await as('nurse', 'GET', path)).json
      assert.equal((await as('nurse', 'PUT', path, { json: seen })).status, 200)
      assert.equal((await as('nurse', 'POST', '/patients', { json: { name: 'A', level: 'plain' } })).status, 201)
      assert.equal((await as('chief', 'PATCH', path, { json: { level: 'plain', doctors: [] } })).json.level, 'plain')
    })

    spec('R111 R110', 'a PUT keeps what its caller cannot see or cannot write', async () => {
      const path = await made({ ...whole, secret: 's' })
      const put = await as('clerk', 'PUT', path, { json: { name: 'New' } })
      assert.deepEqual([put.status, put.json.name], [200, 'New'])
      const kept = (await as('chief', 'GET', path)).json
      assert.deepEqual([kept.ssn, kept.contact, kept.level, kept.doctors], ['s-123-n', whole.contact, 'vip', ['B']])
      const fresh = await as('clerk', 'PUT', '/patients/pat_01h455vb4pex5vsknk084sn02q', { json: { name: 'Fresh' } })
      assert.equal(fresh.status, 201)
      const { ssn, level, doctors } = (await as('chief', 'GET', '/patients/pat_01h455vb4pex5vsknk084sn02q')).json
      assert.deepEqual([ssn, level, doctors], [null, 'plain', []])
      const emptied = await as('chief', 'PUT', path, { json: { name: 'New' } })
      assert.deepEqual([emptied.json.ssn, emptied.json.level], [null, 'plain'])
    })

    spec('R169', 'the refusal names the field and every scope it takes', async () => {
      const answer = await as('clerk', 'PATCH', await made(), { json: { doctors: ['C'] } })
      refused(answer, 'pii vip')
      assert.match(answer.json.message, /doctors.*pii and vip/)
    })

    spec('R169', 'a field that takes one scope to be read and to be written names it once', async () => {
      const answer = await as('clerk', 'POST', '/wishes', { json: { text: 'a', price: 1 } })
      refused(answer, 'pii')
      assert.match(answer.json.message, /price needs the scope pii, which/)
      const { json } = await door.send('GET', '/openapi.json')
      assert.equal(json.components.schemas.WishCreate.properties.price.description, 'Takes the scope pii.')
    })
  },
  { holders },
)
