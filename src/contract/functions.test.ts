/** Functions of changes: a changed function with the same revision is reported. Part 9, versioning. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../resources/change.ts'
import { functionsAfter, unrevisedFunctions } from './functions.ts'
import type { Lock } from './lock.ts'

const change = (more: Partial<Change>, version = 'v2'): Change => ({
  about: 'It changed.',
  version,
  resource: 'notes',
  request: ({ a }: { a: string }) => ({ b: a }),
  ...more,
})
const lockOf = (...changes: Change[]): Lock => functionsAfter('v1', changes) as Lock
const upper = ({ b }: { b: string }) => ({ a: b.toUpperCase() })
const lower = ({ b }: { b: string }) => ({ a: b.toLowerCase() })

test('a changed function needs another revision, and is accepted with it', () => {
  const locked = [lockOf(change({ response: upper }))]
  assert.deepEqual(unrevisedFunctions([change({ response: upper })], locked), [])
  const [mistake, ...more] = unrevisedFunctions([change({ response: lower })], [...locked, ...locked])
  assert.equal(mistake?.place, 'changes.v2.notes')
  assert.match(mistake?.mend ?? '', /revision: 2/)
  assert.equal(more.length, 0)
  assert.deepEqual(unrevisedFunctions([change({ response: lower, revision: 2 })], locked), [])
  const again = [lockOf(change({ response: lower, revision: 2 }))]
  assert.match(unrevisedFunctions([change({ response: upper, revision: 2 })], again)[0]?.mend ?? '', /revision: 3/)
  assert.equal(unrevisedFunctions([change({ response: upper, request: lower })], locked).length, 1)
})

test('spaces, comments and quotes do not change a function', () => {
  const locked = [lockOf(change({ response: ({ b }: { b: string }) => ({ a: b === 'x' ? 'y' : b }) }))]
  // biome-ignore format: it is about the form
  const other = ({ b }: { b: string }) => /* again */ ({
    a: b === "x" ? "y" : b, // the rest stays
  })
  assert.deepEqual(unrevisedFunctions([change({ response: other })], locked), [])
})

test('changes of one resource are distinguished, and a new one in front does not move them', () => {
  const two = [change({ response: upper }), change({ response: lower })]
  const locked = [lockOf(...two)]
  assert.deepEqual(unrevisedFunctions([change({ response: lower }, 'v3'), ...two], locked), [])
  assert.equal(unrevisedFunctions(two.toReversed(), locked).length, 2)
  assert.deepEqual(unrevisedFunctions([], locked), [])
  assert.deepEqual(functionsAfter('v2', two), {})
})
