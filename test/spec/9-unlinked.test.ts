/** Required fields that another row has now, for items that have no link to such a row. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const fields = {
  country: f.text({ max: 20 }),
  size: f.integer({ default: 3 }),
  site: f.object({ street: f.text() }),
}
const move = (name: string) => ({ [name]: { by: 'placeId', to: name } })
const shops = (optional: boolean) =>
  service({
    name: 'shops',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' } },
    settings: { versions: { carriers: ['path'] } },
    resources: {
      places: { prefix: 'plc', fields, access: 'public' },
      shops: { prefix: 'shp', fields: { placeId: f.ref('places', { optional }) }, access: 'public' },
    },
  }).change('v2', 'shops', {
    about: 'The place of a shop is a resource.',
    moved: { ...move('country'), ...move('size'), ...move('site') },
  })

/** The types of moved fields in a schema of v1. */
const typesIn = (document: Record<string, never>, schema: string): unknown[] => {
  const { properties } = (document.components as never as { schemas: Record<string, never> }).schemas[schema] as never
  return Object.keys(fields).map((name) => (properties as Record<string, { type: unknown }>)[name]?.type)
}

doors('moved fields without a link', shops(true), (door: Door) => {
  spec('R196 R216', 'they are null or have their default, as the description says, and can be sent back', async () => {
    const { id } = (await door.send('POST', '/v2/shops', { json: {} })).json
    const item = (await door.send('GET', `/v1/shops/${id}`)).json
    assert.deepEqual([item.country, item.size, item.site], [null, 3, null])
    assert.equal((await door.send('PUT', `/v1/shops/${id}`, { json: item })).status, 200)
    const refused = await door.send('POST', '/v1/shops', { json: { country: null, site: { street: 'a' } } })
    assert.equal(refused.status, 400)
    const document = (await door.send('GET', '/openapi/v1.json')).json
    assert.deepEqual(typesIn(document, 'Shop'), [['string', 'null'], 'integer', ['object', 'null']])
    assert.deepEqual(typesIn(document, 'ShopCreate'), ['string', 'integer', 'object'])
  })
})

doors('moved fields with a link', shops(false), (door: Door) => {
  spec('R196 R216', 'they are never null', async () => {
    const document = (await door.send('GET', '/openapi/v1.json')).json
    assert.deepEqual(typesIn(document, 'Shop'), ['string', 'integer', 'object'])
  })
})
