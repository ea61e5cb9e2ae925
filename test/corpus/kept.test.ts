/** Databases, tags, cursors and idempotency keys of the code that recorded the corpus stay valid, and the public types are the same. */
import './preload.ts'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { reportOf } from './compare.ts'
import { builtPublicTypes, publicTypeDifferences, withoutComments } from './face.ts'
import { replayDatabases } from './kept.ts'

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

test('stored databases open, and their tags, cursors and keys are answered as recorded', async () => {
  const verdict = await replayDatabases(here('databases.br'))
  assert.ok(verdict.requests > 400 && verdict.differing === 0, reportOf(verdict))
})

describe('public types', () => {
  const kept = readFileSync(here('public.txt'), 'utf8')

  test('differ from the stored ones by comments only', () => {
    assert.deepEqual(publicTypeDifferences(kept, builtPublicTypes()), [])
  })

  test('a planted difference is found', () => {
    const planted = kept.replace('readonly account?: string | null;', 'readonly account: string;')
    assert.match(
      publicTypeDifferences(kept, planted).join(),
      /^As: was .*account\?: string \| null;, is .*account: string;$/,
    )
    assert.deepEqual(publicTypeDifferences(kept, kept.replace(/^\/\/ Testing$/m, '// Trying')), [
      'Testing is missing',
      'Trying is new',
    ])
  })

  test('comments are ignored', () => {
    assert.equal(withoutComments('/** a */\ninterface A {\n  /** b */\n  c: string // d\n}\n').includes('/**'), false)
  })
})
