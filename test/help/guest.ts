/** Requests that are inside a service and wait there for the rest of their content. */
import { connect, type Socket } from 'node:net'

const content = '{"text":"abc"}'

export interface Guest {
  readonly socket: Socket
  /** What came so far: that it may go on, or that it was refused. */
  readonly told: string
  /** Sends the rest, and gives the answer. */
  readonly finish: () => Promise<string>
}

/** A request that asks whether it may go on, and is told so when its content is wanted. */
export async function guest(port: number, { from = '127.0.0.1' } = {}): Promise<Guest> {
  const socket = connect(port, '127.0.0.1')
  const next = () => new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString('latin1'))))
  const first = next()
  const lines = ['Host: a', `X-Forwarded-For: ${from}`, 'Content-Type: application/json', 'Expect: 100-continue']
  socket.write(`POST /notes HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: ${content.length}\r\n\r\n`)
  const told = await first
  const finish = async (): Promise<string> => {
    const answer = next()
    socket.write(content)
    const text = await answer
    socket.destroy()
    return text
  }
  return { socket, told, finish }
}
