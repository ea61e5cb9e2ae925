/** A client of HTTP/2 that sends any bytes as headers, unlike that of Node. It sends one request per connection, without TLS. */
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Names and values; names of pseudo-headers begin with a colon. */
export type Lines = readonly (readonly [name: string, value: string])[]

const types = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7 }
const [endStream, endHeaders, acknowledged] = [1, 4, 1]

function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A text of HPACK, without Huffman's code. */
function packed(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes])
  const rest = bytes.length - 127
  return Buffer.concat([rest < 128 ? Buffer.of(127, rest) : Buffer.of(127, (rest % 128) + 128, rest >> 7), bytes])
}

const headers = (lines: Lines, flags: number): Buffer => {
  const fields = lines.flatMap(([name, value]) => [Buffer.of(0), packed(name), packed(value)])
  return frame(types.headers, endHeaders | flags, 1, Buffer.concat(fields))
}

/** The frames of a request: head, content, trailers. */
export function framesOf(head: Lines, content: string | null, trailers: Lines | null = null): readonly Buffer[] {
  const frames = [headers(head, content === null ? endStream : 0)]
  if (content !== null) frames.push(frame(types.data, trailers ? 0 : endStream, 1, Buffer.from(content, 'latin1')))
  if (trailers) frames.push(headers(trailers, endStream))
  return frames
}

/** Sends frames, the later ones at once or after a while; resolves when the request is answered or refused, or after two seconds. */
export async function exchange(
  port: number,
  frames: readonly Buffer[],
  late: boolean,
): Promise<'answered' | 'refused'> {
  const socket = connect(port, '127.0.0.1')
  const over = Promise.withResolvers<'answered' | 'refused'>()
  let arrived: Buffer = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('close', () => over.resolve('refused'))
  socket.on('data', (piece: Buffer) => {
    arrived = Buffer.concat([arrived, piece])
    while (arrived.length >= 9 && arrived.length >= 9 + arrived.readUIntBE(0, 3)) {
      const [type, flags] = [arrived.readUInt8(3), arrived.readUInt8(4)]
      arrived = arrived.subarray(9 + arrived.readUIntBE(0, 3))
      if (type === types.settings && !(flags & acknowledged)) socket.write(frame(types.settings, acknowledged, 0))
      else if (type === types.reset || type === types.goAway) over.resolve('refused')
      else if ((type === types.headers || type === types.data) && flags & endStream) over.resolve('answered')
    }
  })
  const timer = setTimeout(over.resolve, 2000, 'refused')
  const [first, ...rest] = frames as readonly [Buffer, ...Buffer[]]
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(types.settings, 0, 0), first]))
  if (late) await pause(20)
  for (const one of rest) socket.write(one)
  const how = await over.promise
  clearTimeout(timer)
  socket.destroy()
  return how
}
