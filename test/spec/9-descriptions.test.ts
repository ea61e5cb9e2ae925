/** Contract section 13: descriptions and examples that a declaration has reach the OpenAPI document, and no contract. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { f, now, service } from 'bylaw'
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
    errors: { 'not-paid': { parents: ['conflict'], status: 409, description: 'Pay first.' } },
    resources: {
      orders: {
        description: 'What a customer buys at once.',
        prefix: 'ord',
        fields: {
          buyer: f.text({ max: 80, description: 'Who pays.', example: 'Ada Lovelace' }),
          lines: f.list(
            f.object({ article: f.text({ max: 20, description: 'A number of the catalogue.', example: 'A-1' }) }),
          ),
          placedAt: f.timestamp({ optional: true, readOnly: true }),
        },
        states: {
          field: 'status',
          initial: 'draft',
          descriptions: { draft: 'Not placed yet.', placed: 'It will be sent.' },
          transitions: {
            placements: {
              ...{ from: ['draft'], to: 'placed', set: { placedAt: now } },
              input: { by: f.text({ description: 'Who places it.' }) },
              description: 'The customer is bound from now on.',
            },
          },
        },
        operations: {
          quotes: {
            ...{ at: 'collection', output: { total: f.integer({ example: 12 }) } },
            input: { count: f.integer({ description: 'How many.' }) },
            description: 'A price without an order.',
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
    assert.match(info.description, /- `not-paid` \(409\): Pay first\.$/)
    assert.match(tags[0].description, /^What a customer buys at once\.\n\n```mermaid/)
    const { Order, OrderCreate, OrderPlacements, OrderQuotesOutput } = components.schemas
    assert.equal(Order.description, 'What a customer buys at once.')
    for (const schema of [Order, OrderCreate]) {
      assert.deepEqual(
        [schema.properties.buyer.description, schema.properties.buyer.examples],
        ['Who pays.', ['Ada Lovelace']],
      )
      assert.deepEqual(schema.properties.lines.items.properties.article.examples, ['A-1'])
    }
    assert.match(Order.properties.status.description, /^`draft`: Not placed yet\. `placed`: It will be sent\./)
    assert.equal(OrderPlacements.properties.by.description, 'Who places it.')
    assert.deepEqual(OrderQuotesOutput.properties.total.examples, [12])
    assert.match(paths['/orders/{id}/placements'].post.description, /^The customer is bound from now on\./)
    assert.match(paths['/orders/quotes'].post.description, /^A price without an order\./)
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
  })
})
