import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, doors, spec } from '../help/door.ts'

/** A moved field has a default, and the reference to its row is optional. */
const homes = service({
  name: 'homes',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { resource: { id: 'client' } },
  resources: {
    lands: {
      prefix: 'lnd',
      fields: { code: f.text({ max: 9, default: 'm', filter: ['range', 'like'], sort: true }) },
      access: 'public',
    },
    homes: { prefix: 'hom', fields: { landId: f.ref('lands', { optional: true }) }, access: 'public' },
  },
}).change('v2', 'homes', {
  about: 'The code is that of the land.',
  moved: { code: { by: 'landId', to: 'code' } },
})

/** The level of a book moved to its shelf, where it is derived from the height. */
const levels = service({
  name: 'levels',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  settings: { resource: { id: 'client' } },
  resources: {
    shelves: { prefix: 'shf', fields: { height: f.integer({ optional: true }) }, access: 'public' },
    books: { prefix: 'bok', fields: { shelfId: f.ref('shelves', { optional: true }) }, access: 'public' },
  },
})
  .change('v3', 'shelves', {
    about: 'A shelf has a height.',
    removed: { level: f.integer({ optional: true, filter: 'range', sort: true }) },
    added: ['height'],
    request: ({ level }) => ({ height: level === null ? null : level * 10 }),
    response: ({ height }) => ({ level: height === null ? null : Math.floor(height / 10) }),
  })
  .change('v2', 'books', {
    about: 'The level is that of the shelf.',
    moved: { level: { by: 'shelfId', to: 'level' } },
  })

doors('fields that moved to a resource that only older versions have', levels, (door) => {
  const list = async (query: string): Promise<string> => {
    const { json, text } = await door.send('GET', `/v1/books?${query}`)
    assert.ok(json.data, text)
    return json.data.map(({ id }: { id: string }) => id.replace('bok_', '')).join('')
  }
  before(async () => {
    for (const [i, height] of [15, 29, null].entries())
      await door.send('POST', '/v3/shelves', { json: { id: `shf_${i}`, height } })
    for (const [i, shelfId] of ['shf_1', 'shf_0', 'shf_2', null].entries())
      await door.send('POST', '/v3/books', { json: { id: `bok_${i}`, shelfId } })
    await door.send('POST', '/v1/books', { json: { id: 'bok_4', level: 7 } })
  })

  spec('R194', 'are filtered and sorted by the column of the other row', async () => {
    assert.deepEqual(await Promise.all(['level=2', 'level[gte]=1', 'level[null]=true'].map(list)), ['0', '014', '23'])
    if (door.store !== 'Citus') assert.equal(await list('sort=level&order=desc&nulls=last'), '40132')
    await door.send('PATCH', '/v3/shelves/shf_0', { json: { height: 99 } })
    assert.equal(await list('level[gte]=9'), '1')
  })
})

doors('moved fields with a default', homes, (door) => {
  const ids = ({ json, text }: Answer): string => {
    assert.ok(json.data, text)
    return json.data.map(({ id }: { id: string }) => id.replace('hom_', '')).join('')
  }
  const list = (query: string) => door.send('GET', `/v1/homes?${query}`)
  const reach = door.store === 'Citus' ? [] : ['sort=code', 'sort=code&order=desc']
  before(async () => {
    for (const code of ['a', 'z']) await door.send('POST', '/v2/lands', { json: { id: `lnd_${code}`, code } })
    for (const [id, landId] of [
      ['1', 'lnd_z'],
      ['2', null],
      ['3', 'lnd_a'],
    ])
      await door.send('POST', '/v2/homes', { json: { id: `hom_${id}`, landId } })
    await door.send('POST', '/v1/homes', { json: { id: 'hom_4', code: 'q' } })
  })

  spec('R194', 'are filtered as they are shown if no row is referenced', async () => {
    const { json } = await list('')
    assert.deepEqual(
      json.data.map(({ code }: { code: string }) => code),
      ['z', 'm', 'a', 'q'],
    )
    const asked = ['code=m', 'code[null]=true', 'code[null]=false', 'code[lte]=m', 'code[like]=m%25', 'code=in:(m,q)']
    const found = await Promise.all(asked.map(async (query) => ids(await list(query))))
    assert.deepEqual(found, ['2', '', '1234', '23', '2', '24'])
  })

  spec('R59 R194', 'are sorted as they are shown, page by page', async () => {
    for (const query of reach) {
      let seen = ''
      for (let path = `/v1/homes?${query}&limit=1&cursor=`; path !== ''; ) {
        const page = await door.send('GET', path)
        seen += ids(page)
        path = /<([^>]*)>; rel="next"/.exec(page.headers.link ?? '')?.[1] ?? ''
      }
      assert.equal(seen, query.includes('desc') ? '1423' : '3241')
    }
  })
})

/** The values of an enum have another order now, and lists are sorted by it. */
const states = service({
  name: 'states',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
  settings: { resource: { id: 'client' } },
  resources: {
    halls: { prefix: 'hal', fields: {}, access: 'public' },
    tasks: {
      prefix: 'tsk',
      parent: 'halls',
      fields: { state: f.enum(['a', 'b', 'c']), rank: f.integer() },
      access: 'public',
      order: ['state', '-rank'],
      sorts: { last: ['-state', 'rank'] },
    },
  },
}).change('v2', 'tasks', {
  about: 'States have other words.',
  mapped: { state: { z: 'a', m: 'b' } },
  shown: { state: { c: 'z' } },
})

doors('orders of older versions', states, (door) => {
  spec('R59 R194 R195', 'sort by the values that those versions show, below a parent and everywhere', async () => {
    await door.send('POST', '/v2/halls', { json: { id: 'hal_1' } })
    for (const [i, state] of ['a', 'b', 'c', 'a', 'b', 'c'].entries()) {
      const { status, text } = await door.send('POST', '/v2/halls/hal_1/tasks', {
        json: { id: `tsk_${i}`, state, rank: i },
      })
      assert.equal(status, 201, text)
    }
    for (const path of ['tasks', 'halls/hal_1/tasks']) {
      const ids = async (version: string, query = '') => {
        let seen = ''
        for (let next = `/${version}/${path}?limit=2&cursor=${query}`; next !== ''; ) {
          const { json, text, headers } = await door.send('GET', next)
          assert.ok(json.data, text)
          seen += json.data.map(({ id }: { id: string }) => id.replace('tsk_', '')).join('')
          next = /<([^>]*)>; rel="next"/.exec(headers.link ?? '')?.[1] ?? ''
        }
        return seen
      }
      assert.deepEqual(await Promise.all(['v2', 'v1'].map((version) => ids(version))), ['304152', '415320'])
      assert.equal(await ids('v1', '&custom_sort=last'), '023514')
    }
  })
})
