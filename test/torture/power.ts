/** Loss of power: removes unsynced writes, as recorded by strace, from a copy of the files. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'

export interface Range {
  readonly from: number
  readonly length: number
}

const call = /^(\d+) +(pwrite64|fsync|fdatasync)\(\d+<([^>]*)>(?:, ""(?:\.\.\.)?, (\d+), (\d+))?(.*)$/
const resumed = /^(\d+) +<\.\.\. (?:fsync|fdatasync) resumed>.*= 0$/

/** The unsynced ranges of each file, in the order of the writes. */
export function unsynced(trace: string): Map<string, Range[]> {
  const pending = new Map<string, Range[]>()
  const syncing = new Map<string, readonly [file: string, count: number]>()
  const sync = ([file, count]: readonly [file: string, count: number]) => pending.get(file)?.splice(0, count)
  for (const line of trace.split('\n')) {
    const [, thread = '', name, file = '', length, from, end = ''] = call.exec(line) ?? []
    const ranges = pending.get(file) ?? []
    if (name === 'pwrite64') pending.set(file, [...ranges, { from: Number(from), length: Number(length) }])
    else if (name && end.endsWith('= 0')) sync([file, ranges.length])
    else if (name && end.endsWith('<unfinished ...>')) syncing.set(thread, [file, ranges.length])
    const [, waiting = ''] = resumed.exec(line) ?? []
    const begun = syncing.get(waiting)
    if (begun) sync(begun)
    syncing.delete(waiting)
  }
  return pending
}

type Random = (below: number) => number

/** Copies a database into a state that is possible after a loss of power. Returns the number of unsynced writes. */
export function losePower(file: string, copy: string, trace: string, random: Random): number {
  const pending = unsynced(readFileSync(trace, 'utf8'))
  let lost = 0
  for (const suffix of ['', '-wal']) {
    if (!existsSync(file + suffix)) continue
    copyFileSync(file + suffix, copy + suffix)
    const ranges = pending.get(file + suffix) ?? []
    lost += ranges.length
    spoil(copy + suffix, ranges, suffix === '-wal' && random(2) === 0, random)
  }
  return lost
}

/** Keeps, zeroes or garbles each unsynced write; or the file ends at the first of them. */
function spoil(file: string, ranges: readonly Range[], ends: boolean, random: Random): void {
  const opened = openSync(file, 'r+')
  try {
    const { size } = fstatSync(opened)
    if (ends) ftruncateSync(opened, Math.min(size, ...ranges.map(({ from }) => from)))
    else
      for (const { from, length } of ranges) {
        const how = random(3)
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - from)), how === 1 ? 0 : random(256))
        if (how > 0) writeSync(opened, bytes, 0, bytes.length, from)
      }
  } finally {
    closeSync(opened)
  }
}
