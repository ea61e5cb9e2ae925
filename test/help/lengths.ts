/** Checks the lengths of files and functions. */
import { isPublished, lineAt, mask, type Source } from './source.ts'

const longestFile = 300
const longestFunction = 40
const reason = /^\s*(?:\/\/|\*|\/\*\*) long because: \S/

export function longFiles(files: readonly Source[]): string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n')
    if (lines.length <= longestFile || lines.slice(0, 5).some((line) => reason.test(line))) return []
    return [
      `${path} has ${lines.length} lines; allowed are ${longestFile}. ` +
        'Split it by subject, or write `// long because: <reason>` into its first five lines.',
    ]
  })
}

export function longFunctions(files: readonly Source[]): string[] {
  return files.flatMap((source) => {
    if (!isPublished(source.path) && !source.path.startsWith('test/help/')) return []
    return functions(source.text).flatMap(({ name, from, to }) => {
      const length = to - from + 1
      if (length <= longestFunction || excused(source.text.split('\n'), from)) return []
      return [
        `${source.path}:${from} ${name} has ${length} lines; allowed are ${longestFunction}. ` +
          'Take a step out of it and name it, or write `// long because: <reason>` directly above.',
      ]
    })
  })
}

/** A reason counts in the comment directly above the function. */
function excused(lines: readonly string[], from: number): boolean {
  for (let line = from - 2; line >= 0 && /^\s*(?:\/\/|\/\*\*|\*)/.test(lines[line] as string); line--) {
    if (reason.test(lines[line] as string)) return true
  }
  return false
}

interface Body {
  readonly name: string
  /** The first and the last line, counted from 1. */
  readonly from: number
  readonly to: number
}

const named = /\bfunction\b\s*\*?\s*([\w$]*)\s*(?:<[^(]*>)?\(/g
const method = /^[ \t]+(?:(?:async|static|get|set|private|readonly)\s+|\*\s*)*(#?[\w$]+)(?:<[^(]*>)?\(/gm
const arrow = /=>\s*([{([])/g
const notMethods = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'return', 'await', 'function', 'super'])

/** All functions with a body in braces. */
export function functions(text: string): readonly Body[] {
  const { bare } = mask(text)
  const found: Body[] = []
  const add = (name: string, start: number, open: number): void => {
    found.push({ name, from: lineAt(bare, start), to: lineAt(bare, closing(bare, open)) })
  }
  for (const pattern of [named, method]) {
    for (const match of bare.matchAll(pattern)) {
      const name = match[1] as string
      if (notMethods.has(name)) continue
      const open = bodyAfter(bare, closing(bare, match.index + match[0].length - 1) + 1)
      if (open !== undefined) add(name || 'a function', match.index + match[0].search(/\S/), open)
    }
  }
  for (const match of bare.matchAll(arrow)) {
    const line = headOf(bare, bare.lastIndexOf('\n', match.index) + 1)
    const name = /(?:const|let)\s+([\w$]+)[^=]*=|([\w$]+):/.exec(bare.slice(line, match.index))
    add(name?.[1] ?? name?.[2] ?? 'a function', line, match.index + match[0].length - 1)
  }
  return found
}

/** The first line of a function: if `line` starts with the closing bracket of its parameters, the line that opened it. */
function headOf(bare: string, line: number): number {
  const indent = /^( *)\)/.exec(bare.slice(line, bare.indexOf('\n', line)))?.[1]
  if (indent === undefined) return line
  const above = bare.slice(0, line).split('\n')
  let at = above.length - 2
  while (at > 0 && !new RegExp(`^${indent}[^ )]`).test(above[at] as string)) at--
  return above.slice(0, at).join('\n').length + (at > 0 ? 1 : 0)
}

const opening = '([{'
const close = ')]}'

/** The position of the bracket that closes the one at `open`. */
function closing(bare: string, open: number): number {
  let depth = 0
  for (let at = open; at < bare.length; at++) {
    if (opening.includes(bare[at] as string)) depth++
    else if (close.includes(bare[at] as string) && --depth === 0) return at
  }
  return bare.length
}

const wantsType = /(?:[:|&<,([]|=>|\b(?:is|keyof|readonly|extends|infer))\s*$/

/** The brace that opens the body after the parameters and a return type; undefined if there is no body. */
function bodyAfter(bare: string, behind: number): number | undefined {
  const start = behind + (/^\s*/.exec(bare.slice(behind)) as RegExpExecArray)[0].length
  if (bare[start] === '{') return start
  if (bare[start] !== ':') return undefined
  let at = start + 1
  while (at < bare.length) {
    const char = bare[at] as string
    const expects = wantsType.test(bare.slice(Math.max(0, at - 40), at))
    if (char === '{' && !expects) return at
    if (opening.includes(char)) at = closing(bare, at)
    else if (char === '=' && bare[at + 1] === '>') at++
    else if (close.includes(char) || char === ';' || char === '=') return undefined
    else if (char === '\n' && !expects && !/^\s*(?:[|&{>]|\?|:)/.test(bare.slice(at, at + 80))) return undefined
    at++
  }
  return undefined
}
