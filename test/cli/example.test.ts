/** `npm start`: the example starts with rows, and the printed commands work. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkout, folder, launch } from '../help/command.ts'
import { pasted } from '../help/paste.ts'

const script = join(checkout, 'examples/orders/start.ts')

async function started(cwd: string) {
  const { hear, stop, said } = launch([], { cwd, script, env: { PORT: '0' } })
  const [, url = ''] = await hear(/^bylaw serves orders at (http:\S+), from \S+\. Try:\n[\s\S]*\n\n/)
  return { url, stop, lines: [...said.stdout.matchAll(/^ {2}(curl .*)$/gm)].map(([, line]) => line as string) }
}

test('it is seeded once, and its three lines work', async () => {
  const cwd = folder()
  const first = await started(cwd)
  assert.equal(first.lines.length, 3)
  const [list, one, create] = (await Promise.all(first.lines.map(pasted))) as [Response, Response, Response]
  assert.deepEqual([list.status, one.status, create.status], [200, 200, 201])
  assert.equal(((await list.json()) as { data: unknown[] }).data.length, 3)
  const count = async (url: string) =>
    ((await (await fetch(`${url}/orders`)).json()) as { pagination: { totalRecords: number } }).pagination.totalRecords
  const orders = await count(first.url)
  assert.ok(orders > 10)
  assert.equal(await first.stop(), 0)

  const second = await started(cwd)
  assert.equal(await count(second.url), orders)
  const more = await Promise.all(second.lines.map(pasted))
  assert.deepEqual(
    more.map(({ status }) => status),
    [200, 200, 201],
  )
  assert.equal(await second.stop(), 0)
})
