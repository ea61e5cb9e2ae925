/** Sends requests as a client that may lose patience. */
import { Agent, request } from 'node:http'

export interface Told {
  readonly status: number
  readonly etag: string
  /** In seconds; 0 where nothing is said of it. */
  readonly retryAfter: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into whatever their shape
  readonly json: any
}

export interface Question {
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** After how many milliseconds the client goes away. */
  readonly abort?: number | undefined
}

/** An answer; null where none came; `late` where none came in ten seconds although somebody was there. */
export type Heard = Told | null | 'late'
export type Ask = (method: string, path: string, question?: Question) => Promise<Heard>

const patience = 10_000

/** A client of whatever listens on the port at the moment. */
export function asking(port: () => number): Ask {
  const agent = new Agent({ keepAlive: true })
  return (method, path, { json, headers = {}, abort } = {}) =>
    new Promise((resolve) => {
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
      const done = (heard: Heard): void => {
        clearTimeout(late)
        clearTimeout(away)
        resolve(heard)
      }
      const leave = (heard: Heard): void => {
        done(heard)
        sent.destroy()
      }
      sent.on('error', () => done(null))
      sent.end(body)
    })
}
