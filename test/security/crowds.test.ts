/** Many idle or slow connections at once do not keep other clients out. Part 8, limits. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { it } from 'node:test'
import { f, service } from 'bylaw'
import { doors } from '../help/door.ts'

const api = service({ name: 'crowd', resources: { notes: { fields: { text: f.text() }, access: 'public' } } })

doors(
  'many connections',
  api,
  (door) => {
    /** Opens connections that send some bytes and then stall. */
    const opened = (count: number, says: string): Promise<Socket[]> =>
      Promise.all(
        Array.from(
          { length: count },
          () =>
            new Promise<Socket>((ready, fail) => {
              const socket = connect(door.port, '127.0.0.1', () => {
                if (says !== '') socket.write(says)
                ready(socket)
              })
              socket.once('error', fail)
            }),
        ),
      )

    for (const [title, says] of [
      ['idle', ''],
      ['half a head', 'GET /notes HTTP/1.1\r\nHost: a\r\nX-Slow: '],
      [
        'half a body',
        'POST /notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"te',
      ],
    ] as const) {
      it(`1,000 connections, ${title}: others are answered`, async () => {
        const sockets = await opened(1000, says)
        try {
          for (let i = 0; i < 20; i++) assert.equal((await door.send('GET', '/notes')).status, 200)
          assert.equal((await door.send('POST', '/notes', { json: { text: 'x' } })).status, 201)
        } finally {
          for (const socket of sockets) {
            socket.on('error', () => {})
            socket.destroy()
          }
        }
        assert.equal((await door.send('GET', '/notes')).status, 200)
        assert.deepEqual(door.errors, [])
      })
    }
  },
  { socketOnly: true },
)
