/** Change functions that need fields which answers do not have. R169, R195. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../fields/field.ts'
import { changeMistakes } from './change-mistakes.ts'

test('a write-only field is not given to `response`, which has to answer without it', () => {
  const unanswered = (response: object) =>
    changeMistakes(
      {
        name: 'shop',
        versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
        resources: {
          customers: { fields: { name: f.text(), code: f.text({ writeOnly: true }) }, access: 'public' },
        },
      } as never,
      [
        {
          ...{ version: 'v2', resource: 'customers', about: 'It changed.', response },
          removed: { size: f.integer(), pin: f.text({ writeOnly: true }), memo: f.text({ optional: true }) },
        } as never,
      ],
    ).map(({ place, reason }) => `${place}: ${reason}`)
  type Now = { name: string; code: string }
  const before = 'changes.v2.customers.response: It does not receive `code`, as answers have no `writeOnly` fields. '
  assert.deepEqual(
    unanswered(({ code }: Now) => ({ size: code.length, pin: code })),
    [`${before}It throws: Cannot read properties of undefined (reading 'length')`],
  )
  assert.deepEqual(
    unanswered(({ code }: Now) => ({ size: code?.length, pin: code })),
    [`${before}It returns no \`size\` then, which the version promises.`],
  )
  // No answer has the pin, but nodes of the former declaration need it.
  assert.deepEqual(
    unanswered(({ name, code }: Now) => ({ size: name.length, pin: code, memo: code })),
    [],
  )
})
