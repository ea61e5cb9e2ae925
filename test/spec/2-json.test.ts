/** Part 2 of the contract: strict JSON, with bodies that a simple parser would accept or fail on. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const fields = { name: f.text({ optional: true }), quantity: f.integer({ optional: true }), metadata: f.metadata() }
const resources = { notes: { prefix: 'not', fields, access: 'public' } } as const
const desk = service({ name: 'desk', resources })
const tight = service({ name: 'tight', resources, settings: { body: { maxDepth: 2, maxKeys: 3 } } })

const json = { 'content-type': 'application/json' }

type Body = string | Uint8Array
const post = (door: Door, body: Body): Promise<Answer> => door.send('POST', '/notes', { body, headers: json })

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

/** A refusal of the whole body: its type, and its place if it has one. */
function reported({ status, json, text }: Answer): string {
  assert.equal(status, 400, text)
  const one = json.type === 'validation-failed' ? json.cause : json
  assert.equal(one.types.at(-2), 'client-error')
  assert.equal(one.in, 'body')
  return one.pointer === undefined ? one.type : `${one.type} ${one.pointer}`
}

async function refused(door: Door, expected: string, bodies: readonly Body[]): Promise<void> {
  for (const body of bodies)
    assert.equal(
      reported(await post(door, body)),
      expected,
      Buffer.from(body as string)
        .toString()
        .slice(0, 100),
    )
}

