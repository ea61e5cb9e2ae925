/** Reads the project's source files: their code without comments and strings, and their imports. */
import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

export interface Source {
  readonly path: string
  readonly text: string
}

/** All TypeScript files of the repository. */
export function sources(root: URL): readonly Source[] {
  const paths = globSync('{src,test,examples,bench}/**/*.ts', { cwd: root }).map((path) => path.replaceAll('\\', '/'))
  return paths.sort().map((path) => ({ path, text: readFileSync(new URL(path, root), 'utf8') }))
}

export const isTest = (path: string): boolean => path.endsWith('.test.ts')
/** Whether a file is published code, for which the rules of the source text hold. */
export const isPublished = (path: string): boolean => path.startsWith('src/') && !isTest(path)

export const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length

type Span = readonly [from: number, to: number]

interface Spans {
  readonly comments: Span[]
  /** The content of strings, templates and regular expressions. */
  readonly words: Span[]
}

/** The text without comments, and also without strings: replaced by spaces, so that positions stay the same. */
export function mask(text: string): { readonly code: string; readonly bare: string } {
  const spans: Spans = { comments: [], words: [] }
  walk(text, 0, spans, false)
  const code = blank(text, spans.comments)
  return { code, bare: blank(code, spans.words) }
}

function blank(text: string, spans: readonly Span[]): string {
  let [result, at] = ['', 0]
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    result += text.slice(at, from) + text.slice(from, to).replace(/[^\n]/g, ' ')
    at = to
  }
  return result + text.slice(at)
}

/** Reads code up to its end, or inside a template up to the closing brace, and returns that position. */
function walk(text: string, start: number, spans: Spans, nested: boolean): number {
  let [at, depth] = [start, 0]
  while (at < text.length) {
    const char = text[at] as string
    if (nested && char === '}' && depth === 0) return at
    if (char === '{') depth++
    else if (char === '}') depth--
    if (char === '/') at = slash(text, at, spans)
    else if (char === "'" || char === '"') at = word(text, at, spans, new RegExp(`[${char}\\n]`))
    else if (char === '`') at = template(text, at, spans)
    else at++
  }
  return at
}

const beforePattern = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|await|yield|void|delete))\s*$/

/** Reads a comment, a regular expression or a division. */
function slash(text: string, at: number, spans: Spans): number {
  if (text[at + 1] === '/') return comment(text, at, spans, '\n')
  if (text[at + 1] === '*') return comment(text, at, spans, '*/')
  if (!beforePattern.test(text.slice(Math.max(0, at - 60), at))) return at + 1
  return word(text, at, spans, /[/\n]/)
}

function comment(text: string, at: number, spans: Spans, close: string): number {
  const found = text.indexOf(close, at + 2)
  const to = found < 0 ? text.length : close === '\n' ? found : found + close.length
  spans.comments.push([at, to])
  return to
}

/** Reads a string or a regular expression up to its closing character, which is not escaped and not in brackets. */
function word(text: string, at: number, spans: Spans, close: RegExp): number {
  let [to, bracket] = [at + 1, false]
  while (to < text.length && (bracket || !close.test(text[to] as string))) {
    if (text[to] === '\\') to++
    else if (text[at] === '/' && text[to] === '[') bracket = true
    else if (text[to] === ']') bracket = false
    to++
  }
  spans.words.push([at + 1, to])
  return to + 1
}

function template(text: string, start: number, spans: Spans): number {
  let [at, from] = [start + 1, start + 1]
  while (at < text.length && text[at] !== '`') {
    if (text.startsWith('${', at)) {
      spans.words.push([from, at])
      at = walk(text, at + 2, spans, true)
      from = at + 1
    } else if (text[at] === '\\') at++
    at++
  }
  spans.words.push([from, at])
  return at + 1
}

export interface Import {
  /** The specifier as it is written. */
  readonly name: string
  /** The file of the repository that it refers to, if it is one. */
  readonly file: string | undefined
  readonly line: number
  /** Whether the import is removed with the types. */
  readonly typeOnly: boolean
}

const still = /^(?:import\s*|(?:import|export)\b(\s+type\b)?[\w\s{},*$]*?\bfrom\s*)(['"])/gm
const dynamic = /\bimport\s*\(\s*(['"])/g

export function imports(source: Source): readonly Import[] {
  const { bare } = mask(source.text)
  return [still, dynamic].flatMap((pattern) =>
    [...bare.matchAll(pattern)].map((found) => {
      const quote = found.index + found[0].length - 1
      const name = source.text.slice(quote + 1, source.text.indexOf(source.text[quote] as string, quote + 1))
      const file = name.startsWith('.') ? posix.join(posix.dirname(source.path), name) : undefined
      return { name, file, line: lineAt(bare, found.index), typeOnly: pattern === still && found[1] !== undefined }
    }),
  )
}
