/** R162, R238: an export that fails after its first rows never ends as if it were complete. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import type { PageStream } from '../../src/flow/outcome.ts'
import type { Plan } from '../../src/flow/plan.ts'
import type { Store } from '../../src/flow/store.ts'
import { doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, exports: true, access: 'public' } },
})

/** A store whose connection is lost after the first page of an export. */
const losing = (store: Store): Store => ({
  ...store,
  execute: async (plan: Plan) => {
    const outcome = await store.execute(plan)
    if (outcome.is !== 'pages') return outcome
    async function* lost(): PageStream['rest'] {
      if (outcome.is === 'pages') yield outcome.first
      throw new Error('The connection was lost.')
    }
    return { ...outcome, rest: lost() }
  },
})

doors(
  'broken exports',
  shop,
  (door) => {
    spec('R162 R238', 'the connection is cut, and the failure is logged', async () => {
      await door.send('POST', '/notes', { json: { text: 'a' } })
      for (const accept of ['application/x-ndjson', 'text/csv']) {
        const before = door.errors.length
        await assert.rejects(async () => {
          const answer = await door.open('/notes', { accept })
          assert.equal(answer.status, 200)
          await answer.text()
        })
        assert.equal(door.errors.length, before + 1)
        door.errors.length = before
      }
      assert.equal((await door.send('GET', '/notes')).status, 200)
    })
  },
  { store: losing },
)
