/** JSON, strict: refuses what JSON.parse accepts: repeated keys, lost precision, broken strings. Part 7, invalid data. */
import { isUtf8 } from 'node:buffer'
import { addViolation, escapePointer, shortName } from '../errors/pointer.ts'
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import { isObject, typeInWords } from '../fields/value-check.ts'

interface JsonLimits {
  readonly maxDepth: number
  readonly maxKeys: number
}

/** Parses bytes as one JSON object. R43 to R46. */
export function parseObject(bytes: Buffer, bounds: JsonLimits): Record<string, unknown> {
  const value = parseJson(bytes, bounds)
  if (isObject(value)) return value
  throw jsonViolation('', 'invalid-type', `must be an object, not ${typeInWords(value)}.`)
}

/** Parses bytes as one JSON value. */
export function parseJson(bytes: Buffer, bounds: JsonLimits): unknown {
  if (!isUtf8(bytes))
    throw new Problem('invalid-encoding', 'The content is not valid UTF-8.', { extra: { in: 'body' } })
  const text = bytes.toString('utf8')
  const value = parseText(text)
  if (!isSound(text, value, bounds)) scan(text, bounds)
  return value
}

function jsonViolation(at: string, type: string, says: string): Problem {
  const faults: Violation[] = []
  addViolation(faults, at, type, says)
  return invalidBody(faults)
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformedJson(`The content is not valid JSON: ${syntaxFault((error as Error).message)}.`)
  }
}

/** The error message of JSON.parse, without the piece of the content that it quotes. */
function syntaxFault(message: string): string {
  const [, character] = /^Unexpected token '(.)'/su.exec(message) ?? []
  if (character !== undefined) return `${JSON.stringify(character)} is out of place`
  const [, place] = /position (\d+)/.exec(message) ?? []
  return place === undefined ? 'it ends too early' : `it goes wrong at character ${place}`
}

const malformedJson = (message: string): Problem => new Problem('malformed-json', message, { extra: { in: 'body' } })

/** A quick check that saves the scan: no repeated keys (as many colons as parsed keys), only short integers, no \u. */
function isSound(text: string, value: unknown, { maxDepth, maxKeys }: JsonLimits): boolean {
  const escapes = text.includes('\\')
  if (escapes && text.includes('\\u')) return false
  let depth = 0
  let keys = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) i = endOfString(text, i, escapes)
    else if (code === 0x3a) keys++
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return false
    } else if (code === 0x7d || code === 0x5d) depth--
    else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = endOfDigits(text, i + 1)
      if (end - i > 15 || isNumeric(text.charCodeAt(end))) return false
      i = end - 1
    }
  }
  return keys === keysIn(value, maxKeys)
}

function endOfDigits(text: string, from: number): number {
  let end = from
  for (let code = text.charCodeAt(end); code >= 0x30 && code <= 0x39; ) code = text.charCodeAt(++end)
  return end
}

/** How many keys all objects of a value have together; -1 if one has more than `most`. The depth was checked before. */
function keysIn(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 0
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value)
  let count = Array.isArray(value) ? 0 : members.length
  if (count > most) return -1
  for (const member of members) {
    if (typeof member !== 'object') continue
    const inner = keysIn(member, most)
    if (inner < 0) return -1
    count += inner
  }
  return count
}

/** A level of nesting: the keys of an object so far, or the position in a list. */
interface Level {
  readonly keys: Set<string> | null
  key: string
  index: number
}

/** Refuses repeated keys, inexact numbers and broken strings in a text that is known to be valid JSON. */
function scan(text: string, { maxDepth, maxKeys }: JsonLimits): void {
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
        addKey(
          levels,
          level,
          escapes && raw.includes('\\') ? resolveString(`"${raw}"`, levels.slice(0, -1)) : raw,
          maxKeys,
        )
      else if (escapes && raw.includes('\\u')) resolveString(`"${raw}"`, levels)
      atKey = false
      i = end
    } else if (code === 0x7b || code === 0x5b) {
      level = { keys: code === 0x7b ? new Set() : null, key: '', index: 0 }
      levels.push(level)
      if (levels.length > maxDepth) throw malformedJson(`The content is nested more than ${maxDepth} levels deep.`)
      atKey = code === 0x7b
    } else if (code === 0x7d || code === 0x5d) {
      levels.pop()
      level = levels[levels.length - 1]
    } else if (code === 0x2c && level) {
      level.index++
      atKey = level.keys !== null
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      i = skipNumber(text, i, levels) - 1
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
function resolveString(raw: string, levels: readonly Level[]): string {
  const value = JSON.parse(raw) as string
  if (value.isWellFormed() && !value.includes('\u0000')) return value
  throw new Problem('invalid-encoding', 'A string has an unpaired surrogate or the character U+0000.', {
    extra: { in: 'body', pointer: pointerTo(levels) },
  })
}

function addKey(levels: readonly Level[], level: Level, key: string, maxKeys: number): void {
  level.key = key
  const keys = level.keys as Set<string>
  if (keys.has(key))
    throw new Problem('duplicate-json-key', `The key ${shortName(key)} is given twice in one object.`, {
      extra: { in: 'body', pointer: pointerTo(levels) },
    })
  if (keys.add(key).size > maxKeys) throw malformedJson(`An object has more than ${maxKeys} keys.`)
}

/** Skips a number; refuses one that a double cannot hold exactly. R44. */
function skipNumber(text: string, from: number, levels: readonly Level[]): number {
  let end = from + 1
  let plain = true
  for (let code = text.charCodeAt(end); isNumeric(code); code = text.charCodeAt(++end))
    plain &&= code <= 0x39 && code >= 0x30
  if (plain && end - from <= 15) return end
  if (isExact(text.slice(from, end))) return end
  throw jsonViolation(
    pointerTo(levels),
    'out-of-range',
    'is a number that would lose precision; send such numbers as strings.',
  )
}

const isNumeric = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d

/** Whether a double holds the number of the text exactly. */
function isExact(raw: string): boolean {
  const value = Number(raw)
  return Number.isFinite(value) && canonicalNumber(raw) === canonicalNumber(String(value))
}

/** The digits of a number without leading and trailing zeros, and the power of ten of the last digit. Takes linear time. */
function canonicalNumber(text: string): string {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const [units = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = units + fraction
  let [first, last] = [0, digits.length]
  while (digits[first] === '0') first++
  while (last > first && digits[last - 1] === '0') last--
  return first === last ? '0' : `${digits.slice(first, last)}e${Number(power) - fraction.length + digits.length - last}`
}

function pointerTo(levels: readonly Level[]): string {
  return levels.map(({ keys, key, index }) => `/${keys ? escapePointer(key) : index}`).join('')
}
