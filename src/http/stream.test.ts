/** Stream: only slow readers are disconnected. */

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { it } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { answerReaders, cutBody, streamBody } from './stream.ts'

const MiB = 1024 * 1024

/** Readers with a clock of the test's own. */
function readerWithClock() {
  const world = testWorld()
  const { watch } = answerReaders(() => false, world)
  return { pass: world.tick, reader: (length: number, timeout?: number) => reader(watch, length, timeout) }
}

/** A connection with this many unread bytes. */
function reader(watch: ReturnType<typeof answerReaders>['watch'], writableLength: number, timeout = 60_000) {
  const answer = new EventEmitter()
  const socket = {
    writableLength,
    destroyed: false,
    setTimeout: () => socket,
    resetAndDestroy: () => {
      socket.destroyed = true
      answer.emit('close')
    },
  }
  watch(socket as unknown as Socket, answer as unknown as ServerResponse, timeout)
  return { socket, answer }
}

it('cuts a reader that takes longer than allowed for every MiB that is begun', () => {
  const { pass, reader } = readerWithClock()
  const [slow, large, fast, done] = [reader(MiB, 500), reader(5 * MiB, 500), reader(1000), reader(1000, 500)]
  done.answer.emit('close')
  pass(2100)
  assert.deepEqual(
    [slow, large, fast, done].map(({ socket }) => socket.destroyed),
    [true, false, false, false],
  )
  for (const { answer } of [large, fast]) answer.emit('close')
})

it('destroys the connection of a slow reader if it has no reset, as those of TLS', () => {
  const { pass, reader } = readerWithClock()
  const { socket } = reader(MiB, 500)
  Object.assign(socket, {
    resetAndDestroy: () => {
      throw new TypeError('This handle type cannot be sent')
    },
    destroy: () => {
      socket.destroyed = true
    },
  })
  pass(2100)
  assert.ok(socket.destroyed)
})

it('disconnects the readers that have waited longest while too much is unread in total', () => {
  const { pass, reader } = readerWithClock()
  const readers = Array.from({ length: 70 }, () => reader(MiB))
  const nothing = reader(0)
  assert.equal(readers.filter(({ socket }) => socket.destroyed).length, 0)
  pass(3500)
  const cut = readers.map(({ socket }) => socket.destroyed)
  assert.deepEqual(cut, [...Array(6).fill(true), ...Array(64).fill(false)])
  const late = reader(MiB)
  assert.deepEqual(
    [readers[6]?.socket.destroyed, late.socket.destroyed, nothing.socket.destroyed],
    [true, false, false],
  )
  for (const { answer } of readers) answer.emit('close')
})

it('cuts a body into pieces that are never inside of a character', () => {
  for (const body of ['x'.repeat(200_000), `a${'😀'.repeat(80_000)}`, 'é'.repeat(65_537), '']) {
    const pieces = cutBody(body)
    assert.equal(Buffer.concat(pieces).toString(), body)
    for (const piece of pieces) assert.ok(!piece.toString().includes('\ufffd'))
  }
  const bytes = Buffer.from('x'.repeat(200_000))
  assert.deepEqual(Buffer.concat(cutBody(bytes)), bytes)
})

it('keeps nothing for a reader that disconnected before its answer was ready', () => {
  const answer = Object.assign(new EventEmitter(), { destroy: () => {} }) as unknown as ServerResponse
  const readers = answerReaders(() => false, testWorld())
  streamBody({ destroyed: true } as Socket, answer, 'x'.repeat(MiB), {
    ...{ held: undefined, timeout: 1000, readers, failed: assert.ifError },
  })
  assert.deepEqual([readers.unread(), answer.listenerCount('drain')], [0, 0])
})
