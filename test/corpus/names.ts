/**
 * Replaces the random values of a service by names that are the same in each run, so that two runs can be compared, and a stored
 * request can refer to a value of an earlier answer.
 *
 * These values are replaced: generated identifiers (a prefix and 26 characters), identifiers of requests (UUIDv7), cursors, and the
 * seals in entity tags (16 hexadecimal digits after the hash of the view, made from identifiers). A name has the number of the answer
 * in which the value came first, and its position among the new values there. A cursor is followed by its payload, so that this
 * is compared; its signature is tested by the requests that send it back.
 */
import { inflateRawSync } from 'node:zlib'

export const open = '\u{f8f0}'
export const close = '\u{f8f1}'

/** Stands between the name of a cursor and its payload. */
const meaning = ' means '

const ids = /(?<![A-Za-z0-9_])[a-z][a-z_]{0,30}_[0-7][0-9a-hjkmnp-tv-z]{25}(?![A-Za-z0-9])/
const requests = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
const seals = /(?<=-[0-9a-f]{6})[0-9a-f]{16}(?=(?:\+\w+)?\\?")/
const cursors = /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{36,}(?![A-Za-z0-9_-])/
const made = new RegExp([ids, requests, seals, cursors].map(({ source }) => source).join('|'), 'g')

export interface Names {
  /** Replaces names by the values of this run. */
  readonly fill: (text: string) => string
  /** Replaces known values by names. Other values of these forms come from the client, and are never replaced. */
  readonly refer: (text: string) => string
  /** Replaces values by names, and gives names to new ones. */
  readonly name: (text: string, at: number) => string
}

export function namesOf(): Names {
  const values = new Map<string, string>()
  const names = new Map<string, string>()
  const own = new Set<string>()
  let latest = -1
  let count = 0

  function named(value: string, at: number): string {
    const before = names.get(value)
    if (before !== undefined) return open + before + close
    if (own.has(value)) return value
    const payload = payloadOf(value)
    if (payload === null && !isShort(value)) return value
    if (at !== latest) [latest, count] = [at, 0]
    const name = `${at}.${count++}`
    values.set(name, value)
    names.set(value, name)
    return open + name + (payload === null ? '' : meaning + payload.replace(made, (one) => named(one, at))) + close
  }

  return {
    fill: (text) =>
      text.replace(
        new RegExp(`${open}([^${close}]*)${close}`, 'g'),
        (_, name: string) => values.get(name) ?? `no-value-for-${name}`,
      ),
    refer: (text) =>
      text.replace(made, (value) => {
        const name = names.get(value)
        if (name !== undefined) return open + name + close
        own.add(value)
        return value
      }),
    name: (text, at) => text.replace(made, (value) => named(value, at)),
  }
}

/** Whether a value is an identifier or a seal, which always get names; of other, longer texts only cursors get them. */
const isShort = (value: string): boolean =>
  new RegExp(`^(?:${ids.source}|${requests.source}|[0-9a-f]{16})$`).test(value)

/** The payload of a cursor: its list, its direction, its time and its position. Null for a text that is not a cursor. */
function payloadOf(text: string): string | null {
  const bytes = Buffer.from(text, 'base64url')
  const body = bytes.subarray(12)
  if (body[0] !== 1 && body[0] !== 2) return null
  try {
    const said = body[0] === 2 ? inflateRawSync(body.subarray(1)) : body.subarray(1)
    const payload: unknown = JSON.parse(said.toString())
    return Array.isArray(payload) ? withinQuotes(JSON.stringify(payload)) : null
  } catch {
    return null
  }
}

/** Replaces the characters that would end a string of JSON. */
const withinQuotes = (text: string): string => text.replaceAll('"', "'").replaceAll('\\', '¦')

/** A text with its names in brackets, for people. */
export const plain = (text: string): string => text.replaceAll(open, '‹').replaceAll(close, '›')
