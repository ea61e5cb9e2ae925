/** Proves how the header Prefer is read, also if it is hostile. R28, R120. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Call } from '../flow/call.ts'
import { appliedOfAsync, preferMinimal, preferredWait } from './prefer.ts'

const callWith = (prefer: string) => ({ headers: { prefer } }) as unknown as Call
const isMinimal = (prefer: string) =>
  preferMinimal(callWith(prefer), { status: 201, headers: {}, body: '{}' }, 204).status === 204

const waits = {
  'wait=5': 5,
  'wait="7"': 7,
  'WAIT = 3 ; foo': 3,
  'respond-async, wait=5': 5,
  'wait=3, wait=9': 3,
  'foo="a,wait=9", wait=3': 3,
  'foo="a\\",wait=9", wait=3': 3,
  'wait=61': 60,
  'wait=1000000000': 60,
  [`wait=${'9'.repeat(4000)}`]: 60,
  'wait=-1': 0,
  'wait=1.5': 0,
  'wait=1e3': 0,
  'wait=': 0,
  wait: 0,
  'foo="unclosed, wait=9': 0,
  'foo="unclosed\\': 0,
  '': 0,
}
for (const [prefer, seconds] of Object.entries(waits))
  test(`R28: the client prefers to wait ${seconds} s with ${prefer.slice(0, 40) || 'nothing'}`, () => {
    assert.equal(preferredWait(callWith(prefer)), seconds)
  })

for (const [prefer, applied] of [
  ['respond-async', 'respond-async'],
  ['wait=5, respond-async', 'respond-async'],
  ['wait="7"', 'wait=7'],
  ['wait=100', 'wait=60'],
  ['wait=0', undefined],
  ['foo', undefined],
] as const)
  test(`R28: an answer 202 to ${prefer} has applied ${applied ?? 'nothing'}`, () => {
    assert.equal(appliedOfAsync(callWith(prefer)), applied)
  })

for (const [prefer, expected] of Object.entries({
  'return=minimal': true,
  'return="minimal"': true,
  'Return = minimal; foo=1': true,
  'wait=5, return=minimal': true,
  'return=representation, return=minimal': false,
  'foo="return=minimal"': false,
  'return minimal': false,
  'foo="unclosed, return=minimal': false,
}))
  test(`R120: ${prefer} ${expected ? 'asks' : 'does not ask'} for no content`, () => {
    assert.equal(isMinimal(prefer), expected)
  })
