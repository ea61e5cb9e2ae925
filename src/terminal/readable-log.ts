/** Readable log: one line per request for people, in colour on a terminal. */

import { styleText } from 'node:util'
import type { Log } from '../flow/world.ts'
import { codeFrame } from '../frames/code-frame.ts'
import type { FatalLog } from './start.ts'

type LogFields = Readonly<Record<string, unknown>>
type TextStyle = Parameters<typeof styleText>[0]

export function readableLog(): Log & FatalLog {
  const say = (style: TextStyle, word: string) => (about: object, message: string) =>
    console.log(isRequest(about) ? requestLine(about) : entryLine(style, word, about as LogFields, message))
  return {
    info: say('dim', 'info'),
    warn: say('yellow', 'warn'),
    error: say('red', 'error'),
    fatal: say('red', 'fatal'),
    written: async () => {},
  }
}

interface RequestEntry {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly key?: string
  readonly account?: string
  readonly type?: string
  readonly rule?: string
  readonly errors?: readonly {
    readonly in?: string
    readonly pointer?: string
    readonly name?: string
    readonly type: string
  }[]
}

/** Characters sent by clients must not move the cursor, ring the bell or reverse the text of the terminal. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const printable = (text: string): string =>
  text.replace(unprintable, (one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`)
export const onOneLine = (text: string): string => printable(text).replaceAll('\n', '\\n')

const isRequest = (about: object): about is RequestEntry => 'method' in about && 'path' in about && 'status' in about

export const timeOfDay = (): string => styleText('dim', new Date().toTimeString().slice(0, 8))

function requestLine({ method, path, status, ms, key, account, ...refusal }: RequestEntry): string {
  const style = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green'
  const by = [key && `key=${key}`, account && `account=${account}`].filter(Boolean)
  const rest = styleText('dim', onOneLine([`${ms} ms`, ...by].join(' ')))
  const reason = refusal.type === undefined ? '' : ` ${styleText(style, onOneLine(refusalText(refusal)))}`
  return `${timeOfDay()} ${styleText(style, String(status))} ${onOneLine(method).padEnd(6)} ${onOneLine(path)} ${rest}${reason}`
}

function refusalText({ type, rule, errors = [] }: Pick<RequestEntry, 'type' | 'rule' | 'errors'>): string {
  const each = errors.map((one) => [one.in, one.pointer ?? one.name, one.type].filter(Boolean).join(' '))
  return `${type}${rule === undefined ? '' : ` (${rule})`}${each.length === 0 ? '' : `: ${each.join(', ')}`}`
}

function entryLine(style: TextStyle, word: string, { err, ...about }: LogFields, message: string): string {
  const rest = Object.entries(about).map(([name, value]) => ` ${name}=${onOneLine(String(value))}`)
  const stack = String(err instanceof Error ? err.stack : err)
  const frame = codeFrame(stack)
  const cause = err === undefined ? '' : `\n${printable(frame === '' ? stack : `${frame}\n${stack}`)}`
  return `${timeOfDay()} ${styleText(style, word)} ${onOneLine(message)}${styleText('dim', rest.join(''))}${cause}`
}
