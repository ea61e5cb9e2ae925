/** Part 4 of the contract, methods: deletion; and part 7: the answers for deleted items. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text() }
const day = 86_400_000

const depot = service({
  name: 'depot',
  resources: {
    boxes: { prefix: 'box', fields, access: 'public' },
    lids: { prefix: 'lid', parent: 'boxes', fields, access: 'public' },
    codes: { key: 'code', fields: { code: f.text({ max: 9 }), name: f.text({ default: 'x' }) }, access: 'public' },
    plain: { prefix: 'pla', plural: true, fields, access: 'public', settings: { deleted: { status: 404 } } },
    strict: { prefix: 'str', plural: true, fields, access: 'public', settings: { delete: { repeat: 'gone' } } },
    silent: {
      prefix: 'sil',
      plural: true,
      fields,
      access: 'public',
      settings: { delete: { repeat: 'gone' }, deleted: { status: 404 } },
    },
    lost: { prefix: 'los', plural: true, fields, access: 'public', settings: { missing: { status: 410 } } },
    leaves: { prefix: 'lea', fields, access: 'public', methods: ['create', 'remove'] },
    brief: {
      prefix: 'bri',
      plural: true,
      fields,
      access: 'public',
      settings: { deleted: { retention: 'P90D' }, resource: { id: 'client' } },
    },
    fleeting: {
      prefix: 'fle',
      plural: true,
      fields,
      access: 'public',
      settings: { deleted: { retention: 'PT0S' }, resource: { id: 'client' } },
    },
    lasting: { prefix: 'las', plural: true, fields, access: 'public', settings: { resource: { id: 'client' } } },
    stages: { prefix: 'stg', fields, access: 'public', settings: { deleted: { retention: 'P30D' } } },
    seats: {
      parent: { resource: 'stages', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.integer(), name: f.text({ default: 'x' }) },
      access: 'public',
      settings: { deleted: { retention: 'P10D' }, resource: { putRevives: 'on' } },
    },
  },
})

async function make(door: Door, collection: string, json: object = { name: 'A' }): Promise<string> {
  const answer = await door.send('POST', `/${collection}`, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.headers.location as string
}

/** The status and the type of an answer. */
async function asks(door: Door, method: string, path: string, json?: object): Promise<string> {
  const answer = await door.send(method, path, json === undefined ? {} : { json })
  return answer.json?.type ? `${answer.status} ${answer.json.type}` : String(answer.status)
}

const nothing = (prefix: string): string => `${prefix}_00000000000000000000000000`

