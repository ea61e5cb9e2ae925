/** Requests whose content the service waits for. */
import { connect, type Socket } from 'node:net'

const content = '{"text":"abc"}'

export interface PendingRequest {
  readonly socket: Socket
  /** The first answer: 100 Continue, or a refusal. */
  readonly firstAnswer: string
  /** Sends the content and returns the final answer. */
  readonly finish: () => Promise<string>
}

/** Sends a request with `Expect: 100-continue` and waits for the first answer: 100 Continue, or a refusal. */
export async function startRequest(port: number, { from = '127.0.0.1' } = {}): Promise<PendingRequest> {
  const socket = connect(port, '127.0.0.1')
  const next = () => new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString('latin1'))))
  const first = next()
  const lines = ['Host: a', `X-Forwarded-For: ${from}`, 'Content-Type: application/json', 'Expect: 100-continue']
  socket.write(`POST /notes HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: ${content.length}\r\n\r\n`)
  const firstAnswer = await first
  const finish = async (): Promise<string> => {
    const answer = next()
    socket.write(content)
    const text = await answer
    socket.destroy()
    return text
  }
  return { socket, firstAnswer, finish }
}
