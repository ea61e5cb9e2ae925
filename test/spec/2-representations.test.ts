/** Part 2 of the contract: representations. */
import assert from 'node:assert/strict'
import { doors, spec } from '../help/door.ts'
import { shop } from '../help/shop.ts'

doors('representations', shop, (door) => {
  spec('R42', 'every readable field is present, null where it has no value', async () => {
    const { status, json } = await door.send('POST', '/customers', {
      json: { name: 'Ann', email: 'ann@example.com', country: 'IT' },
    })
    assert.equal(status, 201)
    assert.deepEqual(Object.keys(json), [
      'id',
      'name',
      'email',
      'country',
      'address',
      'note',
      'tags',
      'metadata',
      'createdAt',
      'updatedAt',
    ])
    assert.equal(json.note, null)
  })
})
