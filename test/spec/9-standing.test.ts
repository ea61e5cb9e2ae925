import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, doors, spec } from '../help/door.ts'

/** What moved has a default, and a row may lead to none that has it. */
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

  spec('R194', 'are filtered as they are shown where no row is led to', async () => {
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
