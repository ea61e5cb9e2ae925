/** `npm start` and `npm run sink`: the example starts with rows, and the printed commands work. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkout } from '../help/built.ts'
import { folder, launch } from '../help/command.ts'
import { pasted } from '../help/paste.ts'

const [script, sink] = ['start.ts', 'sink.ts'].map((name) => join(checkout, 'examples/orders', name)) as [
  string,
  string,
]

async function started(cwd: string) {
  const { hear, stop, said } = launch([], { cwd, script, env: { PORT: '0' } })
  const [, url = ''] = await hear(/^bylaw serves orders at (http:\S+), from \S+\. Try:\n[\s\S]*\n\n/)
  return { url, stop, lines: [...said.stdout.matchAll(/^ {2}(curl .*)$/gm)].map(([, line]) => line as string) }
}

const statusesOf = (answers: readonly Response[]): number[] => answers.map(({ status }) => status)

test('it is seeded once, and its four lines work', async () => {
  const cwd = folder()
  const first = await started(cwd)
  assert.equal(first.lines.length, 4)
  const answers = await Promise.all(first.lines.map(pasted))
  assert.deepEqual(statusesOf(answers), [200, 200, 201, 200])
  assert.equal(((await (answers[0] as Response).json()) as { data: unknown[] }).data.length, 3)
  const count = async (url: string) =>
    ((await (await fetch(`${url}/orders`)).json()) as { pagination: { totalRecords: number } }).pagination.totalRecords
  const orders = await count(first.url)
  assert.ok(orders > 10)
  assert.equal(await first.stop(), 0)

  const second = await started(cwd)
  assert.equal(await count(second.url), orders)
  const more = await Promise.all(second.lines.map(pasted))
  assert.deepEqual(statusesOf(more), [200, 200, 201, 200])
  assert.equal(await second.stop(), 0)
})

test('the sink prints the orders that are placed, which the printed command sends to it', async () => {
  const cwd = folder()
  const { url, stop, lines } = await started(cwd)
  const receiver = launch([], { cwd, script: sink, env: { PORT: '0' } })
  const [, words = ''] = await receiver.hear(/^ {2}npm run bylaw -- (listen .*)$/m)
  const listener = launch([...words.split(' '), '--url', url], { cwd })
  await listener.hear(/^bylaw forwards the events/)
  const placement = lines.find((line) => line.endsWith('/placements')) as string
  const { id, lineCount, total, currency } = (await (await pasted(placement)).json()) as Record<string, unknown>
  const [, placed, said] = await receiver.hear(/^(ord_\w+) was placed: (.*)$/m)
  assert.deepEqual([placed, said], [id, `${lineCount} lines, ${total} ${currency}`])
  await listener.hear(new RegExp(` 204 order\\.placed ${id} `))
  const unsigned = await fetch(/http:\S+/.exec(words)?.[0] as string, { method: 'POST', body: '{}' })
  assert.deepEqual([unsigned.status, await unsigned.text()], [400, 'The header webhook-id is missing.'])
  assert.equal(await listener.stop(), 0)
  await receiver.stop()
  assert.equal(await stop(), 0)
})
