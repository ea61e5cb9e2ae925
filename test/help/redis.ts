/** Starts a Redis of its own, on a free port and with nothing kept, and stops it by its process. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Redis {
  readonly url: string
  readonly stop: () => Promise<void>
}

export async function startRedis(port?: number, password = ''): Promise<Redis> {
  const own = port ?? (await freePort())
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-redis-'))
  const secret = password === '' ? [] : ['--requirepass', password]
  const args = ['--port', String(own), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  const child = spawn('redis-server', [...args, ...secret], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new Error('This test needs redis-server: apt-get install redis-server', { cause })),
    )
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

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
