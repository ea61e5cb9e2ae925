/** Part 3 of the contract: `search` in random texts of many scripts, compared with a plain model on both stores. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'
import { isFound, randomBelow, randomSearch, randomText, relevance, type SearchedText } from '../help/searched-texts.ts'

const pile = service({
  name: 'pile',
  resources: {
    books: {
      prefix: 'bok',
      fields: {
        title: f.text({ max: 500, search: true }),
        note: f.text({ max: 500, optional: true, search: true }),
        number: f.integer({ sort: true }),
      },
      access: 'public',
    },
  },
})

interface Page {
  readonly numbers: number[]
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly json: any
  readonly next: string | undefined
  readonly prev: string | undefined
}

doors('search against a plain model', pile, (door: Door) => {
  interface Row {
    readonly id: string
    readonly number: number
    readonly texts: SearchedText[]
  }
  const rows: Row[] = []
  const seed = Number(process.env.BYLAW_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const below = randomBelow(seed)
  before(async () => {
    for (let number = 0; number < 120; number++) {
      const texts = [randomText(below), randomText(below)]
      const [title, note] = texts.map(({ text }) => text)
      const { status, json, text } = await door.send('POST', '/books', { json: { title, note, number } })
      assert.equal(status, 201, text)
      rows.push({ id: json.id, number, texts })
    }
  })
  const byId = (a: Row, b: Row) => (a.id < b.id ? -1 : 1)

  spec('R235', 'many scripts: the rows, their order by relevance, and all pages are those of the model', async () => {
    for (let i = 0; i < 150; i++) {
      const { text, asked: words } = randomSearch(below)
      const says = `seed ${seed}: ${JSON.stringify(text)} ${words.join(' ')}`
      const found = rows.filter(({ texts }) => isFound(texts, words))
      const ranks = new Map(found.map((row) => [row, relevance(row.texts, words)]))
      const best = found.toSorted((a, b) => {
        const [one, other] = [ranks.get(a) as readonly number[], ranks.get(b) as readonly number[]]
        return (one[0] as number) - (other[0] as number) || (one[1] as number) - (other[1] as number) || byId(a, b)
      })
      const numbers = best.map(({ number }) => number)
      const query = `/books?search=${encodeURIComponent(text)}`
      const get = async (path: string): Promise<Page> => {
        const { status, json, text: answer, headers } = await door.send('GET', path)
        assert.equal(status, 200, `${says} ${answer}`)
        const to = (rel: string): string | undefined =>
          new RegExp(`<([^>]+)>; rel="${rel}"`).exec(headers.link ?? '')?.[1]
        return {
          numbers: json.data.map(({ number }: Row) => number) as number[],
          json,
          next: to('next'),
          prev: to('prev'),
        }
      }
      const whole = await get(`${query}&page_size=100`)
      assert.deepEqual(whole.numbers, numbers.slice(0, 100), says)
      assert.equal(whole.json.pagination.totalRecords, numbers.length)
      const sorted = await get(`${query}&page_size=100&sort=number&order=desc`)
      assert.deepEqual(sorted.numbers, numbers.toSorted((a, b) => b - a).slice(0, 100), says)
      if (i % 5 > 0) continue
      const size = 1 + below(5)
      assert.deepEqual((await get(`${query}&limit=${size}&offset=2`)).numbers, numbers.slice(2, 2 + size), says)
      assert.deepEqual((await get(`${query}&page_size=${size}&page=2`)).numbers, numbers.slice(size, 2 * size), says)
      const walked: number[] = []
      let path: string | undefined = `${query}&limit=${size}&cursor=`
      let last = path
      while (path !== undefined) {
        const page: Page = await get(path)
        walked.push(...page.numbers)
        last = path
        path = page.next
      }
      assert.deepEqual(walked, numbers, says)
      const back: number[] = []
      let at: string | undefined = last
      while (at !== undefined) {
        const page: Page = await get(at)
        back.unshift(...page.numbers)
        at = page.prev
      }
      assert.deepEqual(back, numbers, says)
    }
  })

  spec('R235 R83', 'a cursor belongs to its search', async () => {
    const { json } = await door.send('GET', '/books?search=a&limit=1&cursor=')
    const cursor = json.pagination.nextCursor
    assert.equal((await door.send('GET', `/books?search=a&limit=1&cursor=${cursor}`)).status, 200)
    for (const path of [
      `/books?search=b&cursor=${cursor}`,
      `/books?cursor=${cursor}`,
      `/books?search=a&sort=number&cursor=${cursor}`,
    ])
      assert.equal((await door.send('GET', path)).json.errors[0].type, 'cursor-mismatch')
  })
})
