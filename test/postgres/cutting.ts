/** A proxy between a service and its server that cuts a connection after a number of bytes, or stalls it, or sends in pieces. */
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export type Direction = 'to the server' | 'from the server'
/** How a connection ends at a position: it is closed, it is reset, or it stays open and nothing passes any more. */
export type Ending = 'close' | 'reset' | 'stall'

export interface Cut {
  readonly direction: Direction
  /** How many bytes of this direction still pass, counted over all connections. */
  readonly at: number
  readonly ending: Ending
  /** Whether every connection ends after so many bytes of its own, instead of one connection once. */
  readonly always?: boolean
}

export interface CuttingProxy {
  readonly port: number
  /** Counts from now on, and cuts at a position. */
  readonly arm: (cut: Cut) => void
  /**
   * Stops cutting. Returns how often it has cut, and how many bytes have passed; resolves when the server has ended the cut
   * connections, and so has finished their last statements.
   */
  readonly disarm: () => Promise<{ readonly cuts: number; readonly passed: Readonly<Record<Direction, number>> }>
  /** Ends all connections, and waits until both sides have done so. */
  readonly drop: () => Promise<void>
  /** Returns the length of the next piece to send; null sends each chunk whole. */
  pieces: (() => number) | null
}

const never: Cut = { direction: 'to the server', at: Number.POSITIVE_INFINITY, ending: 'close' }

const none: Readonly<Record<Direction, number>> = { 'to the server': 0, 'from the server': 0 }

// long because: its functions share the connections
export async function cuttingProxy(t: TestContext, port: number): Promise<CuttingProxy> {
  const open = new Set<{ readonly near: Socket; readonly far: Socket }>()
  /** Settle when the server has ended a connection that was cut. */
  let endings: Promise<unknown>[] = []
  let cut = never
  let cuts = 0
  let passed = { ...none }

  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    const pair = { near, far }
    let own = { ...none }
    let counted = cut
    let isCut = false
    open.add(pair)
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
    }
    const forward = (direction: Direction, into: Socket) => {
      const send = pieceSender(into, () => proxy.pieces)
      return (bytes: Buffer): void => {
        if (isCut) return
        if (counted !== cut) own = { ...none }
        counted = cut
        const room = cut.at - (cut.always ? own : passed)[direction]
        own[direction] += bytes.length
        passed[direction] += bytes.length
        const isHere = direction === cut.direction && bytes.length > room && (cuts === 0 || cut.always)
        if (!isHere) send(bytes)
        else end(into, bytes.subarray(0, room))
      }
    }
    /** Sends the last bytes to one side, and ends both. */
    function end(into: Socket, last: Buffer): void {
      isCut = true
      cuts++
      if (last.length > 0) into.write(last)
      endings.push(new Promise((resolve) => far.once('close', resolve)))
      if (cut.ending === 'stall') return
      if (into === near && cut.ending === 'reset') near.resetAndDestroy()
      else if (into === near) near.end()
      else near.destroy()
      far.end() // the server reads what it got before
    }
    near.on('data', forward('to the server', far))
    far.on('data', forward('from the server', near))
    near.on('close', () => far.end())
    far.on('close', () => {
      near.destroy()
      open.delete(pair)
    })
  })

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const { near, far } of open) for (const socket of [near, far]) socket.destroy()
  })
  const proxy: CuttingProxy = {
    port: (server.address() as { port: number }).port,
    arm: (next) => {
      cut = next
      cuts = 0
      passed = { ...none }
    },
    disarm: async () => {
      const seen = { cuts, passed: { ...passed } }
      cut = never
      await Promise.all(endings)
      endings = []
      return seen
    },
    drop: async () => {
      const over = [...open].flatMap(({ near, far }) => {
        near.end()
        return [near, far].map((socket) => socket.closed || new Promise((resolve) => socket.once('close', resolve)))
      })
      await Promise.all(over)
    },
    pieces: null,
  }
  return proxy
}

/** Sends bytes as they come, or in pieces in different turns of the event loop. */
function pieceSender(into: Socket, pieces: () => CuttingProxy['pieces']): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0)
  const next = (): void => {
    const length = pieces()?.() ?? rest.length
    if (into.writable) into.write(rest.subarray(0, length))
    rest = rest.subarray(length)
    if (rest.length > 0) setImmediate(next)
  }
  return (bytes) => {
    const isSending = rest.length > 0
    if (!isSending && !pieces()) return void into.write(bytes)
    rest = Buffer.concat([rest, bytes])
    if (!isSending) setImmediate(next)
  }
}
