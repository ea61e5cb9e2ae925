/** What the corpus stores: requests with their answers, in sessions of one service on one database behind one door. */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'

export type Store = 'SQLite' | 'PostgreSQL'
export type Door = 'fetch' | 'node'

/** The service, the database and the door of a session. */
export interface Setting {
  readonly name: string
  /** A name in the list of services.ts. */
  readonly service: string
  readonly store: Store
  readonly door: Door
}

/** A request. Random values of earlier answers are replaced by names between marks, see names.ts. */
export interface Request {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The content as text, or as base64 if it is not UTF-8. */
  readonly body?: string
  readonly base64?: true
  /** The holder of the API key that is sent. */
  readonly who?: string
  /** Bytes that are sent on a new connection instead of all of the above, as Latin-1. */
  readonly raw?: string
}

/** A failure of the database: tables are renamed away and back, all inserts fail or work again, the store is closed. */
export type Fault = 'tables hidden' | 'tables back' | 'writes fail' | 'writes work' | 'store closed'

/** An answer in the form that is compared, see answer.ts. */
export interface Answer {
  readonly status: number
  /** One line for each header, in their order. */
  readonly headers: readonly string[]
  readonly body: string
}

export interface Exchange {
  /** How the request was made, in a few words. */
  readonly kind: string
  /** How far the clock moves before the request, in milliseconds. */
  readonly wait: number
  /** What happens to the database before the request. */
  readonly fault?: Fault
  readonly request: Request
  readonly answer: Answer
}

export interface Session {
  readonly setting: Setting
  readonly exchanges: readonly Exchange[]
}

const mostMemory = 24 // a window of 16 MB, as most answers resemble an earlier one

/** A corpus as compressed text, with a line of JSON for each session and each exchange. */
export function packed(lines: readonly unknown[]): Buffer {
  const text = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return brotliCompressSync(text, {
    params: {
      [constants.BROTLI_PARAM_LGWIN]: mostMemory,
      [constants.BROTLI_PARAM_QUALITY]: 9,
      [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
    },
  })
}

export const unpacked = (bytes: Buffer): unknown[] =>
  brotliDecompressSync(bytes)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** Bodies of at least this length are stored once; later exchanges refer to them by number. */
const long = 2000

/** The lines of sessions. A long body that an earlier line has is replaced by its number. */
export function linesOf(sessions: readonly Session[]): unknown[] {
  const known = new Map<string, number>()
  const once = (text: string): string | number => {
    const before = known.get(text)
    if (before !== undefined) return before
    if (text.length >= long) known.set(text, known.size)
    return text
  }
  return sessions.flatMap(({ setting, exchanges }) => [
    { setting },
    ...exchanges.map(({ answer, ...rest }) => ({ ...rest, answer: { ...answer, body: once(answer.body) } })),
  ])
}

export function sessionsOf(lines: readonly unknown[]): Session[] {
  const known: string[] = []
  const sessions: { setting: Setting; exchanges: Exchange[] }[] = []
  for (const line of lines as ({ setting: Setting } | Exchange)[]) {
    if ('setting' in line) {
      sessions.push({ setting: line.setting, exchanges: [] })
      continue
    }
    const { body } = line.answer as { body: string | number }
    const text = typeof body === 'number' ? (known[body] as string) : body
    if (typeof body === 'string' && body.length >= long) known.push(body)
    sessions.at(-1)?.exchanges.push({ ...line, answer: { ...line.answer, body: text } })
  }
  return sessions
}
