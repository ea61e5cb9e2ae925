/** Matching text: generates texts that a declared pattern matches. Part 9, versioning. */

/** Chooses a whole number from 0 to below `count`; 0 is the simplest choice. */
interface Chance {
  readonly below: (count: number) => number
}

const pickOne = <T>(chance: Chance, values: readonly T[]): T => values[chance.below(values.length)] as T

/** A text that should match the pattern. The caller must test it, as lookarounds are ignored. */
export function matchingText(pattern: string, chance: Chance): string {
  const reader: PatternReader = { pattern, at: 0 }
  const text = readBranches(reader)(chance)
  return text
}

interface PatternReader {
  readonly pattern: string
  at: number
}

type MakeText = (chance: Chance) => string

const nothing: MakeText = () => ''
const mostMore = 8

function readBranches(reader: PatternReader): MakeText {
  const all = [readSequence(reader)]
  while (reader.pattern[reader.at] === '|') {
    reader.at++
    all.push(readSequence(reader))
  }
  return (chance) => pickOne(chance, all)(chance)
}

function readSequence(reader: PatternReader): MakeText {
  const parts: MakeText[] = []
  while (reader.at < reader.pattern.length && !'|)'.includes(reader.pattern[reader.at] as string))
    parts.push(readRepetition(reader, readPart(reader)))
  return (chance) => parts.map((make) => make(chance)).join('')
}

function readRepetition(reader: PatternReader, make: MakeText): MakeText {
  const [text, few, more, most] = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(reader.pattern.slice(reader.at)) ?? []
  if (text === undefined) return make
  reader.at += text.length
  const [least, greatest] = few === undefined ? timesOfSign(text) : timesOfBraces(few, more, most)
  return (chance) => Array.from({ length: least + chance.below(greatest - least + 1) }, () => make(chance)).join('')
}

/** How often `*`, `+` or `?` repeats a part: at least, and at most. */
function timesOfSign([sign]: string): readonly [least: number, greatest: number] {
  if (sign === '?') return [0, 1]
  return sign === '+' ? [1, 1 + mostMore] : [0, mostMore]
}

/** How often `{2}`, `{2,}` or `{2,5}` repeats a part: at least, and at most. */
function timesOfBraces(few: string, more?: string, most?: string): readonly [least: number, greatest: number] {
  const least = Number(few)
  if (more === undefined) return [least, least]
  return [least, most === '' ? least + mostMore : Number(most)]
}

function readPart(reader: PatternReader): MakeText {
  const rest = reader.pattern.slice(reader.at)
  const [open] = /^\((?:\?(?:<?[=!]|<[^>]*>|:))?/.exec(rest) ?? []
  if (open !== undefined) {
    reader.at += open.length
    const inner = readBranches(reader)
    reader.at++
    return /[=!]$/.test(open) ? nothing : inner
  }
  const [token = ''] = /^(?:\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u.{4}|x..|c.|.)|\[(?:\\.|[^\]\\])*\]|.)/su.exec(rest) ?? []
  reader.at += token.length
  if (/^(?:[\^$]|\\[bB])$/.test(token)) return nothing
  const fitting = matchingCharacters(token)
  return (chance) => pickOne(chance, fitting)
}

const candidates: readonly string[] = [
  ...'a0-A_. b1zZ9B/:@#+,;!?&%*()[]{}<>="\'`~^|$\\',
  ...Array.from({ length: 26 }, (_, i) => String.fromCharCode(97 + i)),
  ...Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i)),
  ...'23456780',
  ...'\t\n\u00e9\u00df\u00c4\u03b1\u0416\u6f22\u3042\u20ac\u{1f600}',
]

/** The common characters that a part of one character matches; if there are none, a rare one. */
function matchingCharacters(token: string): readonly string[] {
  if (/^[^\\[.]$/su.test(token)) return [token]
  const test = new RegExp(`^${token}$`, 'u')
  const matches = candidates.filter((one) => test.test(one))
  return matches.length > 0 ? matches : rareCharacters(test)
}

/** The first matching character of all code points up to U+1FFFF. */
function rareCharacters(test: RegExp): readonly string[] {
  for (let point = 0x20; point < 0x2_0000; point++) {
    const character = String.fromCodePoint(point)
    if ((point < 0xd800 || point > 0xdfff) && test.test(character)) return [character]
  }
  return ['']
}
