/** Code frame: the lines of a user's own file around the place where an error was thrown. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const engine = new URL('..', import.meta.url).href
const framePattern = /^ +at .*?\(?(file:\/\/[^)]+?):(\d+):(\d+)\)?$/gm

/** The place and the lines; empty if no frame of the stack lies in a file of the user. */
export function codeFrame(stack: string): string {
  for (const [, url = '', line = '0', column = '1'] of stack.matchAll(framePattern)) {
    if (url.startsWith(engine) || url.includes('/node_modules/')) continue
    const frame = frameAt(fileURLToPath(url.replace(/\?.*$/, '')), Number(line), Number(column))
    if (frame !== '') return frame
  }
  return ''
}

/** The place and the lines around it; empty if the file has no such line. */
export function frameAt(path: string, at: number, column: number): string {
  const lines = linesOf(path)
  if (lines.length < at) return ''
  const width = String(at + 1).length
  const frame = [at - 1, at, at + 1].flatMap((number) => {
    const text = lines[number - 1]
    const own = `  ${number === at ? '>' : ' '} ${String(number).padStart(width)} | ${text}`
    const mark = `    ${' '.repeat(width)} | ${' '.repeat(column - 1)}^`
    return text === undefined ? [] : number === at ? [own, mark] : [own]
  })
  const near = relative('', path)
  return `${near.startsWith('..') ? path : near}:${at}:${column}\n${frame.join('\n')}`
}

export function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return [] // the file may be gone since it was loaded
  }
}
