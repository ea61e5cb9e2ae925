/** Asks the system about processes: Linux by its files, as a bare one has no `ps`, and others by `ps`. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const files = existsSync('/proc/self/stat')

const ps = (...words: readonly string[]): string => spawnSync('ps', words, { encoding: 'utf8' }).stdout

export function childrenOf(pid: number): number[] {
  if (files) return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  const pairs = ps('-A', '-o', 'pid=,ppid=').trim().split('\n')
  return pairs
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([own, of]) => (of === pid ? [own ?? 0] : []))
}

/** Whether it runs: one that has ended and waits for its parent does not. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !(files
      ? /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      : /^Z/.test(ps('-o', 'stat=', '-p', String(pid))))
  } catch {
    return false
  }
}

/** The words that it was started with, in one text. */
export const commandOf = (pid: number): string =>
  files
    ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    : ps('-ww', '-o', 'command=', '-p', String(pid))
