/** A process that creates things in a file, 8 at a time, and prints each id once it is acknowledged. */
import { testing } from 'bylaw/testing'
import { api } from './store-under-test.ts'

const [file = '', most = '1000000', start = '0'] = process.argv.slice(2)
while (Date.now() < Number(start)); // several processes begin at the same moment

const { call, close } = testing(api, { database: `sqlite:${file}` })
let made = 0

async function create(): Promise<void> {
  while (made < Number(most)) {
    made++
    const name = `${process.pid} ${made}`
    const response = await call('/things', { method: 'POST', json: { name, text: 'x'.repeat(500) } })
    const { id } = (await response.json()) as { id?: string }
    process.stdout.write(response.status === 201 ? `${id}\n` : `${response.status}\n`)
  }
}

await Promise.all(Array.from({ length: 8 }, create))
await close()
