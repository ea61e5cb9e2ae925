/** Part 3 of the contract: links between the pages of a list. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'
import { listed, made, stocked } from '../help/list-service.ts'

const declared = (list = {}) =>
  service({
    name: 'linked',
    resources: {
      orders: {
        prefix: 'ord',
        fields: { price: f.integer({ filter: 'range', sort: true }), name: f.text({ filter: 'like' }) },
        access: 'public',
      },
      lines: { prefix: 'lin', parent: 'orders', fields: { price: f.integer({ filter: 'range' }) }, access: 'public' },
    },
    settings: { list },
  })

const fill = (door: Door, many = 41) =>
  before(() =>
    stocked(
      door,
      '/orders',
      Array.from({ length: many }, (_, i) => ({ price: i, name: `n${i}` })),
    ),
  )

/** The URLs of a Link header by relation. */
const linksOf = ({ headers }: Answer): Record<string, string> =>
  Object.fromEntries([...(headers.link ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url, rel]) => [rel, url]))
const rels = (answer: Answer) => Object.keys(linksOf(answer))

doors('links', declared(), (door) => {
  fill(door)

  spec('R86', 'page style links to self, first, prev, next and last', async () => {
    assert.equal(
      (await listed(door, '/orders?page=2&page_size=10')).headers.link,
      '</orders?page=2&page_size=10>; rel="self", </orders?page_size=10&page=1>; rel="first", </orders?page_size=10&page=1>; rel="prev", </orders?page_size=10&page=3>; rel="next", </orders?page_size=10&page=5>; rel="last"',
    )
    assert.deepEqual(linksOf(await listed(door, '/orders')), {
      self: '/orders',
      first: '/orders?page=1',
      next: '/orders?page=2',
      last: '/orders?page=3',
    })
    assert.deepEqual(rels(await listed(door, '/orders?page=3')), ['self', 'first', 'prev', 'last'])
    assert.deepEqual(linksOf(await listed(door, '/orders?page=99')).prev, '/orders?page=3')
  })

  spec('R86', 'offset style links by offsets', async () => {
    assert.deepEqual(linksOf(await listed(door, '/orders?limit=10&offset=15')), {
      self: '/orders?limit=10&offset=15',
      first: '/orders?limit=10&offset=0',
      prev: '/orders?limit=10&offset=5',
      next: '/orders?limit=10&offset=25',
      last: '/orders?limit=10&offset=35',
    })
    assert.deepEqual(rels(await listed(door, '/orders?offset=40')), ['self', 'first', 'prev', 'last'])
  })

  spec('R86', 'cursor style has no last page', async () => {
    assert.deepEqual(rels(await listed(door, '/orders?cursor=&limit=2')), ['self', 'first', 'next'])
    const { next } = linksOf(await listed(door, '/orders?cursor=&limit=40'))
    const last = await listed(door, next as string)
    assert.deepEqual(rels(last), ['self', 'first', 'prev'])
    assert.equal(linksOf(last).self, next)
    assert.equal(linksOf(last).first, '/orders?limit=40&cursor=')
  })

  spec('R86', 'each link leads to the page that it names, in every style', async () => {
    for (const start of [
      '/orders?sort=price&order=desc&price[gte]=3&page_size=9',
      '/orders?limit=9&sort=price',
      '/orders?cursor=&limit=9&name[like]=n%25',
    ]) {
      const seen: number[] = []
      let path: string | undefined = start
      let answer: Answer | undefined
      while (path) {
        answer = await listed(door, path)
        assert.deepEqual(
          linksOf(answer).self && new URLSearchParams(linksOf(answer).self?.split('?')[1]).toString(),
          new URLSearchParams(path.split('?')[1]).toString(),
        )
        seen.push(...answer.json.data.map(({ price }: { price: number }) => price))
        path = linksOf(answer).next
      }
      const all = (await listed(door, `${start.replace(/(page_size|limit)=9/, '$1=100')}`)).json.data.map(
        ({ price }: { price: number }) => price,
      )
      assert.deepEqual(seen, all, start)
      const back = await listed(door, linksOf(answer as Answer).prev as string)
      assert.equal(back.json.data.length, 9)
      assert.deepEqual((await listed(door, linksOf(back).first as string)).json.data[0].price, all[0])
    }
  })

  spec('R86 R21', 'all other parameters are kept, brackets in the encoded form', async () => {
    const { headers } = await listed(door, '/orders?price[gte]=10&page=1')
    assert.match(String(headers.link), /<\/orders\?price%5Bgte%5D=10&page=2>; rel="next"/)
    const odd = linksOf(await listed(door, '/orders?name[like]=%25n%25&price=in:(1,2,%223%22)&sort=price&page_size=1'))
    assert.deepEqual((await listed(door, odd.next as string)).json.data[0].price, 2)
    assert.deepEqual((await listed(door, odd.last as string)).json.data[0].price, 3)
  })

  spec('R86 R49', 'links are absolute-path references, below an owner too', async () => {
    const { id } = await made(door, '/orders', { price: 1, name: 'x' })
    await stocked(door, `/orders/${id}/lines`, [{ price: 1 }, { price: 2 }])
    const links = linksOf(await listed(door, `/orders/${id}/lines?page_size=1`))
    assert.deepEqual(links.next, `/orders/${id}/lines?page_size=1&page=2`)
    assert.equal((await listed(door, links.next as string)).json.data[0].price, 2)
    await door.send('DELETE', `/lines/${(await listed(door, links.next as string)).json.data[0].id}`)
  })

  spec('R86', 'HEAD has the same links as GET, and refusals have none', async () => {
    assert.equal(
      (await door.send('HEAD', '/orders?page=2')).headers.link,
      (await listed(door, '/orders?page=2')).headers.link,
    )
    assert.equal((await door.send('GET', '/orders?page=0')).headers.link, undefined)
    assert.equal((await door.send('GET', '/orders?page=0')).text.includes('_links'), false)
  })

  spec('R86', 'links of very long URLs do not exceed the header limits of clients', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `ord_${String(i).padStart(26, '0')}`)
    const answer = await listed(door, `/orders?id=in:(${ids.join(',')})&price=in:(${ids.map((_, i) => i).join(',')})`)
    assert.equal(answer.status, 200)
    assert.ok((answer.headers.link as string).length <= 8192, String(answer.headers.link?.length))
  })
})

