/** Sends requests like a client that may abort. */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { answers, message } from '../help/wire.ts'

export interface HttpAnswer {
  readonly status: number
  readonly etag: string
  /** In seconds; 0 without the header. */
  readonly retryAfter: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into whatever their shape
  readonly json: any
}

export interface Question {
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The client aborts after this time, in milliseconds. */
  readonly abort?: number | undefined
  /** The path of a GET that is sent first on the same connection, so that the request waits for its answer. */
  readonly behind?: string | undefined
}

/** An answer; null if the connection ended without one; `late` if none arrived in twenty seconds on an open connection. */
export type AnswerOrLate = HttpAnswer | null | 'late'
export type Ask = (method: string, path: string, question?: Question) => Promise<AnswerOrLate>

/** Longer than `limits.handlerTimeout`, after which the service answers. */
const patience = 20_000

/** A client of the process that listens on the port now. */
export function asking(port: () => number): Ask {
  const agent = new Agent({ keepAlive: true })
  return (method, path, question = {}) => {
    const { json, headers = {}, abort, behind } = question
    if (behind !== undefined) return pipelined(port(), [behind, method, path], question)
    return new Promise((resolve) => {
      const body = json === undefined ? undefined : JSON.stringify(json)
      const typed =
        body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const at = { host: '127.0.0.1', port: port(), method, path, agent, headers: { ...typed, ...headers } }
      const sent = request(at, async (answer) => {
        let text = ''
        try {
          for await (const chunk of answer.setEncoding('utf8')) text += chunk
          const { statusCode: status = 0, headers } = answer
          done({
            status,
            etag: headers.etag ?? '',
            retryAfter: Number(headers['retry-after'] ?? 0),
            text,
            json: text === '' ? null : JSON.parse(text),
          })
        } catch {
          done(null)
        }
      })
      const late = setTimeout(() => leave('late'), patience)
      const away = abort === undefined ? undefined : setTimeout(() => leave(null), abort)
      const done = (heard: AnswerOrLate): void => {
        clearTimeout(late)
        clearTimeout(away)
        resolve(heard)
      }
      const leave = (heard: AnswerOrLate): void => {
        done(heard)
        sent.destroy()
      }
      sent.on('error', () => done(null))
      sent.end(body)
    })
  }
}

/** Sends a GET and the request together on a new connection, and returns the answer to the second. */
function pipelined(
  port: number,
  [first, method, path]: readonly [string, string, string],
  { json, headers = {} }: Question,
): Promise<AnswerOrLate> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const last = message(
    `${method} ${path}`,
    ['Content-Type: application/json', 'Connection: close', ...lines],
    JSON.stringify(json),
  )
  return new Promise((resolve) => {
    let bytes = ''
    const socket = connect({ port, host: '127.0.0.1' })
    const late = setTimeout(() => {
      resolve('late')
      socket.destroy()
    }, patience)
    socket.on('data', (chunk) => {
      bytes += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(late)
      resolve(secondOf(bytes))
    })
    socket.end(message(`GET ${first}`) + last)
  })
}

/** The second of two answers; null if it is incomplete. */
function secondOf(bytes: string): HttpAnswer | null {
  try {
    const { status, headers, text, json } = answers(bytes)[1] as ReturnType<typeof answers>[number]
    return { status, etag: headers.etag ?? '', retryAfter: Number(headers['retry-after'] ?? 0), text, json }
  } catch {
    return null
  }
}
