/** Contract section 11: fields to be used no longer are marked in the description, and nowhere else. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { contractOf } from '../../src/contract/contract.ts'
import type { Service } from '../../src/service.ts'
import { spec } from '../help/door.ts'

describe('deprecated fields', () => {
  const declared = (given: { readonly deprecated?: boolean }) =>
    service({
      name: 'shop',
      errors: {
        'not-paid': { status: 409, parents: ['conflict'], fields: { sum: f.integer({ ...given, optional: true }) } },
      },
      resources: {
        orders: {
          prefix: 'ord',
          fields: {
            buyer: f.text({ ...given, max: 80, filter: ['like', 'ne'], sort: true }),
            stateOf: f.enum(['a', 'b'], { ...given, default: 'a', filter: true }),
            address: f.object({ street: f.text({ ...given, optional: true }), city: f.text() }, { optional: true }),
            scan: f.file({ ...given }),
            note: f.text({ optional: true, filter: true }),
          },
          operations: {
            quotes: {
              at: 'collection',
              input: { count: f.integer({ ...given }) },
              output: { total: f.integer({ ...given }) },
            },
          },
          access: 'public',
        },
      },
    }).handlers({ orders: { quotes: ({ input }) => ({ total: input.count }) } })
  type Node = { readonly [name: string]: Node }
  const documentOf = async (api: object) => {
    const { call, close } = testing(api as Service)
    const document = (await (await call('/openapi.json')).json()) as Node
    await close()
    return document
  }
  const marked = (node: unknown, path: readonly string[] = []): string[] =>
    typeof node !== 'object' || node === null
      ? []
      : Object.entries(node).flatMap(([name, one]) =>
          name === 'deprecated' && one === true ? [path.join('.')] : marked(one, [...path, name]),
        )

  spec('R202 R217', 'they are marked in bodies and in the parameters that filter by them', async () => {
    const document = await documentOf(declared({ deprecated: true }))
    const own = (name: string) =>
      marked(document.components?.schemas?.[name]).map((path) => path.replace('properties.', ''))
    const fields = ['buyer', 'stateOf', 'address.properties.street', 'scan']
    assert.deepEqual(own('Order'), fields)
    for (const name of ['OrderCreate', 'OrderReplace', 'OrderUpdate'])
      assert.deepEqual(
        own(name).filter((path) => path !== 'scan'),
        fields.slice(0, 3),
        name,
      )
    const text = JSON.stringify(document)
    assert.match(text, /"count":\{[^{}]*"deprecated":true/)
    assert.match(text, /"total":\{[^{}]*"deprecated":true/)
    assert.match(text, /"sum":\{[^{}]*"deprecated":true/)
    const parameters = document.paths?.['/orders']?.get?.parameters as unknown as readonly {
      readonly name: string
      readonly deprecated?: boolean
    }[]
    const resolved = parameters.filter(({ deprecated }) => deprecated).map(({ name }) => name)
    assert.deepEqual(
      resolved.toSorted(),
      'buyer buyer[eq] buyer[like] buyer[ne] buyer[null] stateOf stateOf[eq] stateOf[null]'.split(' '),
    )
    assert.deepEqual(marked(await documentOf(declared({}))), [])
  })

  spec('R202', 'they work unchanged, and no contract differs', async () => {
    const api = declared({ deprecated: true })
    assert.deepEqual(contractOf(api.declaration), contractOf(declared({}).declaration))
    const { call, close } = testing(api)
    const made = await call('/orders', { method: 'POST', json: { buyer: 'Ann' } })
    const listed = await call('/orders?buyer[like]=An&stateOf=a&sort=buyer')
    assert.deepEqual([made.status, listed.status], [201, 200])
    assert.equal(((await listed.json()) as { data: unknown[] }).data.length, 1)
    for (const { headers } of [made, listed]) assert.equal(headers.get('deprecation'), null)
    await close()
  })
})
