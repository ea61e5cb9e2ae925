/** Contract section 13: descriptions and examples of a declaration are in the OpenAPI document, and in no contract. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { f, now, Problem, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { contractOf } from '../../src/contract/contract.ts'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import type { Service } from '../../src/service.ts'
import { spec } from '../help/door.ts'

const plain = () =>
  service({
    name: 'shop',
    errors: { 'not-paid': { parents: ['conflict'], status: 409 } },
    resources: {
      orders: {
        prefix: 'ord',
        fields: {
          buyer: f.text({ max: 80 }),
          lines: f.list(f.object({ article: f.text({ max: 20 }) })),
          placedAt: f.timestamp({ optional: true, readOnly: true }),
        },
        states: {
          field: 'status',
          initial: 'draft',
          transitions: {
            placements: { from: ['draft'], to: 'placed', input: { by: f.text() }, set: { placedAt: now } },
          },
        },
        operations: { quotes: { at: 'collection', input: { count: f.integer() }, output: { total: f.integer() } } },
        access: 'public',
      },
    },
  })

const described = () =>
  service({
    name: 'shop',
    title: 'The shop',
    description: 'Orders of *customers*.',
    contact: { email: 'api@example.com' },
    license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    externalDocs: { url: 'https://docs.example.com' },
    errors: {
      'not-paid': {
        ...{ parents: ['conflict'], status: 409, description: 'Pay first.' },
        ...{ title: 'Payment missing', example: 'The invoice of March is not paid.' },
      },
    },
    resources: {
      orders: {
        title: 'VIP purchase',
        description: 'What a customer buys at once.',
        prefix: 'ord',
        fields: {
          buyer: f.text({ max: 80, title: 'Name on the card', description: 'Who pays.', example: 'Ada Lovelace' }),
          lines: f.list(
            f.object({ article: f.text({ max: 20, description: 'A number of the catalogue.', example: 'A-1' }) }),
          ),
          placedAt: f.timestamp({ optional: true, readOnly: true }),
        },
        states: {
          field: 'status',
          initial: 'draft',
          titles: { draft: 'In preparation' },
          descriptions: { draft: 'Not placed yet.', placed: 'It will be sent.' },
          transitions: {
            placements: {
              ...{ from: ['draft'], to: 'placed', set: { placedAt: now } },
              input: { by: f.text({ description: 'Who places it.' }) },
              ...{ title: 'Place it', description: 'The customer is bound from now on.', example: { by: 'Ada' } },
            },
          },
        },
        operations: {
          quotes: {
            ...{ at: 'collection', output: { total: f.integer({ example: 12 }) } },
            input: { count: f.integer({ description: 'How many.' }) },
            ...{ title: 'Quote a price', description: 'A price without an order.', example: { count: 3 } },
          },
        },
        access: 'public',
      },
    },
  })

// biome-ignore lint/suspicious/noExplicitAny: documents are read as far as a test looks
const documentOf = (made: unknown): any => openapiDocument(made as Service, 'v1', standardCorridor)

const mistakesOf = (declaration: object): string => {
  try {
    service(declaration as never)
    return ''
  } catch (error) {
    return String(error)
  }
}

describe('descriptions', () => {
  spec('R214', 'of every part of a declaration stand in the OpenAPI document', () => {
    const { info, externalDocs, tags, paths, components } = documentOf(described())
    assert.deepEqual(
      [info.title, info.contact, info.license.identifier, externalDocs],
      ['The shop', { email: 'api@example.com' }, 'Apache-2.0', { url: 'https://docs.example.com' }],
    )
    assert.match(info.description, /^Orders of \*customers\*\.\n\n/)
    assert.match(info.description, /- `not-paid` \(409\): Payment missing\. Pay first\.$/)
    assert.match(tags[0].description, /^What a customer buys at once\.\n\n```mermaid/)
    const { Order, OrderCreate, OrderPlacements, OrderQuotesOutput } = components.schemas
    assert.equal(Order.description, 'What a customer buys at once.')
    assert.deepEqual([Order.title, tags[0]['x-displayName']], ['VIP purchase', 'VIP purchase'])
    for (const schema of [Order, OrderCreate]) {
      assert.deepEqual(
        [schema.properties.buyer.title, schema.properties.buyer.description, schema.properties.buyer.examples],
        ['Name on the card', 'Who pays.', ['Ada Lovelace']],
      )
      assert.deepEqual(schema.properties.lines.items.properties.article.examples, ['A-1'])
    }
    assert.match(
      Order.properties.status.description,
      /^`draft` \(In preparation\): Not placed yet\. `placed`: It will be sent\./,
    )
    assert.equal(OrderPlacements.properties.by.description, 'Who places it.')
    assert.deepEqual(OrderQuotesOutput.properties.total.examples, [12])
    const [{ post: placement }, { post: quote }] = [paths['/orders/{id}/placements'], paths['/orders/quotes']]
    assert.match(placement.description, /^The customer is bound from now on\./)
    assert.match(quote.description, /^A price without an order\./)
    assert.deepEqual([placement.summary, quote.summary], ['Place it', 'Quote a price'])
    assert.equal(paths['/orders'].post.summary, 'Create a VIP purchase')
    const exampleOf = (one: typeof quote) => one.requestBody.content['application/json'].example
    assert.deepEqual([exampleOf(placement), exampleOf(quote)], [{ by: 'Ada' }, { count: 3 }])
    const refusal = components.responses[quote.responses[409].$ref.split('/').at(-1)].content['application/json']
    assert.deepEqual(refusal.examples['not-paid'], {
      summary: 'Payment missing',
      value: {
        message: 'The invoice of March is not paid.',
        ...{ type: 'not-paid', types: ['not-paid', 'conflict', 'client-error', 'error'] },
      },
    })
  })

  spec('R158', 'and titles reach the errors and the pages', async () => {
    const refuse = () => {
      throw new Problem('not-paid', 'No.')
    }
    const handlers = described().handlers({ orders: { quotes: refuse } })
    const { call, close } = await testing(handlers)
    const get = async (path: string) => (await call(path, { headers: { accept: 'text/html' } })).text()
    const refused = await call('/orders/quotes', {
      ...{ method: 'POST', json: { count: 1 } },
      headers: { accept: 'application/json, application/problem+json' },
    })
    const { title } = (await refused.json()) as { title: string }
    assert.deepEqual([refused.status, title], [409, 'Payment missing'])
    const problem = await get('/problems/not-paid')
    assert.match(problem, /<h1>Payment missing<\/h1>[\s\S]*Pay first\.[\s\S]*The invoice of March is not paid\./)
    const page = await get('/docs')
    for (const words of [
      'VIP purchase</h2>',
      'Place it</a>',
      'Quote a price</a>',
      '<b>Name on the card</b>',
      '(In preparation)',
    ])
      assert.ok(page.includes(words), words)
    assert.match(page, /&quot;count&quot;:\s*3/)
    await close()
  })

  spec('R187', 'are no part of the contract', () => {
    assert.deepEqual(contractOf(described().declaration), contractOf(plain().declaration))
  })

  spec('R219', 'that are no texts, and examples that do not fit, are refused', () => {
    const orders = { prefix: 'ord', access: 'public', fields: { count: f.integer({ max: 9, example: 10 }) } }
    assert.match(mistakesOf({ name: 'shop', resources: { orders } }), /refuses its own example: .*at most 9/)
    const empty = { ...orders, description: ' ', fields: { count: f.integer({ description: '' }) } }
    const told = mistakesOf({ name: 'shop', title: 3, license: { identifier: 'MIT' }, resources: { orders: empty } })
    for (const words of [
      /`title` is 3/,
      /Write license: \{ name: '…' \}/,
      /`description` is " "/,
      /`description` is ""/,
    ])
      assert.match(told, words)
    const states = { field: 'status', initial: 'draft', descriptions: { drafts: 'x' }, transitions: {} }
    assert.match(
      mistakesOf({ name: 'shop', resources: { orders: { ...orders, fields: {}, states } } }),
      /Did you mean `draft`/,
    )
    const input = { count: f.integer({ max: 9 }), note: f.text({ optional: true }) }
    const quotes = { at: 'collection', input, title: '', example: { count: 10, amount: 1 } }
    const errors = { 'not-paid': { status: 409, title: 1, example: ' ' } }
    const titles = { draft: '' }
    const found = mistakesOf({
      ...{ name: 'shop', errors },
      resources: {
        orders: {
          ...orders,
          title: 5,
          fields: { a: f.text({ title: ' ' }) },
          operations: { quotes },
          states: { ...states, descriptions: {}, titles },
        },
        offers: {
          ...orders,
          prefix: 'off',
          fields: {},
          operations: { quotes: { ...quotes, title: 'Quote', example: {} } },
        },
      },
    })
    for (const words of [
      /orders\.title: `title` is 5/,
      /fields\.a: `title` is " "/,
      /orders\.operations\.quotes\.title: `title` is ""/,
      /orders\.operations\.quotes\.example\.count: The input refuses it: .*at most 9/,
      /orders\.operations\.quotes\.example\.amount: It is not an input/,
      /offers\.operations\.quotes\.example\.count: The input refuses it: .*not missing/,
      /errors\.not-paid\.title: `title` is 1/,
      /errors\.not-paid\.example: `example` is " "/,
      /states\.titles\.draft: `draft` is ""/,
    ])
      assert.match(found, words)
  })
})
