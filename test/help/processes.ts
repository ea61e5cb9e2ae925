/** Information about processes: from /proc on Linux, as a minimal Linux has no `ps`, and from `ps` elsewhere. */
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

/** Whether a process runs; a zombie does not. */
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

/** The command line of a process. */
export const commandOf = (pid: number): string =>
  files
    ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    : ps('-ww', '-o', 'command=', '-p', String(pid))
