/** Contract section 13: the documents of many services are valid OpenAPI. */
import assert from 'node:assert/strict'
import { Validator } from '@seriousme/openapi-schema-validator'
import { f, service } from 'bylaw'
import orders from '../../examples/orders/handlers.ts'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import type { Service } from '../../src/service.ts'
import { archive, museum } from '../help/archive.ts'
import { spec } from '../help/door.ts'
import { eventShop, thinShop } from '../help/events.ts'
import history from '../help/history.ts'
import { keyService } from '../help/key-service.ts'
import { linted } from '../help/lint.ts'
import { listService } from '../help/list-service.ts'
import { purchases } from '../help/purchases.ts'
import { shop } from '../help/shop.ts'
import { staff } from '../help/staff.ts'
import { tenants } from '../help/tenants.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents are read as far as a test looks
type Any = any

const plain = () =>
  service({
    name: 'plain',
    tiers: { free: { hourly: 1000 } },
    resources: { errors: { fields: { text: f.text(), site: f.url({ optional: true }) }, access: 'authenticated' } },
    settings: { methods: { query: true }, auth: { apiKeyHeader: 'X-Key' }, list: { links: 'both' } },
  })

const rich = {
  ...{ shop, listService, staff, keyService, tenants, history, archive, museum, orders, purchases },
  ...{ eventShop, thinShop },
}
const all = { ...rich, plain: plain() } as unknown as Record<string, Service>

for (const [name, one] of Object.entries(all))
  for (const label of one.choice.served)
    for (const version of ['3.1', '3.2'] as const)
      spec('R214', `the document of ${name} ${label} is valid OpenAPI ${version}`, async () => {
        const document = openapiDocument(one, label, standardCorridor, { openapi: version })
        const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)))
        assert.ok(valid, JSON.stringify(errors))
        const ids = [...JSON.stringify(document).matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id)
        assert.equal(new Set(ids).size, ids.length)
        const text = JSON.stringify(document)
        for (const [, kind = '', part = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w.-]+)"/g))
          assert.ok((document.components as Any)[kind]?.[part], `${kind}/${part}`)
      })

spec('R214', 'nothing that a linter recommends is missing in any of them', async () => {
  const documents = Object.entries(all).flatMap(([name, one]) =>
    one.choice.served.flatMap((label) =>
      (['3.1', '3.2'] as const).map((version) => [
        `${name}-${label}-${version}`,
        openapiDocument(one, label, standardCorridor, { openapi: version }),
      ]),
    ),
  )
  assert.deepEqual(await linted(Object.fromEntries(documents)), [])
  const [[, { info, ...without }]] = documents as [[string, { info?: object }]]
  assert.match((await linted({ without })).join(), /info/)
})

spec('R218', 'two services of one declaration are described in the same bytes', () => {
  const [first, second] = [plain(), plain()].map((one) =>
    JSON.stringify(openapiDocument(one as Service, 'v1', standardCorridor)),
  )
  assert.equal(first, second)
})

spec('R216', 'the shared schemas keep their names where a resource would have them', () => {
  const { schemas } = openapiDocument(plain() as unknown as Service, 'v1', standardCorridor).components as Any
  assert.deepEqual(schemas.Error.required, ['message', 'type', 'types'])
  assert.deepEqual(Object.keys(schemas.ErrorsItem.properties), ['id', 'text', 'site', 'createdAt', 'updatedAt'])
})
