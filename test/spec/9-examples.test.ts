/** Contract section 13: the examples in descriptions fit their schemas and can be sent, and descriptions stay small. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import orders from '../../examples/orders/handlers.ts'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument, openapiText } from '../../src/describe/openapi.ts'
import { answerExampleOf, resolver } from '../../src/pages/schema-text.ts'
import type { Service } from '../../src/service.ts'
import bigShop from '../../tools/shop.ts'
import { spec } from '../help/door.ts'
import { keyService } from '../help/key-service.ts'
import { listService } from '../help/list-service.ts'
import { purchases } from '../help/purchases.ts'
import { type Schema, schemasOf } from '../help/schemas.ts'
import { shop } from '../help/shop.ts'

interface Media {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

/** The example of the README, which imports only what it is given here. */
function readmeExample(): Service {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /\/\/ api\.ts\n([\s\S]*?)```/.exec(readme) ?? []
  return new Function('f', 'service', code.replace(/^import.*$/m, '').replace('export default', 'return'))(f, service)
}

const all = { readme: readmeExample(), shop, bigShop, orders, keyService, listService, purchases } as unknown as Record<
  string,
  Service
>
const documentOf = (one: Service) => JSON.parse(openapiText(one, one.choice.usual ?? 'v1', standardCorridor))

/** All schemas of a part with examples. */
function exampled(part: unknown): Schema[] {
  if (typeof part !== 'object' || part === null) return []
  const own = part as Schema
  const inside = Object.entries(own).flatMap(([name, one]) => (name === 'examples' ? [] : exampled(one)))
  return Array.isArray(own.examples) ? [own, ...inside] : inside
}

for (const [name, one] of Object.entries(all)) {
  const document = documentOf(one)
  const { at, check } = schemasOf(document)

  spec('R217', `examples in the description of ${name} fit their schemas`, () => {
    const found = exampled({ ...document.components, paths: document.paths })
    assert.ok(found.length > 10, String(found.length))
    for (const schema of found)
      for (const example of schema.examples as unknown[])
        assert.deepEqual(check(schema, example), [], JSON.stringify(schema))
  })

  spec('R217', `every content and every error in the description of ${name} has an example`, () => {
    for (const [path, item] of Object.entries(document.paths as Record<string, Record<string, Schema>>))
      for (const [method, operation] of Object.entries(item)) {
        const { requestBody, responses = {} } = operation as { requestBody?: Schema; responses?: object }
        const content = Object.entries(
          (requestBody?.content ?? {}) as Record<string, { schema: Schema; example?: unknown }>,
        )
        for (const [type, { schema, example }] of content)
          if (type !== 'application/json-patch+json')
            assert.ok(example ?? at(schema).examples, `${method} ${path} ${type}`)
        for (const [status, response] of Object.entries(responses).filter(([one]) => /^[45]/.test(one))) {
          const refused = (at(response).content as Record<string, Media>)['application/json'] as Media
          const values = refused.examples ? Object.values(refused.examples) : [{ value: refused.example }]
          for (const { value } of values)
            assert.deepEqual(check(refused.schema, value), [], `${method} ${path} ${status}`)
        }
      }
    assert.equal(document.components.schemas.Problem.examples.length, 1)
  })

  spec('R217', `examples of ${name} create items, but for references, which name no item`, async () => {
    const { call, close } = testing(one as never)
    try {
      for (const [path, { post }] of Object.entries(document.paths as Record<string, { post?: Schema }>)) {
        if (path.includes('{') || !String(post?.operationId).endsWith('.create')) continue
        const { content } = (post as Schema).requestBody as { content: Record<string, { schema: Schema }> }
        const [json] = at(content['application/json']?.schema).examples as [Record<string, unknown>]
        const answer = await call(path === '/batches' ? `${path}?dryRun=true` : path, {
          method: 'POST',
          json,
          headers: { 'Idempotency-Key': `"${path}"` },
        })
        const text = await answer.text()
        if (path === '/batches') assert.equal(answer.status, 200, text)
        else if (/Id"/.test(JSON.stringify(json)))
          assert.match(text, /does not exist|not exist|resource-not-found|"id"/, path)
        else assert.ok([201, 401, 403].includes(answer.status), `${path} ${JSON.stringify(json)}: ${text}`)
      }
    } finally {
      await close()
    }
  })
}

spec('R214', 'the descriptions of the example in the README and of a shop with nine resources stay small', () => {
  const size = (one: unknown) => JSON.stringify(openapiDocument(one as Service, 'v1', standardCorridor)).length
  assert.ok(size(all.readme) < 55_500, String(size(all.readme)))
  assert.ok(size(bigShop) < 171_000, String(size(bigShop)))
})

spec('R215', 'refusals with the same content are one component, whose name ends with its status', () => {
  const { paths, components } = documentOf(all.bigShop as Service)
  const operations = Object.values(paths as Record<string, Record<string, Schema>>).flatMap((one) => Object.values(one))
  const refused = operations.flatMap(({ responses }) =>
    Object.entries(responses as Record<string, { $ref: string }>).filter(([status]) => /^[45]/.test(status)),
  )
  const names = new Set(refused.map(([, { $ref }]) => $ref.split('/').at(-1) as string))
  for (const [status, { $ref }] of refused) assert.ok($ref.endsWith(status), $ref)
  const texts = [...names].map((name) => JSON.stringify(components.responses[name]))
  assert.equal(new Set(texts).size, names.size)
  const { responses } = paths['/batches'].post
  assert.deepEqual(
    [401, 404, 410, '4XX'].map((status) => responses[status].$ref.split('/').at(-1)),
    ['Error401', 'Batch404', 'Error410', 'Error4XX'],
  )
  assert.equal(paths['/categories'].post.responses[412], undefined)
  assert.match(components.responses.Error4XX.description, / 406, 408, 412, 413, /)
})

spec('R217 R207 R208', 'examples of events have ids like those that are sent', () => {
  for (const [format, payload] of [
    ['standard', 'full'],
    ['standard', 'thin'],
    ['cloudevents', 'thin'],
  ] as const) {
    const api = service({
      name: 'depot',
      events: true,
      settings: { events: { format, payload, webhooks: true } },
      resources: {
        orders: { prefix: 'ord', fields: { note: f.text() }, access: 'public' },
        lines: { parent: 'orders', key: 'number', fields: { number: f.integer() }, access: 'public' },
        tags: { prefix: 'tag', fields: { name: f.text() }, access: 'public' },
      },
      pairs: { labels: { between: ['orders', 'tags'], access: 'public' } },
    })
    const document = documentOf(api as unknown as Service)
    const order = 'ord_01jd8m2kq3v9x7c5b1n4f6h8t0'
    const shown = (name: string) =>
      answerExampleOf(document.components.schemas[name], resolver(document), undefined) as Schema
    const [ofOrder, ofLine, ofLabel] = ['OrderEvent', 'LineEvent', 'LabelEvent'].map(shown) as [Schema, Schema, Schema]
    assert.match(String(ofOrder.id), /^evt_[0-9a-z]{26}$/)
    assert.equal((ofOrder.data as Schema).id, order)
    if (payload === 'thin') {
      assert.equal((ofLine.data as Schema).orderId, order)
      assert.match(JSON.stringify(ofLabel.data), /ord_01jd.*tag_01jd|tag_01jd.*ord_01jd/)
    }
    if (format === 'cloudevents') assert.deepEqual([ofOrder.subject, ofLine.subject], [order, `${order}/1`])
  }
})
