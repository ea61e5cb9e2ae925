/** Part 4 of the contract, list parameters: names and values in the query string, and the known names. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
type Json = any

let count = 0
async function named(door: Door, ...names: string[]): Promise<void> {
  for (const name of names) {
    const json = { name, email: `c${++count}@example.com`, country: 'IT' }
    assert.equal((await door.send('POST', '/customers', { json })).status, 201)
  }
}

async function names(door: Door, query: string): Promise<string[]> {
  const { status, json, text } = await door.send('GET', `/customers?${query}`)
  assert.equal(status, 200, `${query} ${text}`)
  return json.data.map(({ name }: Json) => name)
}

/** The violations of a refused query, as type and name. */
async function faults(door: Door, target: string): Promise<[type: string, name: string][]> {
  const { status, json, text } = await door.send('GET', target)
  assert.equal(status, 400, `${target} ${text}`)
  assert.deepEqual(json.types, ['invalid-query', 'invalid-request', 'client-error', 'error'], target)
  assert.deepEqual(json.cause, json.errors[0])
  for (const one of json.errors) {
    assert.equal(one.in, 'query')
    assert.deepEqual(one.types, [one.type, 'invalid-query', 'invalid-request', 'client-error', 'error'])
  }
  return json.errors.map(({ type, name }: Json) => [type, name])
}

doors('reading the query string', shop, (door) => {
  spec('R20', 'plus and %20 are a space, %2B is a plus', async () => {
    await named(door, 'a b', 'a+b', 'ab')
    for (const query of ['name=a+b', 'name=a%20b', '%6Eame=a+b'])
      assert.deepEqual(await names(door, query), ['a b'], query)
    for (const query of ['name=a%2Bb', 'name=a%2bb']) assert.deepEqual(await names(door, query), ['a+b'], query)
  })
  spec('R20', 'values are decoded once, as UTF-8', async () => {
    await named(door, '%41', 'é', '𝄞', 'a&b=c', 'x#y')
    assert.deepEqual(await names(door, 'name=%2541'), ['%41'])
    assert.deepEqual(await names(door, 'name=%C3%A9'), ['é'])
    assert.deepEqual(await names(door, 'name=%F0%9D%84%9E'), ['𝄞'])
    assert.deepEqual(await names(door, 'name=a%26b%3Dc'), ['a&b=c'])
    assert.deepEqual(await names(door, 'name=a%26b=c'), ['a&b=c'])
    assert.deepEqual(await names(door, 'name=x%23y'), ['x#y'])
  })
  spec(
    'R20',
    'a malformed escape, or bytes that are not UTF-8, are 400 and say how a percent sign is written',
    async () => {
      const wrong = ['%', '%f', '%fo', '%zz', '%FF', '%C3', '%C3%28', '%C0%80', '%ED%A0%80', '%u0041', '%F5%80%80%80']
      for (const part of wrong) {
        for (const query of [`name=${part}`, `${part}=a`, `limit=1&name=a${part}`, `${part}`]) {
          for (const path of ['/customers', `/customers/cus_${'0'.repeat(26)}`]) {
            const { status, json } = await door.send('GET', `${path}?${query}`)
            assert.equal(status, 400, query)
            assert.deepEqual(json.types, ['invalid-url-encoding', 'invalid-request', 'client-error', 'error'], query)
            assert.equal(json.in, 'query')
            assert.match(json.message, /%25/)
          }
        }
      }
      assert.equal((await door.send('POST', '/customers?a=%zz', { json: {} })).json.type, 'invalid-url-encoding')
    },
  )
  spec('R20', 'the wildcards of [like] are written %25', async () => {
    await named(door, 'seafood')
    assert.equal((await door.send('GET', '/customers?name[like]=%foo%')).json.type, 'invalid-url-encoding')
    assert.deepEqual(await names(door, 'name[like]=%25foo%25'), ['seafood'])
  })
  spec('R21', 'brackets mean the same raw and encoded', async () => {
    const plain = await door.send('GET', '/orders?total[gte]=10&limit=1')
    for (const name of ['total%5Bgte%5D', 'total%5bgte%5d', 'total[gte%5D', 't%6Ftal%5Bgte]']) {
      const other = await door.send('GET', `/orders?${name}=10&limit=1`)
      assert.deepEqual([other.status, other.text], [200, plain.text], name)
    }
    assert.deepEqual(await faults(door, '/orders?total[gte]=1&total%5Bgte%5D=1'), [
      ['repeated-parameter', 'total[gte]'],
    ])
  })
  spec('R21', 'links are made in the encoded form', async () => {
    await named(door, 'z1', 'z2', 'z3')
    const { headers } = await door.send('GET', '/customers?name[like]=z%25&page=1&page_size=2')
    assert.match(headers.link ?? '', /<\/customers\?name%5Blike%5D=z%25&page_size=2&page=2>; rel="next"/)
    assert.doesNotMatch(headers.link ?? '', /[[\]]/)
  })
  spec('R24', 'neither the order of parameters nor empty segments change the result', async () => {
    await named(door, 'q1', 'q2')
    const plain = await door.send('GET', '/customers?sort=name&name[like]=q%25&order=desc')
    for (const query of [
      'order=desc&name[like]=q%25&sort=name',
      '&&sort=name&&&order=desc&name[like]=q%25&',
      'name[like]=q%25&sort=name&order=desc&&',
    ])
      assert.deepEqual((await door.send('GET', `/customers?${query}`)).json, plain.json, query)
    for (const query of ['', '&', '&&&'])
      assert.equal((await door.send('GET', `/customers?${query}`)).status, 200, query)
    const item = (await door.send('POST', '/warehouses', { json: { name: 'A' } })).headers.location
    for (const query of ['?', '?&', '?&&']) assert.equal((await door.send('GET', `${item}${query}`)).status, 200, query)
  })
})

