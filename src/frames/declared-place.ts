/** Declared place: finds a path of a declaration, such as `resources.orders.fields.total`, in the source text. */
import { basename, extname } from 'node:path'
import { frameAt, linesOf } from './code-frame.ts'

/** Where a name is written as a key of an object. */
interface WrittenKey {
  /** The names of the objects around it and its own; the first one is that of the variable or, for a default, the file. */
  readonly path: readonly string[]
  readonly file: string
  readonly at: number
}

/** The code frame of a place; empty if the files do not show it, or if several parts of them could be meant. */
export function placeFrame(place: string, files: Iterable<string>): string {
  const names = [...place.matchAll(/\["((?:[^"\\]|\\.)*)"\]|[^.[\]]+/g)].map(([name, quoted]) => quoted ?? name)
  const keys = [...files].flatMap((file) => writtenKeys(file, linesOf(file).join('\n')))
  for (let end = names.length; end > 0; end--) {
    const match = longestMatch(names.slice(0, end), keys)
    if (match === null) continue
    const before = linesOf(match.file).join('\n').slice(0, match.at).split('\n')
    return frameAt(match.file, before.length, (before.at(-1) as string).length + 1)
  }
  return ''
}

/**
 * The key whose path ends with the most of the names. Parts of a declaration can be in variables and other files, so the
 * path may lack the first names; a single name is too ambiguous, except for a part of the service.
 */
function longestMatch(names: readonly string[], keys: readonly WrittenKey[]): WrittenKey | null {
  for (let length = names.length; length > 1 || length === names.length; length--) {
    const wanted = names.slice(-length).join('\n')
    const matches = keys.filter(({ path }) => path.join('\n') === wanted || path.slice(1).join('\n') === wanted)
    if (matches.length > 0) return matches.length === 1 ? (matches[0] as WrittenKey) : null
    if (length <= 1) return null
  }
  return null
}

/** A token that matters here; the others (comments, regular expressions, punctuation) are skipped. */
const tokenPattern =
  /\/\/.*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|(?<=[(,=:[!&|?{;]\s*)\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|[\p{L}_$][\p{L}\p{N}_$]*|[{}()[\],:;]/gu

// long because: one pass over the tokens with the open brackets
/** All keys of object literals in a file. */
function writtenKeys(file: string, text: string): readonly WrittenKey[] {
  const keys: WrittenKey[] = []
  /** The open brackets; `name` is the key whose value is being read, null in other brackets than `{`. */
  const open: { name: string | null; isObject: boolean }[] = []
  let root = ''
  let before = ''
  const tokens = [...text.matchAll(tokenPattern)].filter(([token]) => !/^\/[/*]/.test(token))
  tokens.forEach((match, i) => {
    const [token] = match
    const last = before
    const inner = open.at(-1)
    before = token
    if (/^[{([]$/.test(token)) open.push({ name: null, isObject: token === '{' })
    else if (/^[})\]]$/.test(token)) open.pop()
    else if (inner === undefined) {
      if (/^(?:const|let|var)$/.test(last)) root = token
      else if (token === 'default' && last === 'export') root = basename(file, extname(file))
    } else if (inner.isObject && /^[{,]$/.test(last) && /^[:,}(]$/.test(tokens[i + 1]?.[0] ?? '')) {
      const name = /^['"]/.test(token) ? token.slice(1, -1) : token
      inner.name = name
      const path = [root, ...open.flatMap((one) => (one.isObject && one.name !== null ? [one.name] : []))]
      keys.push({ path, file, at: match.index })
    }
  })
  return keys
}