doors('deleting', depot, (door) => {
  spec('R131', 'DELETE answers 204 without content, Content-Length and Content-Type', async () => {
    const answer = await door.send('DELETE', await make(door, 'boxes'))
    assert.deepEqual([answer.status, answer.text], [204, ''])
    for (const name of [
      'content-length',
      'content-type',
      'transfer-encoding',
      'etag',
      'last-modified',
      'content-location',
    ])
      assert.equal(answer.headers[name], undefined, name)
  })

  spec('R131 R12', 'a collection cannot be deleted', async () => {
    for (const path of ['/boxes', '/boxes?name=A', '/lids']) {
      const answer = await door.send('DELETE', path)
      assert.deepEqual([answer.status, answer.json.type], [405, 'method-not-allowed'])
    }
    assert.equal((await door.send('DELETE', '/boxes')).headers.allow, 'GET, HEAD, OPTIONS, POST')
  })

  spec('R132 R5', 'after deletion the item answers 410 and is in no list', async () => {
    const path = await make(door, 'boxes')
    await door
      .send('POST', `${path}/lids`, { json: { name: 'L' } })
      .then(({ headers }) => door.send('DELETE', headers.location as string))
    await door.send('DELETE', path)
    const answer = await door.send('GET', path)
    assert.deepEqual([answer.status, answer.json.types], [410, ['resource-deleted', 'gone', 'client-error', 'error']])
    assert.equal(answer.json.message, `Box ${path.slice('/boxes/'.length)} was deleted.`)
    assert.equal((await door.send('HEAD', path)).status, 410)
    assert.equal((await door.send('GET', `${path}/lids`)).status, 410)
    assert.equal(await asks(door, 'POST', `${path}/lids`, { name: 'L' }), '410 resource-deleted')
    const list = (await door.send('GET', '/boxes?page_size=100')).json
    assert.ok(!list.data.some(({ id }: { id: string }) => path.endsWith(id)))
  })

  spec('R133', 'a repeated DELETE answers 204 again, and 404 for an item that never existed', async () => {
    const path = await make(door, 'boxes')
    for (let n = 0; n < 3; n++) assert.equal(await asks(door, 'DELETE', path), '204')
    assert.equal(await asks(door, 'GET', path), '410 resource-deleted')
    for (const id of [nothing('box'), nothing('lid'), 'foo', 'BOX_00000000000000000000000000'])
      assert.equal(await asks(door, 'DELETE', `/boxes/${id}`), '404 resource-not-found', id)
    assert.equal(await asks(door, 'DELETE', '/codes/none'), '404 resource-not-found')
  })

  spec('R133', 'where declared, a repeated DELETE answers 410', async () => {
    const path = await make(door, 'strict')
    assert.deepEqual(
      [await asks(door, 'DELETE', path), await asks(door, 'DELETE', path)],
      ['204', '410 resource-deleted'],
    )
    const silent = await make(door, 'silent')
    assert.deepEqual(
      [await asks(door, 'DELETE', silent), await asks(door, 'DELETE', silent)],
      ['204', '404 resource-not-found'],
    )
  })

  spec('R134', 'with 410 turned off, a deleted item is not found', async () => {
    const path = await make(door, 'plain')
    assert.equal(await asks(door, 'DELETE', path), '204')
    for (const method of ['GET', 'PUT', 'PATCH'])
      assert.equal(
        await asks(door, method, path, method === 'GET' ? undefined : { name: 'B' }),
        '404 resource-not-found',
        method,
      )
    assert.equal(await asks(door, 'DELETE', path), '204')
  })

  spec('R135', 'the error type distinguishes a missing item from an undeclared path', async () => {
    assert.equal(await asks(door, 'GET', `/boxes/${nothing('box')}`), '404 resource-not-found')
    assert.equal(await asks(door, 'GET', '/boxen'), '404 route-not-found')
    assert.equal(await asks(door, 'GET', `/boxes/${nothing('box')}/lids`), '404 resource-not-found')
    assert.equal(await asks(door, 'GET', `/boxes/${nothing('box')}/locks`), '404 route-not-found')
    const { message } = (await door.send('GET', `/boxes/${nothing('box')}`)).json
    assert.equal(message, `Box ${nothing('box')} was not found.`)
  })

  spec('R135', 'where declared, a missing item answers 410', async () => {
    const path = `/lost/${nothing('los')}`
    for (const method of ['GET', 'PATCH', 'DELETE'])
      assert.equal(await asks(door, method, path, method === 'PATCH' ? {} : undefined), '410 gone', method)
    assert.deepEqual((await door.send('GET', path)).json.types, ['gone', 'client-error', 'error'])
    assert.equal(await asks(door, 'GET', '/lost/foo'), '410 gone')
    assert.equal(await asks(door, 'PUT', path, { name: 'A' }), '201')
    assert.equal(await asks(door, 'DELETE', path), '204')
    assert.equal(await asks(door, 'GET', path), '410 resource-deleted')
  })

  spec('R133 R12', 'an item that cannot be read can be deleted', async () => {
    const path = await make(door, 'leaves')
    assert.equal(await asks(door, 'GET', path), '405 method-not-allowed')
    assert.equal(await asks(door, 'DELETE', path), '204')
    assert.equal(await asks(door, 'DELETE', path), '204')
  })
})

let time = Date.UTC(2026, 0, 1)