doors('parameters that are known', shop, (door) => {
  const item = `/customers/cus_${'0'.repeat(26)}`
  spec('R22', 'an unknown parameter is 400, and the accepted ones are named', async () => {
    assert.deepEqual(await faults(door, '/customers?coutry=IT'), [['unknown-parameter', 'coutry']])
    const { message } = (await door.send('GET', '/customers?coutry=IT')).json.cause
    for (const word of ['coutry', 'country', 'email', 'sort', 'page_size']) assert.ok(message.includes(word), message)
  })
  spec('R22', 'items take only the parameter `fields`, and writes take no parameter', async () => {
    assert.deepEqual(await faults(door, `${item}?x=1`), [['unknown-parameter', 'x']])
    assert.deepEqual(await faults(door, `${item}?limit=1&sort`), [
      ['unknown-parameter', 'limit'],
      ['unknown-parameter', 'sort'],
    ])
    for (const [method, path] of [
      ['POST', '/customers'],
      ['PUT', item],
      ['PATCH', item],
      ['DELETE', item],
    ] as const) {
      const answer = await door.send(method, `${path}?x=1`, method === 'DELETE' ? {} : { json: {} })
      assert.equal(answer.status, 400, method)
      assert.equal(answer.json.cause.type, 'unknown-parameter')
    }
  })
  spec('R22', 'odd names are unknown parameters, and are quoted unchanged', async () => {
    for (const [query, name] of [
      ['=1', ''],
      ['%3Cscript%3E=1', '<script>'],
      ['a%00b', 'a\u0000b'],
      ['__proto__=1', '__proto__'],
      ['constructor', 'constructor'],
      ['name%5B', 'name['],
      ['%F0%9D%84%9E', '𝄞'],
    ] as const) {
      assert.deepEqual(await faults(door, `${item}?${query}`), [['unknown-parameter', name]])
      assert.equal((await door.send('GET', `/customers?${query}`)).status, 400, query)
    }
  })
  spec('R23', 'a repeated parameter is 400, also where the values agree', async () => {
    assert.deepEqual(await faults(door, '/customers?country=IT&country=FR'), [['repeated-parameter', 'country']])
    assert.deepEqual(await faults(door, '/customers?limit=5&limit=5'), [['repeated-parameter', 'limit']])
    assert.deepEqual(await faults(door, '/customers?limit=5&l%69mit=5'), [['repeated-parameter', 'limit']])
  })
  spec('R22 R23 R154', 'all violations are reported together, in the order of the parameters', async () => {
    assert.deepEqual(await faults(door, '/customers?limit=1&a=1&limit=2&b=2'), [
      ['repeated-parameter', 'limit'],
      ['unknown-parameter', 'a'],
      ['unknown-parameter', 'b'],
    ])
    const many = Array.from({ length: 80 }, (_, i) => `x${i}=1`).join('&')
    assert.equal((await faults(door, `/customers?${many}`)).length, 50)
  })
  spec('R25', 'names are case-sensitive', async () => {
    for (const name of [
      'Limit',
      'LIMIT',
      'Page_Size',
      'pageSize',
      'page-size',
      'Name',
      'NAME',
      'customSort',
      'custom_Sort',
    ])
      assert.deepEqual(await faults(door, `/customers?${name}=1`), [['unknown-parameter', name]])
    assert.deepEqual(await faults(door, '/orders?customer_id=1'), [['unknown-parameter', 'customer_id']])
    assert.deepEqual(await faults(door, '/orders?CustomerId=1'), [['unknown-parameter', 'CustomerId']])
    assert.equal((await door.send('GET', `/orders?customerId=cus_${'0'.repeat(26)}`)).status, 200)
    assert.equal((await door.send('GET', '/customers?page_size=5')).status, 200)
  })
})

const things = { fields: { name: f.text({ filter: true }) }, access: 'public' } as const

doors(
  'parameters that are ignored',
  service({ name: 'lax', resources: { things }, settings: { query: { unknown: 'ignore' } } }),
  (door) => {
    spec('R22', 'with query.unknown ignore an unknown parameter changes nothing', async () => {
      const path = (await door.send('POST', '/things?a=1', { json: { name: 'A' } })).headers.location
      const plain = await door.send('GET', '/things')
      for (const target of ['/things?a=1', '/things?nam=B&a', '/things?=1'])
        assert.deepEqual((await door.send('GET', target)).json, plain.json, target)
      assert.equal((await door.send('GET', `${path}?a=1`)).status, 200)
      assert.deepEqual((await door.send('GET', '/things?name=B&a=1')).json.data, [])
      assert.equal((await door.send('GET', '/things?limit=x')).status, 400)
      assert.equal((await door.send('GET', '/things?name=a&name=b')).status, 400)
    })
  },
)

doors(
  'parameters of others',
  service({ name: 'tracked', resources: { things }, settings: { query: { ignored: ['utm_source', 'fbclid'] } } }),
  (door) => {
    spec('R22', 'the names of query.ignored are ignored, and no others', async () => {
      assert.equal((await door.send('GET', '/things?utm_source=a&fbclid=b')).status, 200)
      assert.equal((await door.send('POST', '/things?fbclid=b', { json: { name: 'A' } })).status, 201)
      assert.deepEqual(await faults(door, '/things?utm_source=a&utm_medium=b'), [['unknown-parameter', 'utm_medium']])
    })
  },
)
