/** Memory folder: temporary files of a test run are kept in memory where there is room, as no test needs a disk. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'

const memory = '/dev/shm'
const needed = 2 * 1024 ** 3

/** Makes a folder in memory the folder for temporary files of this process and its children; returns how it is removed. */
export function useMemoryFolder(): () => void {
  if (!existsSync(memory)) return () => {}
  const { bavail, bsize } = statfsSync(memory)
  if (bavail * bsize < needed) return () => {}
  const folder = mkdtempSync(`${memory}/bylaw-`)
  chmodSync(folder, 0o1777) // PostgreSQL runs as another user
  process.env.TMPDIR = folder
  removeAtExit(folder)
  return () => rmSync(folder, { recursive: true, force: true })
}

/** The system closes the pipe when this process ends, however it ends; files of killed servers are gone a little later. */
function removeAtExit(folder: string): void {
  const command = 'read -r _; sleep 3; rm -rf "$1"'
  const keeper = spawn('sh', ['-c', command, 'keeper', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  keeper.unref()
  ;(keeper.stdin as unknown as { unref: () => void }).unref()
}