doors(
  'remembering deletions',
  depot,
  (door) => {
    spec('R134', 'a deletion is remembered for ever by default', async () => {
      const path = await make(door, 'lasting', { id: 'las_one', name: 'A' })
      await door.send('DELETE', path)
      time += 100_000 * day
      assert.equal(await asks(door, 'GET', path), '410 resource-deleted')
      assert.equal(await asks(door, 'POST', '/lasting', { id: 'las_one', name: 'A' }), '410 resource-deleted')
      time -= 100_000 * day
    })

    spec('R134', 'with a retention the item is not found after that time, and not before', async () => {
      const path = await make(door, 'brief')
      await door.send('DELETE', path)
      time += 90 * day - 1
      for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])
        assert.equal(
          (await asks(door, method, path, method.startsWith('P') ? { name: 'B' } : undefined)).slice(0, 3),
          method === 'DELETE' ? '204' : '410',
        )
      time += 1
      for (const method of ['GET', 'PATCH', 'DELETE'])
        assert.equal(
          await asks(door, method, path, method === 'PATCH' ? { name: 'B' } : undefined),
          '404 resource-not-found',
          method,
        )
    })

    spec(
      'R134 R91',
      'an identifier that is free at once is created in the same millisecond with a new tag',
      async () => {
        const tags = new Set<string>()
        for (const name of ['A', 'B', 'C']) {
          const made = await door.send('POST', '/fleeting', { json: { id: 'fle_again', name } })
          assert.equal(made.status, 201, made.text)
          tags.add(made.headers.etag as string)
          assert.equal(await asks(door, 'DELETE', '/fleeting/fle_again'), '204')
          assert.equal(await asks(door, 'GET', '/fleeting/fle_again'), '404 resource-not-found')
        }
        assert.equal(tags.size, 3)
      },
    )

    spec('R134 R91', 'a forgotten identifier is free again, and its tags are new', async () => {
      const json = { id: 'bri_again', name: 'A' }
      const first = await door.send('POST', '/brief', { json })
      const second = await door.send('PATCH', '/brief/bri_again', { json: { name: 'B' } })
      await door.send('DELETE', '/brief/bri_again')
      assert.equal(await asks(door, 'POST', '/brief', json), '410 resource-deleted')
      assert.equal(await asks(door, 'PUT', '/brief/bri_again', { name: 'A' }), '410 resource-deleted')
      time += 90 * day
      const again = await door.send('POST', '/brief', { json })
      assert.equal(again.status, 201)
      assert.ok(![first.headers.etag, second.headers.etag].includes(again.headers.etag))
      const stale = await door.send('GET', '/brief/bri_again', {
        headers: { 'if-none-match': first.headers.etag as string },
      })
      assert.equal(stale.status, 200)
      assert.equal(await asks(door, 'DELETE', '/brief/bri_again'), '204')
      assert.equal(await asks(door, 'GET', '/brief/bri_again'), '410 resource-deleted')
      time += 90 * day
      assert.equal(await asks(door, 'PUT', '/brief/bri_again', { name: 'C' }), '201')
      assert.equal(await asks(door, 'DELETE', '/brief/bri_again'), '204')
    })

    spec('R134 R136', 'an owner and its children are each remembered by their own rule', async () => {
      const stage = await make(door, 'stages')
      assert.equal(await asks(door, 'PUT', `${stage}/seats/1`, {}), '201')
      assert.equal(await asks(door, 'PUT', `${stage}/seats/2`, {}), '201')
      await door.send('DELETE', `${stage}/seats/1`)
      assert.equal(await asks(door, 'GET', `${stage}/seats/1`), '410 resource-deleted')
      time += 10 * day
      assert.equal(await asks(door, 'GET', `${stage}/seats/1`), '404 resource-not-found')
      assert.equal(await asks(door, 'PUT', `${stage}/seats/1`, {}), '201')
      await door.send('DELETE', stage)
      assert.equal(await asks(door, 'GET', `${stage}/seats/1`), '410 resource-deleted')
      time += 29 * day
      assert.match((await door.send('GET', `${stage}/seats/1`)).json.message, /^Stage /)
      assert.equal(await asks(door, 'GET', `${stage}/seats`), '410 resource-deleted')
      assert.equal(await asks(door, 'POST', `${stage}/seats`, { number: 3 }), '410 resource-deleted')
      time += day
      assert.equal(await asks(door, 'GET', `${stage}/seats`), '404 resource-not-found')
      assert.equal(await asks(door, 'POST', `${stage}/seats`, { number: 3 }), '404 resource-not-found')
    })

    spec('R134', 'answers about many deletions stay right while the oldest ones are forgotten', async () => {
      const paths: string[] = []
      for (let n = 0; n < 40; n++) {
        paths.push(await make(door, 'brief', { id: `bri_many${n}`, name: 'A' }))
        await door.send('DELETE', paths[n] as string)
        time += 10 * day
      }
      for (const [n, path] of paths.entries())
        assert.equal(await asks(door, 'GET', path), n > 31 ? '410 resource-deleted' : '404 resource-not-found', path)
    })
  },
  { now: () => time },
)
