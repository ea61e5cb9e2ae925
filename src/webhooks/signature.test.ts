/** Signatures of deliveries: the forms of Standard Webhooks, and the vectors of other implementations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { ed25519Pair, hmacSecret, makeSigner } from './signature.ts'

const content = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1_614_265_330_000, body: '{"test": 2432232314}' }
/** The vectors that the libraries of Standard Webhooks share. */
const vectors = [
  {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  {
    secret: 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
    signature: 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
  },
]

test('a delivery is signed as other implementations sign it', () => {
  for (const { secret, signature } of vectors)
    assert.deepEqual(makeSigner([secret])(content), {
      'webhook-id': content.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': signature,
    })
})

test('several secrets sign at once, in their order', () => {
  const { 'webhook-signature': signatures } = makeSigner(vectors.map(({ secret }) => secret))(content)
  assert.equal(signatures, vectors.map(({ signature }) => signature).join(' '))
})

test('the timestamp is in whole seconds, rounded down', () => {
  const sign = makeSigner([hmacSecret(new Uint8Array(32))])
  assert.equal(sign({ ...content, at: 1_999 })['webhook-timestamp'], '1')
})

test('the standardwebhooks package verifies a signature, also with one key of two', () => {
  const [former, current] = [1, 2].map((byte) => hmacSecret(new Uint8Array(32).fill(byte))) as [string, string]
  const body = JSON.stringify({ id: 'evt_1', name: 'Zoë 漢 😀' })
  const headers = makeSigner([current, former])({ id: 'evt_1', at: Date.now(), body })
  for (const secret of [former, current])
    assert.deepEqual(new Webhook(secret).verify(body, { ...headers }), JSON.parse(body))
  const other = new Webhook(hmacSecret(new Uint8Array(32).fill(3)))
  assert.throws(() => other.verify(body, { ...headers }), /No matching signature/)
})

test('a key pair follows from its random bytes', () => {
  const secret = vectors[1]?.secret as string
  const seed = Buffer.from(secret.slice(5), 'base64').subarray(0, 32)
  assert.deepEqual(ed25519Pair(seed), { secret, publicKey: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=' })
})

test('secrets of another length or form are refused, and never shown', () => {
  for (const length of [0, 23, 65]) assert.throws(() => hmacSecret(new Uint8Array(length)), /24 to 64 bytes/)
  for (const length of [24, 64]) assert.match(hmacSecret(new Uint8Array(length)), /^whsec_A+/)
  assert.throws(() => ed25519Pair(new Uint8Array(64)), /32 bytes/)
  assert.throws(() => makeSigner([]), /at least one secret/)
  for (const secret of ['', 'secret', 'whsec_AAAA', 'whsk_AAAA', ed25519Pair(new Uint8Array(32)).publicKey])
    assert.throws(
      () => makeSigner([secret]),
      (error: Error) => /malformed/.test(error.message) && !/AAAA/.test(error.message),
    )
})
