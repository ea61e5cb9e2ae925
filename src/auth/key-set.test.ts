import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { realWorld } from '../flow/real-world.ts'
import { keySet, textFetcher } from './key-set.ts'

const server = createServer((request, response) => {
  if (request.url === '/away') response.writeHead(302, { location: '/keys' }).end()
  else if (request.url === '/long')
    for (let i = 0; i < 20; i++) response.write('x'.repeat(100_000), () => i === 19 && response.end())
  else if (request.url === '/keys') response.end('{"keys":[]}')
  else response.writeHead(404).end()
}).listen(0, '127.0.0.1')
after(() => server.close())
await new Promise((resolve) => server.once('listening', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const fetchText = textFetcher(realWorld)

test('keys are fetched from the declared URL only: no redirects, and a limited size', async () => {
  assert.equal(await fetchText(`${url}/keys`), '{"keys":[]}')
  for (const path of ['/away', '/long', '/none']) await assert.rejects(fetchText(url + path), path)
})

const { publicKey } = await generateKeyPair('ES256')
const jwk = { ...(await exportJWK(publicKey)), kid: 'one' }
const header = { alg: 'ES256', kid: 'one' }
const token = { payload: '', signature: '' }
const unreachable = ({ type }: { readonly type?: string }) => type === 'dependency-unavailable'

test('an answer that is not a key set counts as no answer, and known keys stay in use', async () => {
  let now = 0
  const answers = ['nonsense', '{"keys":5}', JSON.stringify({ keys: [jwk] }), 'nonsense again']
  let asked = 0
  const key = keySet(
    '',
    async () => answers[asked++] ?? assert.fail('asked too often'),
    () => now,
  )
  await assert.rejects(async () => key(header, token), unreachable)
  await assert.rejects(async () => key(header, token), unreachable)
  assert.equal(asked, 1, 'asked again only after a pause')
  now += 5000
  await assert.rejects(async () => key(header, token), unreachable)
  now += 5000
  assert.ok(await key(header, token))
  now += 600_001
  assert.ok(await key(header, token), 'it is asked in the background')
  await new Promise(setImmediate)
  assert.equal(asked, 4)
  assert.ok(await key(header, token))
  assert.equal(asked, 4)
})

test('a server that failed for an unknown key is asked again after a pause, as it is without any key', async () => {
  let now = 0
  const next = { ...jwk, kid: 'two' }
  const answers = [JSON.stringify({ keys: [jwk] }), 'nonsense', JSON.stringify({ keys: [jwk, next] })]
  let asked = 0
  const key = keySet(
    '',
    async () => answers[asked++] ?? assert.fail('asked too often'),
    () => now,
  )
  assert.ok(await key(header, token))
  now += 30_000
  const rotated = { ...header, kid: 'two' }
  await assert.rejects(async () => key(rotated, token), unreachable)
  now += 4999
  await assert.rejects(async () => key(rotated, token), unreachable)
  assert.ok(await key(header, token))
  now += 1
  assert.ok(await key(rotated, token))
  assert.equal(asked, 3)
})

test('an invalid entry of the set leaves the others in use', async () => {
  const set = JSON.stringify({ keys: [null, 5, 'key', [], jwk, {}] })
  const key = keySet(
    '',
    async () => set,
    () => 0,
  )
  assert.ok(await key(header, token))
})
