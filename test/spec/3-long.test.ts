/** Part 3 of the contract, lists: texts that are too long for an index. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const library = service({
  name: 'library',
  resources: {
    pages: {
      prefix: 'pag',
      fields: {
        text: f.text({ filter: ['like', 'range', 'ne'] }),
        slug: f.text({ unique: true, optional: true, filter: true }),
        title: f.text({ max: 5000, optional: true, sort: true }),
      },
      access: 'public',
    },
    words: {
      key: 'word',
      fields: { word: f.text({ max: 255 }), about: f.text({ sort: true, default: '' }) },
      access: 'public',
    },
  },
  settings: { limits: { url: 24_000 } },
})

/** A text of the given length that cannot be compressed. */
function odd(length: number, seed: number): string {
  let state = seed
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return String.fromCodePoint(0x4e00 + ((state >> 8) % 20_000))
  }).join('')
}

doors('long texts', library, (door) => {
  const list = async (query: string): Promise<string[]> => {
    const { status, json } = await door.send('GET', `/pages?${query}`)
    assert.equal(status, 200, JSON.stringify(json))
    return json.data.map(({ id }: { id: string }) => id)
  }

  spec('R60 R70 R177', 'are found by equality of their whole value', async () => {
    const ids: string[] = []
    const base = odd(1000, 1)
    for (const end of ['', 'a', 'b', 'ab']) {
      const { status, json } = await door.send('POST', '/pages', { json: { text: base + end } })
      assert.equal(status, 201, JSON.stringify(json))
      ids.push(json.id)
    }
    const [, a, b, ab] = ids as [string, string, string, string]
    const value = encodeURIComponent(base)
    assert.deepEqual(await list(`text=${value}a`), [a])
    assert.deepEqual((await list(`text=in:(${value}a,${value}b,none)`)).sort(), [a, b].sort())
    assert.deepEqual((await list(`text[gte]=${value}ab`)).sort(), [b, ab].sort())
    assert.deepEqual((await list(`text[lte]=${value}a`)).sort(), [ids[0], a].sort())
    assert.equal((await list(`text[like]=${encodeURIComponent(`${base.slice(0, 20)}%b`)}`)).length, 2)
    assert.equal((await list(`text[like]=${encodeURIComponent(`%${base.slice(900, 920)}%`)}`)).length, 4)
  })

  spec('R90', 'are unique as a whole', async () => {
    const slug = odd(1000, 7)
    assert.equal((await door.send('POST', '/pages', { json: { text: '', slug: `${slug}a` } })).status, 201)
    assert.equal((await door.send('POST', '/pages', { json: { text: '', slug: `${slug}b` } })).status, 201)
    const taken = await door.send('POST', '/pages', { json: { text: '', slug: `${slug}b` } })
    assert.equal(taken.status, 409)
    assert.equal(taken.json.cause.pointer, '/slug')
    assert.equal((await list(`slug=${encodeURIComponent(`${slug}a`)}`)).length, 1)
  })

  spec('R56 R59', 'are sorted as a whole', async () => {
    const title = odd(1200, 3)
    const made = await Promise.all(
      ['c', 'a', 'b', ''].map((end) => door.send('POST', '/pages', { json: { text: 'sorted', title: title + end } })),
    )
    const ids = made.map(({ json }) => json.id)
    assert.deepEqual(await list('text=sorted&sort=title'), [ids[3], ids[1], ids[2], ids[0]])
    const { json } = await door.send('GET', '/pages?text=sorted&sort=title&order=desc&cursor=&limit=2')
    assert.deepEqual(
      json.data.map(({ id }: { id: string }) => id),
      [ids[0], ids[2]],
    )
    const next = await door.send(
      'GET',
      `/pages?text=sorted&sort=title&order=desc&limit=2&cursor=${json.pagination.nextCursor}`,
    )
    assert.deepEqual(
      next.json.data.map(({ id }: { id: string }) => id),
      [ids[1], ids[3]],
    )
  })

  spec('R36', 'are keys as long as keys may be', async () => {
    const word = odd(255, 5)
    const { status } = await door.send('POST', '/words', { json: { word, about: odd(500, 6) } })
    assert.equal(status, 201)
    assert.equal((await door.send('GET', `/words/${encodeURIComponent(word)}`)).status, 200)
  })
})
