/** Part 4 of the contract, methods: unique values of new items, including identifiers and keys. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const library = service({
  name: 'library',
  resources: {
    authors: {
      prefix: 'aut',
      fields: {
        name: f.text({ max: 50 }),
        email: f.email({ unique: true, optional: true, fold: true }),
        first: f.text({ optional: true }),
        last: f.text({ optional: true }),
      },
      uniques: [['first', 'last']],
      access: 'public',
    },
    shops: {
      prefix: 'shp',
      fields: { name: f.text(), authorId: f.ref('authors', { optional: true }) },
      access: 'public',
      settings: { resource: { id: 'client' } },
    },
    stamps: {
      prefix: 'stm',
      fields: { name: f.text() },
      access: 'public',
      settings: { resource: { id: () => `n${++made}` } },
    },
    tokens: {
      key: 'name',
      fields: { name: f.text() },
      access: 'public',
      settings: { deleted: { status: 404 } },
    },
    countries: { key: 'code', fields: { code: f.text({ max: 8 }), name: f.text() }, access: 'public' },
    shelves: { prefix: 'shf', fields: { name: f.text() }, access: 'public' },
    slots: {
      parent: 'shelves',
      key: 'number',
      fields: { number: f.integer({ min: 0, max: 999 }), note: f.text({ optional: true }) },
      access: 'public',
    },
  },
})
let made = 0

const post = (door: Door, path: string, json: object, headers: Record<string, string> = {}): Promise<Answer> =>
  door.send('POST', path, { json, headers })

async function posted(door: Door, path: string, json: object): Promise<Answer> {
  const answer = await post(door, path, json)
  assert.equal(answer.status, 201, answer.text)
  return answer
}

/** The types and places of all violations. */
const wrongs = ({ json }: Answer): string[] =>
  json.errors.map(({ type, pointer }: { type: string; pointer: string }) => `${type} ${pointer}`)

doors('uniqueness', library, (door) => {
  spec(
    'R90',
    'a value that has to be unique and is in use answers 409, naming the fields and nothing of the other resource',
    async () => {
      const first = await posted(door, '/authors', { name: 'Ann', email: 'ann@example.com' })
      for (const email of ['ann@example.com', 'ANN@Example.Com']) {
        const answer = await post(door, '/authors', { name: 'Bob', email })
        assert.equal(answer.status, 409)
        assert.deepEqual(answer.json.types, ['already-exists', 'conflict', 'client-error', 'error'])
        assert.deepEqual(wrongs(answer), ['already-exists /email'])
        assert.ok(!answer.text.includes(first.json.id) && !answer.text.toLowerCase().includes('ann@'))
        assert.equal(answer.headers.location, undefined)
      }
    },
  )

  spec('R90', 'several fields can be unique together, and absence is never in use', async () => {
    await posted(door, '/authors', { name: 'A', first: 'Ann', last: 'Lee' })
    const taken = await post(door, '/authors', { name: 'B', first: 'Ann', last: 'Lee' })
    assert.deepEqual([taken.status, wrongs(taken)], [409, ['already-exists /first', 'already-exists /last']])
    await posted(door, '/authors', { name: 'C', first: 'Ann', last: 'Kim' })
    for (const last of [null, undefined]) {
      await posted(door, '/authors', { name: 'D', first: 'Ann', last })
      await posted(door, '/authors', { name: 'E', first: 'Ann', last })
    }
  })

  spec('R90', 'a deleted or changed row frees its value', async () => {
    const [one, two] = [
      await posted(door, '/authors', { name: 'A', email: 'free@example.com' }),
      await posted(door, '/authors', { name: 'B', email: 'moved@example.com' }),
    ]
    assert.equal((await door.send('DELETE', `/authors/${one.json.id}`)).status, 204)
    await posted(door, '/authors', { name: 'C', email: 'free@example.com' })
    await door.send('PATCH', `/authors/${two.json.id}`, { json: { email: null } })
    await posted(door, '/authors', { name: 'D', email: 'moved@example.com' })
  })

  spec('R90', 'PUT and PATCH keep uniqueness too, and an item may keep its own value', async () => {
    const [one, two] = [
      await posted(door, '/authors', { name: 'A', email: 'one@example.com', first: 'F', last: 'L' }),
      await posted(door, '/authors', { name: 'B', email: 'two@example.com', first: 'F', last: 'M' }),
    ]
    const path = `/authors/${two.json.id}`
    for (const [method, json, fields] of [
      ['PATCH', { email: 'One@example.com' }, ['already-exists /email']],
      ['PATCH', { last: 'L' }, ['already-exists /first', 'already-exists /last']],
      ['PUT', { name: 'B', email: 'one@example.com' }, ['already-exists /email']],
    ] as const) {
      const answer = await door.send(method, path, { json })
      assert.deepEqual([answer.status, wrongs(answer)], [409, fields])
    }
    assert.equal((await door.send('GET', path)).text, two.text)
    const own = await door.send('PATCH', `/authors/${one.json.id}`, { json: { email: 'ONE@example.com' } })
    assert.deepEqual([own.status, own.json.email], [200, 'ONE@example.com'])
  })
})

