/** The log for people: a line a request, coloured where a terminal reads it. */
import { styleText } from 'node:util'
import type { Log } from '../http/house.ts'
import type { Witness } from './start.ts'

type About = Readonly<Record<string, unknown>>
type Style = Parameters<typeof styleText>[0]

export function readableLog(): Log & Witness {
  const say = (style: Style, word: string) => (about: object, message: string) =>
    console.log(isRequest(about) ? requestLine(about) : line(style, word, about as About, message))
  return {
    info: say('dim', 'info'),
    warn: say('yellow', 'warn'),
    error: say('red', 'error'),
    fatal: say('red', 'fatal'),
    written: async () => {},
  }
}

interface Answered {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
}

/** What a client sent must not move the cursor, ring the bell or reverse the line of whoever reads it. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const printable = (text: string): string =>
  text.replace(unprintable, (one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`)
const onOneLine = (text: string): string => printable(text).replaceAll('\n', '\\n')

const isRequest = (about: object): about is Answered => 'method' in about && 'path' in about && 'status' in about

const clock = (): string => styleText('dim', new Date().toTimeString().slice(0, 8))

function requestLine({ method, path, status, ms }: Answered): string {
  const style = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green'
  return `${clock()} ${styleText(style, String(status))} ${onOneLine(method).padEnd(6)} ${onOneLine(path)} ${styleText('dim', `${ms} ms`)}`
}

function line(style: Style, word: string, { err, ...about }: About, message: string): string {
  const rest = Object.entries(about).map(([name, value]) => ` ${name}=${onOneLine(String(value))}`)
  const cause = err === undefined ? '' : `\n${printable(String(err instanceof Error ? err.stack : err))}`
  return `${clock()} ${styleText(style, word)} ${onOneLine(message)}${styleText('dim', rest.join(''))}${cause}`
}
