/** Dropped values: writes them to a file that only its owner can read, if an operator asks for one. */
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import type { DroppedValue } from '../schema/hazard.ts'
import type { Flag } from './command.ts'
import { commandError } from './command-error.ts'

export const keepInFlag: Flag = {
  value: 'FILE',
  about:
    'Also writes the values that are dropped into this new file, one JSON object a line; only its owner can read it.',
}

/** Creates the file with the first value. Writes are synchronous: each value is on disk before it is dropped. */
export function droppedValuesWriter(file: string): (copy: DroppedValue) => void {
  const { O_CREAT, O_EXCL, O_WRONLY, O_SYNC } = constants
  let to: number | undefined
  process.once('exit', () => to !== undefined && closeSync(to))
  return (copy) => {
    to ??= openNewFile(file, O_CREAT | O_EXCL | O_WRONLY | O_SYNC)
    writeSync(to, `${JSON.stringify(copy)}\n`)
  }
}

function openNewFile(file: string, flags: number): number {
  try {
    return openSync(file, flags, 0o600)
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'EEXIST' ? 'it exists already' : (error as Error).message
    throw commandError(
      `Dropped values cannot be written into ${file}: ${why}. No value was dropped by this start.`,
      'Name a new file in an existing folder with --keep-in.',
    )
  }
}
