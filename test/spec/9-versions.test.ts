import assert from 'node:assert/strict'
import { before } from 'node:test'
import { type Answer, type Door, doors, type Sent, spec } from '../help/door.ts'
import history from '../help/history.ts'

/** The ways to name a version in a request. */
const carriers: readonly (readonly [name: string, ask: (label: string, path: string) => [string, Sent]])[] = [
  ['path', (label, path) => [`/${label}${path}`, {}]],
  ['query', (label, path) => [`${path}${path.includes('?') ? '&' : '?'}version=${label}`, {}]],
  ['header', (label, path) => [path, { headers: { version: label } }]],
]

const ids = (answer: Answer): string[] => answer.json.data.map(({ id }: { id: string }) => id)

async function made(door: Door, path: string, json: object): Promise<Record<string, string>> {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

doors('four versions', history, (door) => {
  let account: Record<string, string>
  let ann: Record<string, string>
  let bob: Record<string, string>
  before(async () => {
    account = await made(door, '/v4/accounts', { country: 'IT' })
    const other = await made(door, '/v4/accounts', { country: 'FR' })
    ann = await made(door, '/v4/customers', {
      name: 'Ann Lee Jones',
      email: 'ann@example.com',
      accountId: account.id,
      score: 5,
      note: 'kept',
      metadata: { a: '1' },
    })
    bob = await made(door, '/v1/clients', {
      firstName: 'Bob',
      lastName: 'Ray',
      mail: 'bob@example.com',
      status: 'shut',
      accountId: other.id,
      score: 9,
      country: 'FR',
    })
  })

  spec('R188 R193 R196', 'each carrier gives the same item, as its version has it', async () => {
    const { id, createdAt, updatedAt } = ann
    const end = { createdAt, updatedAt }
    const base = { accountId: account.id, score: 5 }
    const wanted = {
      v1: {
        id,
        firstName: 'Ann',
        lastName: 'Lee Jones',
        mail: 'ann@example.com',
        status: 'open',
        ...base,
        metadata: { a: '1' },
        country: 'IT',
        ...end,
      },
      v2: {
        id,
        name: 'Ann Lee Jones',
        email: 'ann@example.com',
        status: 'open',
        ...base,
        note: 'kept',
        metadata: { a: '1' },
        country: 'IT',
        ...end,
      },
      v3: {
        id,
        name: 'Ann Lee Jones',
        email: 'ann@example.com',
        status: 'active',
        ...base,
        note: 'kept',
        metadata: { a: '1' },
        country: 'IT',
        ...end,
      },
      v4: {
        id,
        name: 'Ann Lee Jones',
        email: 'ann@example.com',
        status: 'active',
        ...base,
        note: 'kept',
        metadata: { a: '1' },
        ...end,
      },
    }
    const tags = new Set<string>()
    for (const [label, document] of Object.entries(wanted)) {
      const path = `/${label === 'v1' ? 'clients' : 'customers'}/${id}`
      for (const [name, ask] of carriers) {
        const [target, sent] = ask(label, path)
        const answer = await door.send('GET', target, sent)
        assert.equal(answer.text, JSON.stringify(document), `${label} by ${name}`)
        assert.equal(answer.headers.version, label)
        const head = await door.send('HEAD', target, sent)
        assert.deepEqual([head.status, head.headers.etag, head.text], [200, answer.headers.etag, ''])
        const same = await door.send('GET', target, {
          headers: { ...sent.headers, 'if-none-match': answer.headers.etag as string },
        })
        assert.deepEqual([same.status, same.headers.version, same.headers.etag], [304, label, answer.headers.etag])
        tags.add(answer.headers.etag as string)
      }
      assert.equal((await door.send('OPTIONS', `/${label}${path}`)).headers.version, label)
    }
    assert.equal(tags.size, 4)
  })

  spec('R192', 'without a named version it is the first one', async () => {
    const answer = await door.send('GET', `/clients/${ann.id}`)
    assert.deepEqual([answer.status, answer.headers.version, answer.json.firstName], [200, 'v1', 'Ann'])
  })

  spec('R145 R189', 'labels that name no version are refused', async () => {
    for (const path of ['/v9/clients', '/v02/clients', '/v0/clients']) {
      const { status, json } = await door.send('GET', path)
      assert.deepEqual([status, json.type], [404, 'unknown-version'], path)
    }
    for (const label of ['2', 'V2', 'v2.1', '', 'v9', 'v02']) {
      const { status, json } = await door.send('GET', `/clients?version=${label}`)
      assert.deepEqual([status, json.type], [400, 'unsupported-version'], label)
      assert.match(json.message, /v1, v2, v3 and v4/)
    }
    const refused = await door.send('GET', '/clients', { headers: { version: 'v9' } })
    assert.deepEqual(
      [refused.json.type, refused.headers.vary],
      ['unsupported-version', 'Accept-Encoding, Accept, version'],
    )
    assert.equal((await door.send('GET', '/V2/customers')).json.type, 'route-not-found')
  })

  spec('R190 R155', 'versions in several places have to agree', async () => {
    const conflict = [
      ['/v1/clients', 'v2'],
      ['/v1/clients?version=v2', ''],
      ['/clients?version=v1', 'v2'],
      ['/clients', 'v1, v2'],
    ] as const
    for (const [path, version] of conflict) {
      const { status, json } = await door.send('GET', path, version === '' ? {} : { headers: { version } })
      assert.deepEqual([status, json.type], [400, 'version-conflict'], `${path} ${version}`)
      assert.deepEqual([json.in, json.name], [version === '' ? 'query' : 'header', 'version'])
    }
    assert.equal((await door.send('GET', '/v1/clients?version=v1', { headers: { version: 'v1, v1' } })).status, 200)
    assert.equal((await door.send('GET', '/clients?version=v1&version=v1')).json.errors[0].type, 'repeated-parameter')
  })

  spec('R15 R190', 'the content of QUERY cannot name a version', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const path of ['/clients', '/v1/clients', '/clients?version=v1'])
      for (const label of ['v1', 'v3', 'v9']) {
        const { status, json } = await door.send('QUERY', path, { body: `version=${label}`, headers })
        assert.deepEqual([status, json.errors[0].type, json.errors[0].name], [400, 'unknown-parameter', 'version'])
      }
    const answer = await door.send('QUERY', '/customers?version=v3', { body: 'limit=1', headers })
    assert.deepEqual([answer.status, answer.headers.version], [200, 'v3'])
  })

  spec(
    'R194',
    'a resource that begins later does not exist in earlier versions, and unchanged ones work in all',
    async () => {
      assert.equal((await door.send('GET', '/v2/refunds')).status, 404)
      assert.equal((await door.send('GET', '/v3/refunds')).status, 200)
      assert.equal((await door.send('GET', '/v2/clients')).status, 404)
      const refused = await door.send('DELETE', `/v1/clients/${ann.id}`)
      assert.deepEqual([refused.status, refused.headers.allow], [405, 'GET, HEAD, OPTIONS, PUT, PATCH'])
      assert.equal((await door.send('GET', `/v4/accounts/${account.id}`)).json.country, 'IT')
    },
  )

  spec('R197', 'paths outside of the versioned interface have no version', async () => {
    const healthy = await door.send('GET', '/healthz', { headers: { version: 'v9' } })
    assert.deepEqual([healthy.status, healthy.headers.version], [200, undefined])
    assert.equal((await door.send('GET', '/v1/healthz')).status, 404)
  })

  spec('R49 R86', 'links keep the version as it was named by the path or the query', async () => {
    for (const [name, ask] of carriers) {
      const [target, sent] = ask('v1', '/clients?limit=1&cursor=&mail=ann@example.com')
      const { headers } = await door.send('GET', target, sent)
      const [, self] = /<([^>]*)>; rel="self"/.exec(headers.link ?? '') ?? []
      const wanted = name === 'path' ? '/v1/clients?' : '/clients?'
      assert.ok(self?.startsWith(wanted) && self.includes('version=v1') === (name === 'query'), String(self))
      const [path, how] = ask('v1', '/clients')
      const json = { firstName: name, mail: `${name}@example.com`, accountId: account.id, country: 'IT' }
      const created = await door.send('POST', path, { json, headers: how.headers ?? {} })
      assert.equal(created.status, 201, created.text)
      const location = created.headers.location as string
      assert.match(
        location,
        name === 'path' ? /^\/v1\/clients\/cus_\w+$/ : name === 'query' ? /\?version=v1$/ : /^\/clients\/cus_\w+$/,
      )
      assert.equal(created.headers['content-location'], location)
      assert.equal((await door.send('GET', location, how)).json.mail, `${name}@example.com`)
      await door.send('DELETE', `/v4/customers/${created.json.id}`)
    }
  })

  spec('R194 R196', 'filters and sorts use the names and the values of the version', async () => {
    const lists: [path: string, found: (string | undefined)[]][] = [
      ['/v1/clients?mail=bob@example.com', [bob.id]],
      ['/v1/clients?mail=in:(bob@example.com,ann@example.com)&sort=mail', [ann.id, bob.id]],
      ['/v1/clients?firstName=Ann', [ann.id]],
      ['/v1/clients?sort=lastName&order=desc', [bob.id, ann.id]],
      ['/v1/clients?status=open', [ann.id]],
      ['/v1/clients?status[ne]=open', [bob.id]],
      ['/v1/clients?status=in:(open,shut)&sort=mail', [ann.id, bob.id]],
      ['/v2/customers?status=shut', [bob.id]],
      ['/v3/customers?status=closed', [bob.id]],
      ['/v1/clients?country=FR', [bob.id]],
      ['/v3/customers?country=in:(IT,DE)', [ann.id]],
      ['/v1/clients?country[null]=false&sort=mail', [ann.id, bob.id]],
      ['/v3/customers?country[null]=true', []],
      ['/v1/clients?custom_sort=best', [bob.id, ann.id]],
      ['/v1/clients?score[gte]=6', [bob.id]],
      ['/v1/clients', [ann.id, bob.id]],
    ]
    for (const [path, found] of lists) assert.deepEqual(ids(await door.send('GET', path)), found, path)
    const queried = await door.send('QUERY', '/v1/clients', {
      body: 'status=shut&mail=bob%40example.com',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    assert.deepEqual(ids(queried), [bob.id])
  })

  spec('R194', 'parameters that a version lacks, or that can no longer be answered, are refused by name', async () => {
    const refusals: [path: string, type: string, name: string][] = [
      ['/v1/clients?email=a@example.com', 'unknown-parameter', 'email'],
      ['/v1/clients?status=active', 'invalid-parameter-value', 'status'],
      ['/v3/customers?status=open', 'invalid-parameter-value', 'status'],
      ['/v1/clients?firstName[null]=true', 'unsupported-filter', 'firstName[null]'],
      ['/v1/clients?sort=name', 'unsupported-sort', 'sort'],
      ['/v1/clients?sort=country', 'unsupported-sort', 'sort'],
    ]
    for (const [path, type, name] of refusals) {
      const { status, json } = await door.send('GET', path)
      assert.deepEqual([status, json.errors[0].type, json.errors[0].name], [400, type, name], path)
    }
  })
})
