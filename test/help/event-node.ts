/** A node whose items are events. As a process it writes and numbers events without a pause, and prints each acknowledged change. */
import { setImmediate } from 'node:timers/promises'
import { f, service } from 'bylaw'
import { testing } from 'bylaw/testing'

export const counters = service({
  name: 'counters',
  events: true,
  resources: {
    counters: { prefix: 'cnt', fields: { value: f.integer(), text: f.text({ default: '' }) }, access: 'public' },
  },
})

/** Creates items and changes each of them several times; reports each acknowledged change. */
export async function write(
  ask: (method: string, path: string, json: object) => Promise<{ readonly status: number; readonly id: string }>,
  { items, changes }: { readonly items: number; readonly changes: number },
  acknowledged: (id: string, revision: number) => void,
): Promise<void> {
  for (let item = 0; item < items; item++) {
    const { status, id } = await ask('POST', '/counters', { value: 1 })
    if (status === 201) acknowledged(id, 1)
    for (let value = 2; status === 201 && value <= changes; value++) {
      const { status: changed } = await ask('PATCH', `/counters/${id}`, { value })
      if (changed !== 200) break
      acknowledged(id, value)
    }
  }
}

if (import.meta.main) {
  const [, , url = '', writers, items] = process.argv
  const { call, close } = testing(counters, { database: url })
  const ask = async (method: string, path: string, json: object) => {
    const answer = await call(path, { method, json })
    return { status: answer.status, id: ((await answer.json()) as { id: string }).id }
  }
  const act = () =>
    write(ask, { items: Number(items), changes: 4 }, (id, revision) => process.stdout.write(`${id} ${revision}\n`))
  await Promise.all(Array.from({ length: Number(writers) }, act))
  await setImmediate()
  await close()
}
