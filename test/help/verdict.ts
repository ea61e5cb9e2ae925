/** Shortens refusals for comparisons: the type and the place of every error. */
import assert from 'node:assert/strict'
import type { Answer, Door } from './door.ts'

/** Asserts a 400 in the full shape of errors, and returns `type /pointer` of every violation. */
export function wrong({ status, json, text }: Answer): string[] {
  assert.equal(status, 400, text)
  assert.equal(json.type, 'validation-failed')
  assert.deepEqual(json.types, ['validation-failed', 'invalid-request', 'client-error', 'error'])
  assert.deepEqual(json.cause, json.errors[0])
  return json.errors.map((one: Violation) => {
    assert.deepEqual(one.types, [one.type, ...json.types])
    assert.equal(one.in, 'body')
    assert.ok(one.message.endsWith('.') || one.message.endsWith('?'), one.message)
    return `${one.type} ${one.pointer}`
  })
}

interface Violation {
  readonly type: string
  readonly types: readonly string[]
  readonly in: string
  readonly pointer: string
  readonly message: string
}

/** Creates an item, asserts the 201 and returns the answer. */
export async function created(door: Door, path: string, json: unknown): Promise<Answer> {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer
}
