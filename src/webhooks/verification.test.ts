/** What receivers verify deliveries with: against our signatures, those of another package, and forged ones. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { describe, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { verify, WebhookError, type WebhookFault } from 'bylaw/webhooks'
import { Webhook } from 'standardwebhooks'
import { imports } from '../../test/help/source.ts'
import { ed25519Pair, hmacSecret, makeSigner } from './signature.ts'

const at = Date.UTC(2026, 0, 1)
const now = () => at
const event = { id: 'evt_1', type: 'order.placed', data: { name: 'Zoë 漢 😀' } }
const content = { id: 'evt_1', at, body: JSON.stringify(event) }
const secret = hmacSecret(new Uint8Array(32).fill(1))
const pair = ed25519Pair(new Uint8Array(32).fill(2))
const signed = makeSigner([secret])(content)
const signedBoth = makeSigner([secret, pair.secret])(content)

const fails = (promise: Promise<unknown>, fault: WebhookFault, message: RegExp) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof WebhookError)
    assert.equal(error.fault, fault)
    assert.match(error.message, message)
    return true
  })

describe('accepted', () => {
  test('a signature of each kind, with the secret or the public key', async () => {
    for (const key of [secret, pair.publicKey, [secret], [pair.publicKey, secret]])
      assert.deepEqual(await verify(signedBoth, content.body, key, { now }), event)
  })
  test('headers of fetch, of Node, and names in any case', async () => {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = signed
    const spellings = [
      new Headers({ ...signed }),
      new Map(Object.entries(signed)) as unknown as { get: (name: string) => string | null },
      { 'Webhook-Id': id, 'Webhook-Timestamp': timestamp, 'WEBHOOK-SIGNATURE': signature, get: 'a header' },
      { ...signed, 'webhook-id': [id], cookie: undefined },
    ]
    for (const headers of spellings) assert.deepEqual(await verify(headers, content.body, secret, { now }), event)
  })
  test('a body of bytes', async () => {
    for (const body of [Buffer.from(content.body), new TextEncoder().encode(content.body)])
      assert.deepEqual(await verify(signed, body, secret, { now }), event)
  })
  test('the former or the new key during a rotation, on either side', async () => {
    const next = hmacSecret(new Uint8Array(64).fill(3))
    const rotating = makeSigner([next, secret])(content)
    for (const key of [secret, next]) assert.ok(await verify(rotating, content.body, key, { now }))
    for (const headers of [signed, makeSigner([next])(content)])
      assert.ok(await verify(headers, content.body, [secret, next], { now }))
  })
  test('signatures of unknown versions next to a known one', async () => {
    const headers = { ...signed, 'webhook-signature': `v2,AAAA v1 v1, , ${signed['webhook-signature']}` }
    assert.ok(await verify(headers, content.body, secret, { now }))
  })
  test('a signature by the standardwebhooks package', async () => {
    const foreign = new Webhook(secret).sign('evt_1', new Date(at), content.body)
    assert.deepEqual(await verify({ ...signed, 'webhook-signature': foreign }, content.body, secret, { now }), event)
  })
})

describe('refused', () => {
  test('a body, an id or a time that was changed, and a signature of another secret', async () => {
    const cases = [
      [signed, content.body.replace('placed', 'failed'), secret],
      [signed, `${content.body} `, secret],
      [{ ...signed, 'webhook-id': 'evt_2' }, content.body, secret],
      [{ ...signed, 'webhook-timestamp': String(at / 1000 + 1) }, content.body, secret],
      [signed, content.body, hmacSecret(new Uint8Array(32).fill(9))],
      [signed, content.body, pair.publicKey],
      [signedBoth, content.body, ed25519Pair(new Uint8Array(32).fill(9)).publicKey],
      [{ ...signed, 'webhook-signature': signed['webhook-signature'].replace('v1,', 'v1a,') }, content.body, secret],
      [{ ...signed, 'webhook-signature': 'v1,' }, content.body, secret],
      [{ ...signed, 'webhook-signature': signed['webhook-signature'].slice(0, -6) }, content.body, secret],
    ] as const
    for (const [headers, body, key] of cases)
      await fails(verify(headers, body, key, { now }), 'no-matching-signature', /another one, or the body was changed/)
  })
  test('every change of a single bit of a signature', async () => {
    const [version, text = ''] = signed['webhook-signature'].split(',')
    const bytes = Buffer.from(text, 'base64')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const forged = Buffer.from(bytes)
      forged[bit >> 3] = (forged[bit >> 3] as number) ^ (1 << (bit & 7))
      const headers = { ...signed, 'webhook-signature': `${version},${forged.toString('base64')}` }
      await fails(verify(headers, content.body, secret, { now }), 'no-matching-signature', /matches/)
    }
  })
  test('a delivery that is older or newer than five minutes, or than the tolerance', async () => {
    const after = (seconds: number) => ({ now: () => at + seconds * 1000 })
    for (const seconds of [-300, 300]) assert.ok(await verify(signed, content.body, secret, after(seconds)))
    await fails(verify(signed, content.body, secret, after(301)), 'timestamp-too-old', /301 seconds old.* 300/)
    await fails(verify(signed, content.body, secret, after(-301)), 'timestamp-too-new', /301 seconds ahead.*clock/)
    const strict = { ...after(11), tolerance: 10 }
    await fails(verify(signed, content.body, secret, strict), 'timestamp-too-old', /allowed are 10/)
    await fails(verify(signed, content.body, secret), 'timestamp-too-old', /seconds old/) // by the clock of the machine
  })
  test('headers that are missing or malformed', async () => {
    for (const name of Object.keys(signed)) {
      const { [name as 'webhook-id']: _, ...others } = signed
      await fails(verify(others, content.body, secret, { now }), 'missing-header', new RegExp(`${name} is missing`))
      await fails(verify(new Headers(others), content.body, secret, { now }), 'missing-header', /missing/)
    }
    for (const timestamp of ['soon', '-1', '1e9', '12.5', ' 1767225600', '9'.repeat(13)])
      await fails(
        verify({ ...signed, 'webhook-timestamp': timestamp }, content.body, secret, { now }),
        'malformed-header',
        /not a time in seconds/,
      )
  })
  test('secrets that are none, which are never shown', async () => {
    const wrong = ['', 'secret', 'whsec_', 'whsec_AAAA', `${pair.publicKey}A`, pair.secret, undefined, []]
    for (const key of wrong)
      await assert.rejects(
        verify(signed, content.body, key as string, { now }),
        (error) => error instanceof WebhookError && error.fault === 'malformed-secret' && !/AAAA/.test(error.message),
      )
  })
  test('a body that is parsed already, or that is not JSON', async () => {
    await fails(verify(signed, event as unknown as string, secret, { now }), 'malformed-body', /as it came/)
    const text = { ...content, body: 'Hello' }
    await fails(verify(makeSigner([secret])(text), text.body, secret, { now }), 'malformed-body', /not JSON/)
  })
})

test('it runs with the globals of a browser alone', async () => {
  const path = 'src/webhooks/verification.ts'
  const text = readFileSync(path, 'utf8')
  assert.deepEqual(imports({ path, text }), [])
  const script = stripTypeScriptTypes(text).replaceAll(/^export /gm, '')
  const own = runInNewContext(`${script};verify`, { crypto, atob, TextEncoder, TextDecoder, URL }) as typeof verify
  const key = [secret, pair.publicKey]
  for (const headers of [signed, signedBoth])
    assert.equal(JSON.stringify(await own(headers, content.body, key, { now })), content.body)
  const forged = Buffer.from(content.body.replace('placed', 'failed'))
  await assert.rejects(own(signed, forged, key, { now }), { fault: 'no-matching-signature' })
})
