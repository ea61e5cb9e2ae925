/** Starts a Redis server without persistence, or a substitute for it, on a free port. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { without } from './programs.ts'
import { startStandIn } from './resp.ts'

export interface Redis {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** The servers that count quotas in tests: the substitute always, and a real Redis if it is installed. */
export const servers = [
  { name: 'the stand-in for Redis', start: startStandIn, skip: false },
  { name: 'Redis', start: startRedis, skip: without('redis-server') },
] as const

async function startRedis(port?: number, password = ''): Promise<Redis> {
  const own = port ?? (await freePort())
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-redis-'))
  const secret = password === '' ? [] : ['--requirepass', password]
  const args = ['--port', String(own), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  const child = spawn('redis-server', [...args, ...secret], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject)
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk
      if (text.includes('Ready to accept connections')) resolve()
    })
    ended.then(() => reject(new Error(`redis-server ended:\n${text}`)))
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  return { url: `redis://${password === '' ? '' : `:${password}@`}127.0.0.1:${own}`, stop }
}