doors('strict JSON', desk, (door) => {
  spec('R46 R44a', 'content that is not JSON is malformed', async () => {
    await refused(door, 'malformed-json', [
      '{',
      '}',
      '{"name"',
      '{"name":',
      '{"name":}',
      '{"name":"a"',
      '{"name":"a}',
      '{"name":"a",}',
    ])
    await refused(door, 'malformed-json', [
      '{,}',
      '{"name":"a",,"quantity":1}',
      '{name:"a"}',
      "{'name':'a'}",
      '{"name" "a"}',
      '{"name"="a"}',
    ])
    await refused(door, 'malformed-json', [
      '// x\n{}',
      '/* x */{}',
      '{"name":"a"/**/}',
      '{"name":"a"}//',
      '# x\n{}',
      '<a/>',
      'name=a',
      ' ',
    ])
    await refused(door, 'malformed-json', [
      '{"quantity":NaN}',
      '{"quantity":Infinity}',
      '{"quantity":-Infinity}',
      '{"name":undefined}',
    ])
    await refused(door, 'malformed-json', [
      '{"quantity":01}',
      '{"quantity":+1}',
      '{"quantity":.5}',
      '{"quantity":1.}',
      '{"quantity":0x1}',
    ])
    await refused(door, 'malformed-json', [
      '{"quantity":1e}',
      '{"quantity":--1}',
      '{"quantity":1_000}',
      '{"quantity":1n}',
      '{"quantity":-}',
    ])
    await refused(door, 'malformed-json', [
      '{"name":True}',
      '{"name":nul}',
      '{"name":None}',
      '{"name":"\\x41"}',
      '{"name":"\\u12"}',
      '{"name":"\\"}',
    ])
    await refused(door, 'malformed-json', [
      '{"name":"a\nb"}',
      '{"name":"a\tb"}',
      '{"name":"a\0b"}',
      '{"name":"\u001f"}',
      '{"name":[1,]}',
    ])
  })

  spec('R46 R44a', 'trailing data and a byte order mark are malformed', async () => {
    await refused(door, 'malformed-json', [
      '{"name":"a"}{}',
      '{"name":"a"} x',
      '{}{}',
      '{}]',
      '{},',
      '{}\0',
      '{};',
      '\ufeff{}',
      '{}\ufeff',
      '\u00a0{}',
    ])
  })

  spec('R46', 'white space around the object is ignored', async () => {
    const { status, json: answered } = await post(door, ' \r\n\t{ "name" :\t"a" }\n ')
    assert.deepEqual([status, answered.name], [201, 'a'])
  })

  spec('R46 R44a', 'a top level that is not an object is of the wrong type', async () => {
    await refused(door, 'invalid-type ', [
      '[]',
      '[{}]',
      '[{"name":"a"}]',
      'null',
      'true',
      '1',
      '-0',
      '"name"',
      '""',
      ' [1]',
    ])
  })

  spec('R43 R44a', 'a repeated key is refused at its place, also where it is written in another way', async () => {
    await refused(door, 'duplicate-json-key /name', [
      '{"name":"a","name":"b"}',
      '{"name":"a","name":"a"}',
      '{"name":"a","\\u006eame":"b"}',
      '{"name":{},"name":[]}',
    ])
    await refused(door, 'duplicate-json-key /metadata/k', [
      '{"metadata":{"k":"1","k":"2"}}',
      '{"metadata":{"k":"1","x":"2","\\u006b":"3"}}',
    ])
    await refused(door, 'duplicate-json-key /x/1/a~1b', ['{"x":[0,{"a/b":1,"a\\/b":1}]}'])
    await refused(door, 'duplicate-json-key /__proto__', ['{"__proto__":1,"__proto__":2}'])
    await refused(door, 'duplicate-json-key /', ['{"":1,"":2}'])
    const { status } = await post(door, '{"name":"name","metadata":{"name":"a","metadata":"b"}}')
    assert.equal(status, 201)
  })

  spec('R44 R44a', 'a number that would lose precision or overflow is out of range', async () => {
    const numbers = [
      '9007199254740993',
      '-9007199254740993',
      '1e400',
      '-1e400',
      '1e-400',
      '3.14159265358979323846',
      '9'.repeat(400),
      `0.${'0'.repeat(400)}1`,
    ]
    await refused(
      door,
      'out-of-range /quantity',
      numbers.map((number) => `{"quantity":${number}}`),
    )
    await refused(door, 'out-of-range /x/0', ['{"x":[1e999]}'])
    await refused(door, 'out-of-range ', ['1e999'])
  })

  spec('R45 R44a', 'an unpaired surrogate or U+0000 in a string is refused, never replaced', async () => {
    await refused(door, 'invalid-encoding /name', [
      '{"name":"\\ud800"}',
      '{"name":"\\udc00"}',
      '{"name":"a\\ud83dz"}',
      '{"name":"\\ude00\\ud83d"}',
      '{"name":"\\u0000"}',
      '{"name":"a\\u0000b"}',
      '{"name":"\\uD83D\\u0041"}',
    ])
    await refused(door, 'invalid-encoding /metadata/k', ['{"metadata":{"k":"\\udfff"}}'])
    await refused(door, 'invalid-encoding /metadata', [
      '{"metadata":{"k":"a","\\ud800":"x"}}',
      '{"metadata":{"\\u0000":"x"}}',
    ])
    await refused(door, 'invalid-encoding ', ['{"\\ud800":1}'])
    const { status, json: answered } = await post(door, '{"name":"\\ud83d\\ude00 \\\\ud800 \\\\u0000"}')
    assert.deepEqual([status, answered.name], [201, '\u{1f600} \\ud800 \\u0000'])
  })

  spec('R45 R44a', 'bytes that are not UTF-8 are refused', async () => {
    const broken = [
      [0xff],
      [0xfe, 0xff],
      [0x80],
      [0xc0, 0x80],
      [0xc1, 0xbf],
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xed, 0xbf, 0xbf],
      [0xf0, 0x80, 0x80, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xf8, 0x88, 0x80, 0x80, 0x80],
      [0xe4],
    ]
    await refused(door, 'invalid-encoding', [
      ...broken.map((one) => bytes('{"name":"', one, '"}')),
      bytes('{"', [0xff], '":1}'),
      bytes([0xff, 0xfe, 0x7b, 0, 0x7d, 0]),
    ])
    await refused(door, 'malformed-json', [bytes([0x7b, 0, 0x7d, 0]), bytes([0, 0x7b, 0, 0x7d])])
  })

  spec('R46', 'nesting is bounded, exactly', async () => {
    const nested = (depth: number, open: string, close: string) =>
      `{"x":${open.repeat(depth - 1)}1${close.repeat(depth - 1)}}`
    const within = [nested(32, '[', ']'), nested(32, '{"a":', '}')]
    for (const body of within) assert.equal(reported(await post(door, body)), 'unknown-field /x')
    await refused(door, 'malformed-json', [nested(33, '[', ']'), nested(33, '{"a":', '}')])
    await refused(door, 'malformed-json', [
      '['.repeat(10_000),
      `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      '{"a":'.repeat(100_000),
      nested(100_000, '{"a":', '}'),
    ])
  })

  spec('R46', 'the number of keys in one object is bounded', async () => {
    const keys = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, ''])))
    assert.equal(reported(await post(door, `{"metadata":${keys(1000)}}`)), 'too-many-items /metadata')
    await refused(door, 'malformed-json', [`{"metadata":${keys(1001)}}`, keys(1001)])
  })

  spec('R46', 'keys such as __proto__ are ordinary unknown fields', async () => {
    for (const key of [
      '__proto__',
      'constructor',
      'toString',
      'prototype',
      'hasOwnProperty',
      '__defineGetter__',
      'then',
    ])
      await refused(door, `unknown-field /${key}`, [`{"${key}":{"admin":true}}`, `{"${key}":null}`])
    assert.equal(({} as { admin?: boolean }).admin, undefined)
  })

  spec('R46', 'the refusal of a body says what is wrong without quoting it', async () => {
    const { json: answered } = await post(door, '{"password":"hunter2",}')
    assert.equal(answered.message, 'The content is not valid JSON: it goes wrong at character 22.')
    const { text } = await post(door, '{"password":hunter2}')
    assert.ok(!text.includes('hunter2') && !text.includes('password'))
  })

  spec('R46', 'missing content has an error of its own', async () => {
    for (const method of ['POST', 'PUT', 'PATCH']) {
      const path = method === 'POST' ? '/notes' : '/notes/not_01h455vb4pex5vsknk084sn02q'
      const { status, json: answered } = await door.send(method, path, { body: '', headers: json })
      const expected = method === 'PATCH' ? [404, 'resource-not-found'] : [400, 'body-required']
      assert.deepEqual([status, answered.type], expected)
    }
  })
})

doors('bounds of JSON', tight, (door) => {
  spec('R46', 'body.maxDepth and body.maxKeys are settings', async () => {
    assert.equal((await post(door, '{"metadata":{"a":"1","b":"2","c":"3"}}')).status, 201)
    await refused(door, 'malformed-json', [
      '{"metadata":{"a":{}}}',
      '{"x":[[]]}',
      '{"metadata":{"a":"1","b":"2","c":"3","d":"4"}}',
    ])
    assert.match((await post(door, '{"x":[[]]}')).json.message, /more than 2 levels/)
  })
})
