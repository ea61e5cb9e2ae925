/** An idle connection keeps nothing of the requests before: a process with many of them would spend its time collecting garbage. */
import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import { f, service } from 'bylaw'
import { doors } from '../help/door.ts'
import { until } from '../help/until.ts'
import { message } from '../help/wire.ts'

const notes = service({ name: 'notes', resources: { notes: { fields: { text: f.text() }, access: 'public' } } })

doors(
  'idle connections',
  notes,
  (door) => {
    for (const [name, request] of [
      ['without content', message('GET /notes')],
      ['with content', message('POST /notes', ['Content-Type: application/json'], '{"text":"a"}')],
      ['with content that is refused', message('POST /notes', ['Content-Type: application/json'], '{"text":')],
    ] as const)
      test(`connections that are idle after a request ${name} keep no objects of it`, async (t) => {
        const sockets: Socket[] = []
        t.after(() => {
          for (const socket of sockets) socket.destroy()
        })
        await Promise.all(Array.from({ length: 20 }, () => answeredConnection(door.port, request, sockets)))
        await until(() => queryObjects(ServerResponse, { format: 'count' }) === 0)
        assert.equal(queryObjects(IncomingMessage, { format: 'count' }), 0)
        assert.ok(sockets.every(({ readyState }) => readyState === 'open'))
      })
  },
  { socketOnly: true },
)

/** Opens a connection and waits for the answer to a request; the connection stays open. */
function answeredConnection(port: number, request: string, sockets: Socket[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    sockets.push(socket)
    socket.once('data', () => resolve()).once('error', reject)
  })
}
