/** Part 2 of the contract: fields that the service sets, fields that it never shows, and fields that it does not know. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import fc from 'fast-check'
import { type Answer, type Door, doors, type Sent, spec } from '../help/door.ts'
import { runsOf } from '../help/runs.ts'
import { codePoint } from '../help/unit.ts'
import { created, wrong } from '../help/verdict.ts'

const resources = {
  clubs: {
    prefix: 'clb',
    fields: {
      name: f.text(),
      home: f.object({ city: f.text(), zip: f.text({ optional: true }) }, { optional: true }),
      marks: f.metadata(),
      score: f.integer({ readOnly: true, default: 7 }),
      rank: f.text({ readOnly: true, optional: true }),
    },
    access: 'public',
  },
  members: { prefix: 'mem', parent: 'clubs', fields: { name: f.text() }, access: 'public' },
  seats: {
    parent: 'clubs',
    key: 'row',
    fields: { row: f.integer({ min: 1 }), note: f.text({ optional: true }) },
    access: 'public',
  },
  accounts: {
    prefix: 'acc',
    fields: {
      name: f.text(),
      password: f.text({ writeOnly: true, min: 8, max: 40 }),
      pin: f.integer({ writeOnly: true, optional: true }),
      apiKey: f.text({ writeOnly: true, immutable: true, optional: true }),
      answers: f.list(f.text(), { writeOnly: true }),
      recovery: f.object({ phrase: f.text() }, { writeOnly: true, optional: true }),
    },
    access: 'public',
  },
} as const

const strict = service({ name: 'strict', resources })
const lax = service({ name: 'lax', resources, settings: { body: { unknownFields: 'ignore' } } })

const withClub = async (door: Door): Promise<Answer> => created(door, '/clubs', { name: 'a', home: { city: 'Rome' } })

doors('managed fields', strict, (door) => {
  spec('R48', 'an unmodified fetched object can be sent back, again and again', async () => {
    const { headers, json } = await withClub(door)
    const path = headers.location as string
    for (let i = 0; i < 2; i++) {
      const answer = await door.send('PUT', path, { json })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(answer.json, json)
      assert.equal(answer.headers.etag, headers.etag)
    }
    assert.deepEqual((await door.send('PATCH', path, { json })).json, json)
  })

  spec('R48 R112', 'that holds for any values, in any order of the members', async () => {
    const text = fc.string({ unit: codePoint, maxLength: 30 }).filter((one) => !one.includes('\0'))
    const key = text.filter((one) => one !== '')
    const club = fc.record({
      name: text,
      home: fc.option(fc.record({ city: text, zip: fc.option(text) })),
      marks: fc.dictionary(key, text, { maxKeys: 5 }),
    })
    const turned = (value: object) => Object.fromEntries(Object.entries(value).reverse())
    await fc.assert(
      fc.asyncProperty(club, async (given) => {
        const { headers, json } = await created(door, '/clubs', given)
        const path = headers.location as string
        for (const body of [json, turned({ ...json, marks: turned(json.marks) })]) {
          const { status, headers: answered, text } = await door.send('PUT', path, { json: body })
          assert.deepEqual([status, answered.etag, text], [200, headers.etag, JSON.stringify(json)])
        }
      }),
      { numRuns: runsOf(50) },
    )
  })

  spec('R48', 'managed fields are ignored on PUT and PATCH, with any value', async () => {
    const { headers, json } = await withClub(door)
    const path = headers.location as string
    const values = [null, 5, 'x', '2000-01-01T00:00:00.000Z', {}, [], true]
    for (const value of values) {
      const given = { createdAt: value, updatedAt: value, score: value, rank: value, _links: value }
      const put = await door.send('PUT', path, { json: { name: 'a', home: { city: 'Rome' }, ...given } })
      assert.deepEqual(put.json, json)
      assert.deepEqual((await door.send('PATCH', path, { json: given })).json, json)
    }
    assert.equal((await door.send('GET', path)).headers.etag, headers.etag)
    const fresh = '/clubs/clb_01h455vb4pex5vsknk084sn02q'
    const made = await door.send('PUT', fresh, {
      json: { name: 'b', createdAt: '2000-01-01T00:00:00.000Z', score: 100, rank: 'x' },
    })
    assert.deepEqual([made.status, made.json.score, made.json.rank], [201, 7, null])
    assert.ok(made.json.createdAt > '2026')
  })

  spec('R48', 'a creating POST refuses every field that the service sets, all at once', async () => {
    const names = ['id', 'createdAt', 'updatedAt', 'score', 'rank', '_links']
    const json = { name: 'a', ...Object.fromEntries(names.map((name) => [name, null])) }
    assert.deepEqual(
      wrong(await door.send('POST', '/clubs', { json })),
      names.map((name) => `read-only-field /${name}`),
    )
    for (const value of ['clb_01h455vb4pex5vsknk084sn02q', 5, 'x'])
      assert.deepEqual(wrong(await door.send('POST', '/clubs', { json: { name: 'a', id: value } })), [
        'read-only-field /id',
      ])
  })

  spec('R48', 'the id in a body has to be that of the item', async () => {
    const { headers, json } = await withClub(door)
    const path = headers.location as string
    for (const id of ['clb_01h455vb4pex5vsknk084sn02q', json.id.toUpperCase(), `${json.id} `, null, 5, [json.id], ''])
      for (const method of ['PUT', 'PATCH'])
        assert.deepEqual(wrong(await door.send(method, path, { json: { ...json, id } })), ['read-only-field /id'])
    const other = '/clubs/clb_01h455vb4pex5vsknk084sn02r'
    assert.deepEqual(wrong(await door.send('PUT', other, { json: { name: 'b', id: json.id } })), [
      'read-only-field /id',
    ])
    assert.equal((await door.send('GET', other)).status, 404)
  })

  spec('R48', 'the owner of a child in a body has to be its own', async () => {
    const [one, two] = [await withClub(door), await withClub(door)]
    const { headers, json } = await created(door, `${one.headers.location}/members`, { name: 'a' })
    assert.equal(json.clubId, one.json.id)
    const path = headers.location as string
    assert.equal(path, `/members/${json.id}`)
    for (const method of ['PUT', 'PATCH']) {
      assert.deepEqual((await door.send(method, path, { json })).json, json)
      for (const clubId of [two.json.id, null, 5])
        assert.deepEqual(wrong(await door.send(method, path, { json: { ...json, clubId } })), [
          'read-only-field /clubId',
        ])
    }
    const sent = { json: { name: 'a', clubId: one.json.id } }
    assert.deepEqual(wrong(await door.send('POST', `${one.headers.location}/members`, sent)), [
      'read-only-field /clubId',
    ])
  })

  spec('R48', 'owner, key and id of an item with a composite key have to be those of its address', async () => {
    const [one, two] = [await withClub(door), await withClub(door)]
    const { headers, json } = await created(door, `${one.headers.location}/seats`, { row: 3 })
    assert.deepEqual([json.id, json.row, json.clubId], ['3', 3, one.json.id])
    const path = headers.location as string
    assert.equal(path, `/clubs/${one.json.id}/seats/3`)
    for (const method of ['PUT', 'PATCH']) {
      assert.deepEqual((await door.send(method, path, { json })).json, json)
      for (const [name, values] of Object.entries({
        row: [4, '3', null],
        id: ['4', 3, null],
        clubId: [two.json.id, null],
      }))
        for (const value of values)
          assert.deepEqual(wrong(await door.send(method, path, { json: { ...json, [name]: value } })), [
            `read-only-field /${name}`,
          ])
    }
    const fresh = await door.send('PUT', `/clubs/${one.json.id}/seats/5`, {
      json: { row: 5, id: '5', clubId: one.json.id },
    })
    assert.deepEqual([fresh.status, fresh.json.row], [201, 5])
    const json2 = { row: 6, id: '6', clubId: one.json.id }
    assert.deepEqual(wrong(await door.send('POST', `/clubs/${one.json.id}/seats`, { json: json2 })), [
      'read-only-field /id',
      'read-only-field /clubId',
    ])
  })

  spec('R47', 'unknown fields are refused with a guess, on every method that takes content', async () => {
    const { headers, json } = await withClub(door)
    const path = headers.location as string
    const answers = [
      await door.send('POST', '/clubs', { json: { name: 'a', nmae: 'b' } }),
      await door.send('PUT', path, { json: { ...json, nmae: 'b' } }),
      await door.send('PATCH', path, { json: { nmae: 'b' } }),
      await door.send('PATCH', path, { json: { nmae: null } }),
    ]
    for (const answer of answers) {
      assert.deepEqual(wrong(answer), ['unknown-field /nmae'])
      assert.equal(answer.json.cause.message, 'nmae is not a field here. Did you mean name?')
    }
    for (const nested of [{ home: { city: 'x', zap: 1 } }, { home: { city: 'x', zap: null } }])
      assert.deepEqual(wrong(await door.send('PATCH', path, { json: nested })), ['unknown-field /home/zap'])
  })

  spec('R42 R156', 'a write-only field is stored and never shown, by no method, list or refusal', async () => {
    const secrets = {
      password: 'correct-horse',
      pin: 8642097,
      apiKey: 'KEY-fed54',
      answers: ['Rex-dog'],
      recovery: { phrase: 'blue-moon' },
    }
    const words = ['correct-horse', '8642097', 'KEY-fed54', 'Rex-dog', 'blue-moon', 'new-password']
    const send = async (method: string, path: string, sent?: Sent) => {
      const answer = await door.send(method, path, sent)
      const all = answer.text + JSON.stringify(answer.headers)
      for (const word of words) assert.ok(!all.includes(word), `${method} tells ${word}: ${all}`)
      return answer
    }
    const made = await send('POST', '/accounts', { json: { name: 'a', ...secrets } })
    assert.deepEqual(Object.keys(made.json), ['id', 'name', 'createdAt', 'updatedAt'])
    const path = made.headers.location as string
    assert.deepEqual((await send('GET', path)).json, made.json)
    await send('HEAD', path)
    assert.deepEqual((await send('GET', '/accounts')).json.data, [made.json])
    assert.equal((await send('PUT', path, { json: { name: 'b' } })).status, 200)
    assert.equal((await send('PATCH', path, { json: { password: 'new-password', answers: ['Rex-dog'] } })).status, 200)
    assert.deepEqual(wrong(await send('PATCH', path, { json: { apiKey: 'other' } })), ['immutable-field /apiKey'])
    assert.deepEqual(wrong(await send('PATCH', path, { json: { apiKey: null } })), ['immutable-field /apiKey'])
    assert.deepEqual(wrong(await send('PATCH', path, { json: { apiKey: 'KEY-fed54' } })), ['immutable-field /apiKey'])
    assert.deepEqual(
      wrong(await send('POST', '/accounts', { json: { name: 'a', password: 'x', pin: '8642097', answers: [5] } })),
      [...['too-short /password', 'invalid-type /pin', 'invalid-type /answers/0']],
    )
    assert.deepEqual(wrong(await send('PATCH', path, { json: { password: 'correct-horse'.repeat(4) } })), [
      'too-long /password',
    ])
    const body = '{"pin":86420978642097864209,"password":"correct-horse"}'
    assert.deepEqual(wrong(await send('PATCH', path, { body, headers: { 'content-type': 'application/json' } })), [
      'out-of-range /pin',
    ])
    assert.equal((await send('PUT', path, { json: { name: 'c' }, headers: { 'if-match': '"x"' } })).status, 412)
    await send('DELETE', path)
    await send('GET', path)
  })
})

doors('unknown fields ignored', lax, (door) => {
  spec('R47', 'with body.unknownFields: ignore unknown fields are dropped at every depth', async () => {
    const sent = { name: 'a', nmae: 1, home: { city: 'Rome', zap: [1] }, '': null, 'a/b': {} }
    const { json, headers } = await created(door, '/clubs', sent)
    assert.deepEqual(Object.keys(json), ['id', 'name', 'home', 'marks', 'score', 'rank', 'createdAt', 'updatedAt'])
    assert.deepEqual(json.home, { city: 'Rome', zip: null })
    const path = headers.location as string
    assert.deepEqual((await door.send('PATCH', path, { json: { zap: 1, home: { zap: 2 } } })).json, json)
    assert.deepEqual((await door.send('PUT', path, { json: { ...json, zap: 1 } })).json, json)
    const body = '{"name":"a","__proto__":{"score":1}}'
    const lost = await door.send('POST', '/clubs', { body, headers: { 'content-type': 'application/json' } })
    assert.deepEqual([lost.status, lost.json.score], [201, 7])
  })

  spec('R47 R48', 'known fields are still checked', async () => {
    const json = { name: 5, zap: 1, score: 1, id: 'x' }
    const expected = ['invalid-type /name', 'read-only-field /score', 'read-only-field /id']
    assert.deepEqual(wrong(await door.send('POST', '/clubs', { json })), expected)
  })
})
