/** A handler that never gives the event loop back: it is named, and the process is ended and replaced. R226. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { folder, post, served } from '../help/command.ts'
import { until } from '../help/until.ts'

const cwd = folder({
  'reacting.ts': `import { f, service } from 'bylaw'

export default service({
  name: 'notes',
  resources: {
    notes: { prefix: 'not', fields: { text: f.text({ max: 200 }) }, access: 'public' },
  },
  events: true,
  settings: { limits: { handlerTimeout: 'PT4S' } },
}).handlers({
  reactions: {
    echo: {
      on: ['note.created'],
      run() {
        for (;;);
      },
    },
  },
})
`,
  'api.ts': `import { f, service } from 'bylaw'

export default service({
  name: 'notes',
  resources: {
    notes: { prefix: 'not', fields: { text: f.text({ max: 200 }) }, access: 'public' },
  },
  settings: { limits: { handlerTimeout: 'PT4S' } },
}).handlers({
  notes: {
    async create({ next }) {
      if (next.text === 'awaits') await new Promise((resolve) => setTimeout(resolve, 2500))
      while (next.text === 'loops') {}
      if (next.text === 'forgets') void Promise.reject(new Error('forgotten')) // as a call without await
      if (next.text === 'throws later') setTimeout(() => JSON.parse('{'), 1)
    },
  },
})
`,
})

const lines = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line) as { level: string; msg: string; handlers?: string[] })
    .filter(({ handlers }) => handlers)
    .map(({ level, handlers }) => [level, handlers])

const loops = (url: string) =>
  fetch(`${url}/notes`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'looping' },
    body: JSON.stringify({ text: 'loops' }),
  })

test('R226: a handler that loops is named in the log, and its process ends with a signal of its own', async () => {
  const words = ['api.ts', '--database', 'sqlite:./looped.db']
  const { url, child, said } = await served(words, { cwd })
  const ended = once(child, 'close')
  await assert.rejects(loops(url))
  assert.deepEqual(await ended, [null, 'SIGVTALRM'])
  const named = ['notes.create']
  assert.deepEqual(lines(said.stdout), [
    ['error', named],
    ['fatal', named],
  ])
  const next = await served(words, { cwd })
  const { data } = (await (await fetch(`${next.url}/notes`)).json()) as { data: object[] }
  assert.deepEqual(data, [])
  assert.equal(await next.stop(), 0)
})

test('R226: a worker whose handler loops is replaced while the other one serves', async () => {
  const { url, said, stop } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./crew.db'], { cwd })
  await assert.rejects(loops(url))
  await until(() => /"signal":"SIGVTALRM".*A worker has ended and is replaced/.test(said.stdout))
  // On a slow machine the other one, which starts after the first, does not listen yet.
  await until(() => fetch(`${url}/healthz`).then(Boolean, () => false))
  assert.equal((await post(`${url}/notes`, { text: 'stored' })).status, 201)
  assert.equal(await stop(), 0)
})

test('R226, R231: a reaction that loops is named in the log, and its process ends', async () => {
  const { url, child, said } = await served(['reacting.ts', '--database', 'sqlite:./reacting.db'], { cwd })
  const ended = once(child, 'close')
  assert.equal((await post(`${url}/notes`, { text: 'stored' })).status, 201)
  assert.deepEqual(await ended, [null, 'SIGVTALRM'])
  const named = ['reactions.echo']
  assert.deepEqual(lines(said.stdout), [
    ['error', named],
    ['fatal', named],
  ])
})

test('R227: a rejected promise that a handler did not await is logged with its name, and the process goes on', async () => {
  const { url, said, stop } = await served(['api.ts', '--database', 'sqlite:./forgotten.db'], { cwd })
  for (let i = 0; i < 2; i++) assert.equal((await post(`${url}/notes`, { text: 'forgets' })).status, 201)
  const logged = () => said.stdout.split('\n').filter((one) => one.includes('"level":"error"'))
  await until(() => logged().length === 2)
  const [line] = logged()
  const { handler, err } = JSON.parse(line ?? '{}') as { handler: string; err: Error }
  assert.deepEqual([handler, err.message], ['notes.create', 'forgotten'])
  assert.match(`${err.stack}`, /api\.ts:14/)
  assert.equal(await stop(), 0)
})

test('R227: a failure that a handler leaves behind in a timer ends the process, and the log names the handler', async () => {
  const { url, child, said } = await served(['api.ts', '--database', 'sqlite:./thrown.db'], { cwd })
  const ended = once(child, 'close')
  await post(`${url}/notes`, { text: 'throws later' }).catch(() => {})
  assert.deepEqual(await ended, [1, null])
  assert.match(said.stdout, /"level":"fatal".*"handler":"notes.create"/)
})

test('R226: neither a handler that awaits nor a process that was suspended is ended', async () => {
  const { url, child, said, stop } = await served(['api.ts', '--database', 'sqlite:./awaited.db'], { cwd })
  const answered = post(`${url}/notes`, { text: 'awaits' })
  const begun = post(`${url}/notes`, { text: 'awaits' })
  child.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 1500)) // suspended for as long as a warning takes
  child.kill('SIGCONT')
  assert.deepEqual([(await answered).status, (await begun).status], [201, 201])
  assert.deepEqual(lines(said.stdout), [])
  assert.equal(await stop(), 0)
})
