/** Strict JSON: what a plain parser lets pass (repeated keys, lost precision, broken strings) is refused. Part 7, invalid data. */
import { isUtf8 } from 'node:buffer'
import { invalidBody, Problem } from '../errors/problem.ts'
import { isObject, kindOf } from '../resources/values.ts'

interface Bounds {
  readonly maxDepth: number
  readonly maxKeys: number
}

/** The object that the bytes are the text of. R43 to R46. */
export function parseObject(bytes: Buffer, bounds: Bounds): Record<string, unknown> {
  if (!isUtf8(bytes))
    throw new Problem('invalid-encoding', 'The content is not valid UTF-8.', { extra: { in: 'body' } })
  const text = bytes.toString('utf8')
  const value = parsed(text)
  scan(text, bounds)
  if (isObject(value)) return value
  throw invalidBody([
    { message: `The body must be an object, not ${kindOf(value)}.`, type: 'invalid-type', in: 'body', pointer: '' },
  ])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const place = /position (\d+)/.exec((error as Error).message)?.[1]
    throw malformed(place === undefined ? 'it ends too early' : `at character ${place}`)
  }
}

const malformed = (where: string): Problem =>
  new Problem('malformed-json', `The content is not valid JSON (${where}).`, { extra: { in: 'body' } })

/** A level of nesting: the keys of an object so far, or the position in a list. */
interface Level {
  readonly keys: Set<string> | null
  key: string
  index: number
}

/** Goes once over a text that is known to be valid JSON. */
function scan(text: string, { maxDepth, maxKeys }: Bounds): void {
  const escapes = text.includes('\\')
  const levels: Level[] = []
  let level: Level | undefined
  let atKey = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) {
      const end = endOfString(text, i, escapes)
      const raw = text.slice(i + 1, end)
      if (atKey && level)
        addKey(levels, level, escapes && raw.includes('\\') ? whole(`"${raw}"`, levels) : raw, maxKeys)
      else if (escapes && raw.includes('\\u')) whole(`"${raw}"`, levels)
      atKey = false
      i = end
    } else if (code === 0x7b || code === 0x5b) {
      level = { keys: code === 0x7b ? new Set() : null, key: '', index: 0 }
      levels.push(level)
      if (levels.length > maxDepth) throw malformed(`more than ${maxDepth} levels deep`)
      atKey = code === 0x7b
    } else if (code === 0x7d || code === 0x5d) {
      levels.pop()
      level = levels[levels.length - 1]
    } else if (code === 0x2c && level) {
      level.index++
      atKey = level.keys !== null
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      i = number(text, i, levels) - 1
    }
  }
}

function endOfString(text: string, from: number, escapes: boolean): number {
  let end = text.indexOf('"', from + 1)
  if (!escapes) return end
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++
  return backslashes % 2 === 1
}

/** A string with its escapes resolved; a lone surrogate or U+0000 is refused. R45. */
function whole(raw: string, levels: readonly Level[]): string {
  const value = JSON.parse(raw) as string
  if (value.isWellFormed() && !value.includes('\u0000')) return value
  throw new Problem('invalid-encoding', 'A string has an unpaired surrogate or the character U+0000.', {
    extra: { in: 'body', pointer: pointer(levels) },
  })
}

function addKey(levels: readonly Level[], level: Level, key: string, maxKeys: number): void {
  level.key = key
  const keys = level.keys as Set<string>
  if (keys.has(key))
    throw new Problem('duplicate-json-key', `The key ${key} stands twice in one object.`, {
      extra: { in: 'body', pointer: pointer(levels) },
    })
  if (keys.add(key).size > maxKeys) throw malformed(`more than ${maxKeys} keys in one object`)
}

/** Passes over a number; one that a double cannot hold exactly is refused. R44. */
function number(text: string, from: number, levels: readonly Level[]): number {
  let end = from + 1
  let plain = true
  for (let code = text.charCodeAt(end); isNumeric(code); code = text.charCodeAt(++end))
    plain &&= code <= 0x39 && code >= 0x30
  if (plain && end - from <= 15) return end
  const raw = text.slice(from, end)
  if (isExact(raw)) return end
  throw invalidBody([
    {
      message: `${raw.slice(0, 40)} is a number that would lose precision.`,
      type: 'out-of-range',
      in: 'body',
      pointer: pointer(levels),
    },
  ])
}

const isNumeric = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d

/** Whether a double gives the digits back: whole numbers up to 2^53, others of up to 15 significant digits. */
function isExact(raw: string): boolean {
  const value = Number(raw)
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false
  const [digits = ''] = raw.split(/[eE]/)
  if (digits === raw && !raw.includes('.')) return true
  const significant = digits.replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '')
  return significant.length <= 15 && (value !== 0 || significant === '')
}

function pointer(levels: readonly Level[]): string {
  return levels
    .map(({ keys, key, index }) => `/${keys ? key.replaceAll('~', '~0').replaceAll('/', '~1') : index}`)
    .join('')
}