doors('identifiers', library, (door) => {
  spec('R91', 'where clients choose identifiers, one in use answers 409 and a deleted one 410', async () => {
    const first = await posted(door, '/shops', { id: 'shp_one', name: 'One' })
    assert.deepEqual([first.json.id, first.headers.location], ['shp_one', '/shops/shp_one'])
    const again = await post(door, '/shops', { id: 'shp_one', name: 'Other' })
    assert.deepEqual([again.status, again.json.type, wrongs(again)], [409, 'already-exists', ['already-exists /id']])
    assert.equal((await door.send('GET', '/shops/shp_one')).json.name, 'One')
    await door.send('DELETE', '/shops/shp_one')
    const late = await post(door, '/shops', { id: 'shp_one', name: 'One' })
    assert.deepEqual([late.status, late.json.type], [410, 'resource-deleted'])
    assert.equal((await door.send('GET', '/shops/shp_one')).status, 410)
  })

  spec(
    'R91',
    'an identifier that is left out is made by the service, and one that cannot be one is refused',
    async () => {
      assert.match((await posted(door, '/shops', { name: 'One' })).json.id, /^shp_[0-7][0-9a-z]{25}$/)
      for (const [id, type] of [
        ['two', 'invalid-format'],
        ['cus_two', 'invalid-format'],
        ['shp_', 'invalid-format'],
        ['shp_a/b', 'invalid-format'],
        ['shp_a b', 'invalid-format'],
        [`shp_${'x'.repeat(300)}`, 'invalid-format'],
        [2, 'invalid-type'],
        [null, 'invalid-type'],
      ] as const) {
        const answer = await post(door, '/shops', { id, name: 'One' })
        assert.deepEqual([answer.status, wrongs(answer)], [400, [`${type} /id`]], String(id))
      }
    },
  )

  spec('R91', 'an invalid field is reported before an identifier that is in use', async () => {
    await posted(door, '/shops', { id: 'shp_used', name: 'One' })
    const answer = await post(door, '/shops', {
      id: 'shp_used',
      name: 'One',
      authorId: 'aut_00000000000000000000000000',
    })
    assert.deepEqual([answer.status, wrongs(answer)], [400, ['invalid-value /authorId']])
  })

  spec('R36', 'a declared generator makes the part after the prefix', async () => {
    const before = made
    const answer = await posted(door, '/stamps', { name: 'One' })
    assert.equal(answer.json.id, `stm_n${before + 1}`)
    assert.equal((await door.send('GET', `/stamps/stm_n${before + 1}`)).text, answer.text)
    made = before
    const clash = await post(door, '/stamps', { name: 'Two' })
    assert.deepEqual([clash.status, clash.json.type], [500, 'internal-error'])
  })

  spec('R91 R90', 'a key comes from the body, is unique, and is not free again once deleted', async () => {
    const first = await posted(door, '/countries', { code: 'IT', name: 'Italy' })
    assert.deepEqual([first.json.id, first.json.code], ['IT', 'IT'])
    const again = await post(door, '/countries', { code: 'IT', name: 'Other' })
    assert.deepEqual([again.status, wrongs(again)], [409, ['already-exists /code']])
    assert.equal((await door.send('DELETE', '/countries/IT')).status, 204)
    assert.equal((await post(door, '/countries', { code: 'IT', name: 'Italy' })).status, 410)
    assert.deepEqual(wrongs(await post(door, '/countries', { name: 'Nowhere' })), ['field-required /code'])
    assert.deepEqual(wrongs(await post(door, '/countries', { code: '', name: 'N' })), ['invalid-value /code'])
  })

  spec('R91 R134', 'where 410 is turned off, a deleted key is in use', async () => {
    await posted(door, '/tokens', { name: 't' })
    await door.send('DELETE', '/tokens/t')
    assert.equal((await door.send('GET', '/tokens/t')).status, 404)
    const again = await post(door, '/tokens', { name: 't' })
    assert.deepEqual([again.status, wrongs(again)], [409, ['already-exists /name']])
    assert.equal((await door.send('PUT', '/tokens/t', { json: {} })).status, 404)
  })

  spec('R91 R4', 'a composite key is unique below its parent only', async () => {
    const [one, two] = [
      (await posted(door, '/shelves', { name: '1' })).json.id,
      (await posted(door, '/shelves', { name: '2' })).json.id,
    ]
    await posted(door, `/shelves/${one}/slots`, { number: 5 })
    const again = await post(door, `/shelves/${one}/slots`, { number: 5 })
    assert.deepEqual([again.status, wrongs(again)], [409, ['already-exists /number']])
    await posted(door, `/shelves/${two}/slots`, { number: 5 })
    await door.send('DELETE', `/shelves/${one}/slots/5`)
    assert.equal((await post(door, `/shelves/${one}/slots`, { number: 5 })).status, 410)
    assert.equal((await door.send('GET', `/shelves/${two}/slots/5`)).status, 200)
    assert.equal((await door.send('GET', `/shelves/${two}/slots/05`)).status, 404)
  })
})
