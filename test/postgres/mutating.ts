/** A proxy between a service and its server that changes one message of the server. */
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { random } from '../fuzz/mutate.ts'

type Random = ReturnType<typeof random>

/** Makes other bytes of a message; with the first byte of a message, its length, and its content. */
export type Mutation = (message: Buffer, chance: Random) => Buffer

const head = 5
const types = '123ACDEGHIKNRSTWZcdnst'

/** A message of the protocol with the correct length. */
export function message(code: string, body: string | Buffer): Buffer {
  const [start, content] = [Buffer.alloc(head), Buffer.from(body as string, 'latin1')]
  start.write(code, 'latin1')
  start.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([start, content])
}

const codeOf = (bytes: Buffer): string => String.fromCharCode(bytes[0] as number)

/** Where the numbers of a message are that say how long its parts are, or how many. */
function countsOf(bytes: Buffer): { readonly at: number; readonly size: 2 | 4 }[] {
  const code = codeOf(bytes)
  if (code !== 'T' && code !== 'D') return []
  const found: { at: number; size: 2 | 4 }[] = [{ at: head, size: 2 }]
  if (code === 'D')
    for (let at = head + 2; at < bytes.length; at += 4 + Math.max(0, bytes.readInt32BE(at))) found.push({ at, size: 4 })
  return found
}

function withAnotherCount(bytes: Buffer, chance: Random): Buffer {
  const counts = countsOf(bytes)
  const { at, size } = counts[chance(counts.length)] ?? { at: 1, size: 4 }
  const changed = Buffer.from(bytes)
  const most = 2 ** (8 * size)
  const before = changed.readUIntBE(at, size)
  const others = [before + 1, before - 1, before + 1 + chance(9), 0, most - 1, most / 2 - 1].map(
    (one) => (one + most) % most,
  )
  const isEmpty = (count: number): boolean => at > head && size === 4 && (count === 0 || count === most - 1)
  const possible = others.filter((one) => one !== before && !(isEmpty(one) && isEmpty(before))) // NULL and '' are alike
  changed.writeUIntBE(possible[chance(possible.length)] as number, at, size)
  return changed
}

/** Changes that the client can detect: no changed message is another valid message. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'another type': (bytes, chance) =>
    Buffer.concat([Buffer.from(types[chance(types.length)] as string), bytes.subarray(1)]),
  'any type': (bytes, chance) => Buffer.concat([Buffer.from([chance(256)]), bytes.subarray(1)]),
  'another length': (bytes, chance) => {
    const changed = Buffer.from(bytes)
    const length = bytes.length - 1
    const others = [0, 3, 4, length + 1, length - 1, length + chance(300), 2 ** 20, 2 ** 30, 2 ** 32 - 1]
    changed.writeUInt32BE(others[chance(others.length)] as number, 1)
    return changed
  },
  'another count': withAnotherCount,
  shorter: (bytes, chance) =>
    message(codeOf(bytes), bytes.subarray(head, bytes.length - 1 - chance(Math.max(1, bytes.length - head)))),
  longer: (bytes, chance) =>
    message(codeOf(bytes), Buffer.concat([bytes.subarray(head), Buffer.alloc(1 + chance(20), chance(256))])),
  'without its end': (bytes, chance) => bytes.subarray(0, 1 + chance(bytes.length - 1)),
  'left out': () => Buffer.alloc(0),
  twice: (bytes) => Buffer.concat([bytes, bytes]),
  'behind another one': (bytes, chance) => {
    const content = Buffer.from(Array.from({ length: chance(20) }, () => (chance(2) === 0 ? 0 : chance(256))))
    return Buffer.concat([message(types[chance(types.length)] as string, content), bytes])
  },
}

type Choice = (type: string, number: number) => boolean
const nothing: Choice = () => false

export interface MutatingProxy {
  readonly port: number
  /** Changes the next message that is chosen by its type and its number, counted from now on over all connections. */
  readonly arm: (chooses: Choice, change: (message: Buffer) => Buffer) => void
  readonly disarm: () => void
  /** Ends all connections, and waits until both sides have done so. */
  readonly drop: () => Promise<void>
  /** The number of open connections. */
  readonly open: () => number
  /** Whether the connection with the message that was changed is closed. */
  readonly isClosed: () => boolean
}

export async function mutatingProxy(t: TestContext, port: number): Promise<MutatingProxy> {
  const open = new Set<Socket>()
  let passed = 0
  let chooses = nothing
  let changed: Socket | null = null
  let change = (bytes: Buffer): Buffer => bytes
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => {})
    open.add(near)
    near.pipe(far)
    near.on('close', () => {
      open.delete(near)
      far.destroy()
    })
    far.on('close', () => near.destroy())
    let rest = Buffer.alloc(0)
    far.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes as Buffer])
      const sent: Buffer[] = []
      for (let end = endOf(rest); end > 0; end = endOf(rest)) {
        const one = rest.subarray(0, end)
        const isChosen = chooses(codeOf(one), passed++)
        if (isChosen) {
          chooses = nothing
          changed = near
        }
        sent.push(isChosen ? change(one) : one)
        rest = rest.subarray(end)
      }
      if (near.writable) near.write(Buffer.concat(sent))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  const arm: MutatingProxy['arm'] = (...next) => {
    ;[chooses, change] = next
    passed = 0
  }
  const disarm = (): void => {
    chooses = nothing
  }
  const drop = async (): Promise<void> => {
    const closed = [...open].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const socket of open) socket.end()
    await Promise.all(closed)
  }
  return {
    port: (server.address() as { port: number }).port,
    arm,
    disarm,
    drop,
    open: () => open.size,
    isClosed: () => changed !== null && !open.has(changed),
  }
}

/** The end of the first message; 0 if it is not complete. */
function endOf(bytes: Buffer): number {
  if (bytes.length < head) return 0
  const end = 1 + bytes.readUInt32BE(1)
  return end <= bytes.length ? end : 0
}
