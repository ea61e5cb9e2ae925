/** Proves that processes that are killed while they write and number events lose none. R206, R230. The store. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { counters } from '../help/event-node.ts'
import { eventReader, judgeEvents } from '../help/event-readers.ts'
import { nodeOn, places } from '../help/places.ts'
import { until } from '../help/until.ts'

const script = fileURLToPath(new URL('../help/event-node.ts', import.meta.url))

for (const [name, place] of places)
  test(`R206, R230: processes that are killed while they write and give positions lose no event (${name})`, async (t) => {
    const at = await place(t)
    const node = nodeOn(at, counters)
    t.after(node.close)
    const { read, seen } = eventReader(node, 7)
    await read()
    const acknowledged = new Map<string, number>()
    let isOver = false
    const reading = (async () => {
      for (; !isOver; await setImmediate()) await read()
    })()
    const child = async (killedAfter: number): Promise<void> => {
      const started = spawn(process.execPath, ['--conditions=bylaw-source', script, at.url, '3', '20'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let lines = 0
      createInterface(started.stdout).on('line', (line) => {
        const [id = '', revision] = line.split(' ')
        acknowledged.set(id, Number(revision))
        if (++lines === killedAfter) started.kill('SIGKILL')
      })
      await once(started, 'close')
    }
    const ended = await Promise.allSettled([child(40).then(() => child(90)), child(70).then(() => child(1000))])
    isOver = true
    for (const one of [...ended, ...(await Promise.allSettled([reading]))])
      if (one.status === 'rejected') throw one.reason
    await until(async () => {
      await read()
      return (await at.rows('SELECT 1 FROM bylaw_outbox')).length === seen.length
    })
    judgeEvents(seen, acknowledged)
    const [{ changes } = {}] = await at.rows('SELECT sum(revision) AS changes FROM counters')
    assert.equal(seen.length, Number(changes)) // no event lacks its change
  })
