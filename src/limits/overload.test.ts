/** Overload: when requests are refused, and when they are accepted again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../errors/problem.ts'
import { admitUnlessOverloaded, makeLoopState, recordLoopDelay } from './overload.ts'

function refused(looks: readonly number[]): boolean {
  const loop = makeLoopState()
  for (const late of looks) recordLoopDelay(loop, late, 200)
  try {
    admitUnlessOverloaded(loop, 'a')
    return false
  } catch (error) {
    assert.ok(error instanceof Problem)
    assert.equal(error.type, 'overloaded')
    return true
  }
}

test('five late measurements in a row refuse, and one well below the limit ends it', () => {
  const late = [201, 900, 300, 201, 5000]
  const table: readonly (readonly [looks: readonly number[], refused: boolean])[] = [
    [[], false],
    [[9000], false],
    [late.slice(1), false],
    [late, true],
    [[200, 200, 200, 200, 200], false],
    [[201, 201, 201, 201, 150, 201], false],
    [[...late, 150], true],
    [[...late, 150, 100], true],
    [[...late, 99], false],
    [[...late, 99, 400], false],
    [[...late, 0, ...late], true],
  ]
  for (const [looks, expected] of table) assert.equal(refused(looks), expected, looks.join())
})

test('services are overloaded separately, and Retry-After varies', () => {
  const [one, other] = [makeLoopState(), makeLoopState()]
  for (let n = 0; n < 5; n++) recordLoopDelay(one, 500, 200)
  admitUnlessOverloaded(other, 'a')
  const waits = new Set<string | undefined>()
  for (const id of 'abcdefgh') {
    try {
      admitUnlessOverloaded(one, id)
    } catch (error) {
      waits.add((error as Problem).headers['Retry-After'])
    }
  }
  assert.deepEqual([...waits].sort(), ['1', '2', '3', '4', '5'])
})
