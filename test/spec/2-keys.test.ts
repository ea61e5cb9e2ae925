/** Part 2 of the contract: items that are identified by one of their fields, at the top level or below an owner, by any text. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import fc from 'fast-check'
import { doors, spec } from '../help/door.ts'
import { runsOf } from '../help/runs.ts'
import { codePoint } from '../help/unit.ts'
import { created, wrong } from '../help/verdict.ts'

const note = { note: f.text({ optional: true }) }

const store = service({
  name: 'store',
  resources: {
    labels: { key: 'word', fields: { word: f.text(), ...note }, access: 'public' },
    countries: { key: 'code', fields: { code: f.country({ ownMeaning: 'x' }), ...note }, access: 'public' },
    years: { key: 'year', fields: { year: f.integer({ min: 0 }), ...note }, access: 'public' },
    days: { key: 'day', fields: { day: f.date({ min: '2026-01-01' }), ...note }, access: 'public' },
    levels: { key: 'level', fields: { level: f.enum(['low', 'very high']), ...note }, access: 'public' },
    shelves: { prefix: 'shl', fields: note, access: 'public' },
    boxes: { parent: 'shelves', key: 'word', fields: { word: f.text(), ...note }, access: 'public' },
    stickers: { prefix: 'sti', parent: 'labels', fields: note, access: 'public' },
    copies: { parent: 'labels', key: 'number', fields: { number: f.integer(), ...note }, access: 'public' },
  },
})

/** Keys with the path segment that names them. */
const texts: Readonly<Record<string, string>> = {
  a: 'a',
  'a b': 'a%20b',
  ' a ': '%20a%20',
  'a/b': 'a%2Fb',
  '/': '%2F',
  'a\\b': 'a%5Cb',
  é: '%C3%A9',
  'e\u0301': 'e%CC%81',
  '😀': '%F0%9F%98%80',
  '100%': '100%25',
  '%41': '%2541',
  '%2F': '%252F',
  '%zz': '%25zz',
  'a+b': 'a%2Bb',
  'a?b=c': 'a%3Fb%3Dc',
  'a#b': 'a%23b',
  'a;b=c': 'a%3Bb%3Dc',
  'a:b@c&d=$,': 'a%3Ab%40c%26d%3D%24%2C',
  "a.json'(*)!~": "a.json'(*)!~",
  '...': '...',
  '.a': '.a',
  '"<>^`{|}': '%22%3C%3E%5E%60%7B%7C%7D',
  'a\nb\tc': 'a%0Ab%09c',
  __proto__: '__proto__',
  null: 'null',
  undefined: 'undefined',
  boxes: 'boxes',
  日本語: '%E6%97%A5%E6%9C%AC%E8%AA%9E',
  '\u202e\u200d\ufeff': '%E2%80%AE%E2%80%8D%EF%BB%BF',
}

