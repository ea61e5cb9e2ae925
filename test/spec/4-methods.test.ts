/** Part 4 of the contract, methods: the answer of each method on each kind of target. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text() }

const yard = service({
  name: 'yard',
  resources: {
    carts: { prefix: 'crt', fields, access: 'public' },
    wheels: { prefix: 'whl', parent: { resource: 'carts', onDelete: 'cascade' }, fields, access: 'public' },
    bells: { prefix: 'bel', fields, access: 'public', methods: ['create'] },
    signs: { prefix: 'sgn', fields, access: 'public', methods: ['list', 'read', 'replace'] },
  },
})

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const withBody = new Set<string>(['POST', 'PUT', 'PATCH'])

async function cart(door: Door): Promise<string> {
  return (await door.send('POST', '/carts', { json: { name: 'A' } })).headers.location as string
}

async function gone(door: Door): Promise<string> {
  const path = await cart(door)
  await door.send('DELETE', path)
  return path
}

let used = 0
const unused = async (): Promise<string> => `/carts/crt_${String(++used).padStart(26, '0')}`

/** A target for every request, and the statuses of the methods there, in their order. */
const targets: Record<string, [at: (door: Door) => Promise<string>, statuses: readonly number[]]> = {
  'a collection': [async () => '/carts', [200, 200, 201, 405, 405, 405, 204]],
  'an item': [cart, [200, 200, 405, 200, 200, 204, 204]],
  'an item that never was': [unused, [404, 404, 405, 201, 404, 404, 204]],
  'a text that is no identifier': [async () => '/carts/foo', [404, 404, 405, 404, 404, 404, 204]],
  'a deleted item': [gone, [410, 410, 405, 410, 410, 204, 204]],
  'a list below an item': [async (door) => `${await cart(door)}/wheels`, [200, 200, 201, 405, 405, 405, 204]],
  'a list below a deleted item': [async (door) => `${await gone(door)}/wheels`, [410, 410, 410, 405, 405, 405, 204]],
  'a list below no item': [async () => `${await unused()}/wheels`, [404, 404, 404, 405, 405, 405, 204]],
  'the flat list of children': [async () => '/wheels', [200, 200, 405, 405, 405, 405, 204]],
  'a child below its parent': [
    async (door) => {
      const { headers } = await door.send('POST', `${await cart(door)}/wheels`, { json: { name: 'A' } })
      return `${await cart(door)}${headers.location}`
    },
    [404, 404, 404, 404, 404, 404, 404],
  ],
  'an undeclared path': [async () => '/cart', [404, 404, 404, 404, 404, 404, 404]],
  'an undeclared path below an item': [
    async (door) => `${await cart(door)}/axles`,
    [404, 404, 404, 404, 404, 404, 404],
  ],
  'a collection that only takes': [async () => '/bells', [405, 405, 201, 405, 405, 405, 204]],
  'an item of it': [async () => '/bells/bel_00000000000000000000000000', [404, 404, 404, 404, 404, 404, 404]],
  'a collection that only shows': [async () => '/signs', [200, 200, 405, 405, 405, 405, 204]],
  'an item that may only be replaced': [
    async () => '/signs/sgn_00000000000000000000000000',
    [404, 404, 405, 404, 405, 405, 204],
  ],
}

doors('methods and targets', yard, (door) => {
  for (const [name, [at, statuses]] of Object.entries(targets))
    spec('R1 R11 R12 R87 R109 R113 R131 R133 R136', name, async () => {
      const allowed = methods.filter((_, i) => statuses[i] !== 405).sort()
      for (const [i, method] of methods.entries()) {
        const path = await at(door)
        const answer = await door.send(method, path, withBody.has(method) ? { json: { name: 'B' } } : {})
        assert.equal(answer.status, statuses[i], `${method} ${path} ${answer.text}`)
        if (answer.status === 405 || method === 'OPTIONS')
          assert.deepEqual(
            answer.headers.allow?.split(', ').sort(),
            statuses[i] === 404 ? undefined : allowed,
            `${method} ${path}`,
          )
        if (method === 'HEAD' || answer.status === 204) assert.equal(answer.text, '')
        if (answer.status >= 400 && method !== 'HEAD') assert.equal(answer.json.types.at(-2), 'client-error')
      }
    })
})
