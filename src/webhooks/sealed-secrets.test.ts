/** Secrets as they are stored: who can open them, and what is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { sealedSecrets } from './sealed-secrets.ts'

const world = testWorld()
const [pepper, other] = ['the first pepper', 'the other pepper']
const secrets = sealedSecrets([pepper], world)
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

test('a sealed secret opens for its endpoint, and does not show the secret', () => {
  const sealed = secrets.seal(secret, 'whe_1')
  assert.equal(secrets.open(sealed, 'whe_1'), secret)
  assert.match(sealed, /^s1\.[\w-]+$/)
  const text = Buffer.from(sealed.slice(3), 'base64url').toString('latin1')
  assert.doesNotMatch(text, /whsec|MfKQ/)
})

test('a secret is sealed to another text each time', () => {
  const sealed = [1, 2, 3].map(() => secrets.seal(secret, 'whe_1'))
  assert.equal(new Set(sealed).size, 3)
  for (const one of sealed) assert.equal(secrets.open(one, 'whe_1'), secret)
})

test('it does not open for another endpoint, with another pepper, or after a change', () => {
  const sealed = secrets.seal(secret, 'whe_1')
  const names = /whe_\d.*BYLAW_PEPPER.*rotate/
  assert.throws(() => secrets.open(sealed, 'whe_2'), names)
  assert.throws(() => sealedSecrets([other], world).open(sealed, 'whe_1'), names)
  assert.throws(() => sealedSecrets([], world).open(sealed, 'whe_1'), names)
  const bytes = Buffer.from(sealed.slice(3), 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i] = (changed[i] as number) ^ 1
    assert.throws(() => secrets.open(`s1.${changed.toString('base64url')}`, 'whe_1'), names)
  }
  for (const text of ['', 's1.', secret, sealed.slice(3), sealed.slice(0, 40), `s2.${sealed.slice(3)}`])
    assert.throws(() => secrets.open(text, 'whe_1'), names)
})

test('during a rotation of peppers the first one seals and all open', () => {
  const former = secrets.seal(secret, 'whe_1')
  const both = sealedSecrets([other, pepper], world)
  assert.equal(both.open(former, 'whe_1'), secret)
  assert.equal(sealedSecrets([other], world).open(both.seal(secret, 'whe_1'), 'whe_1'), secret)
  assert.throws(() => secrets.open(both.seal(secret, 'whe_1'), 'whe_1'), /BYLAW_PEPPER/)
})

test('without a pepper nothing is sealed', () => {
  assert.throws(() => sealedSecrets([], world).seal(secret, 'whe_1'), /BYLAW_PEPPER/)
})