doors('keys', store, (door) => {
  spec('R49 R87 R8', 'a key of any text has an address that names it, in Location and in every request', async () => {
    for (const [word, segment] of Object.entries(texts)) {
      const { json, headers } = await created(door, '/labels', { word })
      assert.deepEqual([json.id, json.word], [word, word])
      assert.equal(headers.location, `/labels/${segment}`)
      assert.equal(headers['content-location'], headers.location)
      const path = headers.location as string
      assert.deepEqual((await door.send('GET', path)).json, json)
      const put = await door.send('PUT', path, { json })
      assert.deepEqual([put.status, put.headers['content-location'], put.headers.etag], [200, path, headers.etag])
      assert.equal((await door.send('PATCH', path, { json: { note: 'x', id: word, word } })).json.note, 'x')
      const taken = await door.send('POST', '/labels', { json: { word } })
      assert.deepEqual([taken.status, taken.json.type, taken.json.errors[0].pointer], [409, 'already-exists', '/word'])
      assert.equal((await door.send('DELETE', path)).status, 204)
      assert.equal((await door.send('GET', path)).status, 410)
      assert.equal((await door.send('POST', '/labels', { json: { word } })).status, 410)
    }
  })

  spec('R4 R49', 'below an owner the address has both, and the id is the text of the own key', async () => {
    const owner = (await created(door, '/shelves', {})).json.id
    for (const [word, segment] of Object.entries(texts)) {
      const path = `/shelves/${owner}/boxes/${segment}`
      const put = await door.send('PUT', path, { json: { note: 'x' } })
      assert.deepEqual(
        [put.status, put.headers.location, put.json.id, put.json.word, put.json.shelfId],
        [201, path, word, word, owner],
      )
      assert.deepEqual((await door.send('GET', path)).json, put.json)
    }
    const other = (await created(door, '/shelves', {})).json.id
    assert.equal((await door.send('GET', `/shelves/${other}/boxes/a`)).status, 404)
    assert.equal(
      (await created(door, `/shelves/${other}/boxes`, { word: 'a' })).headers.location,
      `/shelves/${other}/boxes/a`,
    )
    assert.equal((await door.send('GET', `/boxes/a`)).status, 404)
  })

  spec('R8 R9', 'a key that no address can hold is refused', async () => {
    for (const word of ['', '.', '..'])
      assert.deepEqual(wrong(await door.send('POST', '/labels', { json: { word } })), ['invalid-value /word'])
    assert.deepEqual(wrong(await door.send('POST', '/labels', { json: { word: 'x'.repeat(256) } })), ['too-long /word'])
    assert.deepEqual(wrong(await door.send('POST', '/labels', { json: {} })), ['field-required /word'])
    assert.deepEqual(wrong(await door.send('POST', '/labels', { json: { word: null } })), ['field-required /word'])
    assert.deepEqual(wrong(await door.send('POST', '/labels', { json: { word: 'a', id: 'a' } })), [
      'read-only-field /id',
    ])
    const { json, headers } = await created(door, '/labels', { word: '😀'.repeat(255) })
    assert.deepEqual((await door.send('GET', headers.location as string)).json, json)
    for (const segment of ['a%00b', 'x'.repeat(256), 'x'.repeat(3000)]) {
      assert.equal((await door.send('GET', `/labels/${segment}`)).status, 404)
      assert.equal((await door.send('PUT', `/labels/${segment}`, { json: {} })).status, 404)
    }
    assert.equal((await door.send('GET', '/labels/%FF')).json.type, 'invalid-url-encoding')
  })

  spec('R9 R35', 'a key of another kind is a text in addresses and in the id, in its one form only', async () => {
    const rows: [path: string, name: string, key: unknown, segment: string, odd: string[]][] = [
      ['/countries', 'code', 'IT', 'IT', ['it', 'XX', 'ITA', ' IT']],
      [
        '/years',
        'year',
        2026,
        '2026',
        ['02026', '2026.0', '2.026e3', '+2026', ' 2026', '0x7EA', '-1', '-0', 'x', '9007199254740993'],
      ],
      ['/days', 'day', '2026-02-28', '2026-02-28', ['2026-02-29', '2025-12-31', '20260228', 'x']],
      ['/levels', 'level', 'very high', 'very%20high', ['VERY HIGH', 'high', 'toString']],
    ]
    for (const [path, name, key, segment, odd] of rows) {
      const { json, headers } = await created(door, path, { [name]: key })
      assert.deepEqual([json.id, json[name], headers.location], [String(key), key, `${path}/${segment}`])
      assert.deepEqual((await door.send('GET', `${path}/${segment}`)).json, json)
      for (const text of odd) {
        assert.equal((await door.send('GET', `${path}/${encodeURIComponent(text)}`)).status, 404, text)
        assert.equal((await door.send('PUT', `${path}/${encodeURIComponent(text)}`, { json: {} })).status, 404, text)
      }
    }
  })

  spec('R49 R4 R5', 'any text key works in the URL of the item, its child list and its children', async () => {
    const key = fc
      .string({ unit: codePoint, minLength: 1, maxLength: 20 })
      .filter((text) => !/^\.\.?$|\0/.test(text) && texts[text] === undefined)
    await fc.assert(
      fc.asyncProperty(key, fc.integer(), async (word, number) => {
        const put = await door.send('PUT', `/labels/${encodeURIComponent(word)}`, { json: { word } })
        const path = put.headers['content-location'] as string
        assert.equal((await door.send('GET', path)).json.word, word)
        const sticker = await created(door, `${path}/stickers`, {})
        assert.equal((await door.send('GET', sticker.headers.location as string)).json.labelId, word)
        assert.equal((await door.send('GET', `${path}/stickers`)).json.data.at(-1).id, sticker.json.id)
        const copy = await door.send('PUT', `${path}/copies/${number}`, { json: {} })
        assert.equal(copy.headers['content-location'], `${path}/copies/${number}`)
        assert.deepEqual([copy.json.labelId, copy.json.id, copy.json.number], [word, String(number), number])
      }),
      { numRuns: runsOf(50) },
    )
  })
})