doors('links within reach', declared({ maxOffset: 4, pageSize: 2 }), (door) => {
  fill(door, 9)
  spec('R86', 'page and offset style link only to pages within maxOffset', async () => {
    assert.deepEqual(rels(await listed(door, '/orders?page=2')), ['self', 'first', 'prev', 'next'])
    assert.deepEqual(rels(await listed(door, '/orders?page=3')), ['self', 'first', 'prev'])
    assert.equal((await listed(door, '/orders?page=3')).json.pagination.hasMore, true)
    assert.deepEqual(rels(await listed(door, '/orders?offset=3')), ['self', 'first', 'prev'])
    assert.deepEqual(linksOf(await listed(door, '/orders?page=2&price[gte]=4')).last, '/orders?price%5Bgte%5D=4&page=3')
  })
})

doors('links without totals', declared({ pagination: { totals: 'off' }, links: 'both', pageSize: 2 }), (door) => {
  fill(door, 5)
  spec('R86', 'where nothing is counted there is no last page; list.links: both writes them twice', async () => {
    const answer = await listed(door, '/orders?page=2')
    assert.deepEqual(rels(answer), ['self', 'first', 'prev', 'next'])
    assert.deepEqual(answer.json._links, linksOf(answer))
    assert.deepEqual(Object.keys(answer.json), ['data', 'pagination', '_links'])
  })
})

doors('links in the content', declared({ links: 'body', pageSize: 2 }), (door) => {
  fill(door, 5)
  spec('R86', 'list.links: body writes them to _links only', async () => {
    const answer = await listed(door, '/orders')
    assert.equal(answer.headers.link, undefined)
    assert.deepEqual(answer.json._links, {
      self: '/orders',
      first: '/orders?page=1',
      next: '/orders?page=2',
      last: '/orders?page=3',
    })
  })
})

doors('no links', declared({ links: 'none' }), (door) => {
  fill(door, 1)
  spec('R86', 'list.links: none sends no links', async () => {
    const answer = await listed(door, '/orders')
    assert.equal(answer.headers.link, undefined)
    assert.deepEqual(Object.keys(answer.json), ['data', 'pagination'])
  })
})
