/**
 * Gives the same names to values that a service makes by chance, so that two runs can be compared and a stored request can
 * refer to what an earlier answer held.
 *
 * Named are: identifiers that were made (a prefix and 26 characters), identifiers of requests (UUIDv7), cursors, and the seals
 * within entity tags (16 hexadecimal digits behind the hash of the view, made from identifiers). A name says in which answer
 * the value came first and as which of the values that were new there. All else is compared as it is. A cursor stands with
 * what it means, so that its payload is compared; its signature is proven by the requests that send it back.
 */
import { inflateRawSync } from 'node:zlib'

export const open = '\u{f8f0}'
export const close = '\u{f8f1}'

/** Begins what a cursor means, behind its name. */
const meaning = ' means '

const ids = /(?<![A-Za-z0-9_])[a-z][a-z_]{0,30}_[0-7][0-9a-hjkmnp-tv-z]{25}(?![A-Za-z0-9])/
const requests = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
const seals = /(?<=-[0-9a-f]{6})[0-9a-f]{16}(?=(?:\+\w+)?\\?")/
const cursors = /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{36,}(?![A-Za-z0-9_-])/
const made = new RegExp([ids, requests, seals, cursors].map(({ source }) => source).join('|'), 'g')

export interface Names {
  /** Puts the values of this run in the place of names. */
  readonly fill: (text: string) => string
  /** Puts names in the place of values that are known; whatever else looks made is the client's own from now on. */
  readonly refer: (text: string) => string
  /** Puts names in the place of values, known or new. */
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

/** Identifiers and seals are named wherever they are; of long texts only those that are cursors. */
const isShort = (value: string): boolean =>
  new RegExp(`^(?:${ids.source}|${requests.source}|[0-9a-f]{16})$`).test(value)

/** What a cursor says: the list it belongs to, its way, when it was made, and its place. Null for a text that is no cursor. */
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

/** Other characters for those that would end a text of JSON. */
const withinQuotes = (text: string): string => text.replaceAll('"', "'").replaceAll('\\', '¦')

/** A text with its names in brackets, for people. */
export const plain = (text: string): string => text.replaceAll(open, '‹').replaceAll(close, '›')
