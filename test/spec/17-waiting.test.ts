/** Requests that wait for an asynchronous operation, at the stop of the service and when their client leaves. R28. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '../help/command.ts'
import { startService } from '../help/process.ts'
import { until } from '../help/until.ts'

const api = `${folder({
  'api.ts': `import { f, service } from 'bylaw'

export default service({
  name: 'naps',
  settings: { limits: { concurrency: 2 } },
  resources: {
    notes: {
      prefix: 'not',
      fields: { text: f.text() },
      access: 'public',
      operations: { naps: { at: 'collection', asynchronous: true } },
    },
  },
}).handlers({
  notes: {
    async naps({ step, signal }) {
      await step('begin', ({ create }) => void create('notes', { text: 'begun' }))
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('It was woken.'))))
    },
  },
})
`,
})}/api.ts`

const headers = { Prefer: 'wait=60' }
const nap = (url: string, signal?: AbortSignal) =>
  fetch(`${url}/notes/naps`, { method: 'POST', headers, ...(signal && { signal }) }).catch(() => null)
const begun = (url: string, count: number) =>
  until(async () => ((await (await fetch(`${url}/notes`)).json()) as { data?: unknown[] }).data?.length === count)

test('R28 R186: a request that waits for an operation is answered with its status when the service stops', async () => {
  const { url, stop } = await startService(api, { args: ['--drain', 'PT3S'] })
  const waiting = nap(url)
  await begun(url, 1)
  const code = stop()
  const answer = await waiting
  assert.ok(answer, 'The connection was cut off.')
  assert.deepEqual([answer.status, answer.headers.get('preference-applied')], [202, 'wait=60'])
  assert.equal(((await answer.json()) as { status: string }).status, 'running')
  assert.equal(await code, 0)
})

test('R28 R185: a client that disconnects releases its slot while its operation continues', async () => {
  const { url, stop } = await startService(api, { args: ['--drain', 'PT3S'] })
  const leave = new AbortController()
  const waiting = nap(url, leave.signal)
  await begun(url, 1)
  leave.abort()
  assert.equal(await waiting, null)
  const other = nap(url)
  await begun(url, 2) // a third request at a time would be refused
  const code = stop()
  assert.equal((await other)?.status, 202)
  assert.equal(await code, 0)
})
