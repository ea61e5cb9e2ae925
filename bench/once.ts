/** A load that sends each request once, for those that cannot be repeated, as deletions; from one core, over 64 connections. */
import { spawnSync } from 'node:child_process'
import type { Socket } from 'node:net'
import { type Asking, type Measured, textOf } from './load.ts'
import { opened } from './paced.ts'
import { median } from './report.ts'
import { pinned } from './server.ts'

interface Job {
  readonly port: number
  readonly asked: readonly Asking[]
}

export function once(url: string, asked: readonly Asking[]): Measured {
  const job = JSON.stringify({ port: Number(new URL(url).port), asked } satisfies Job)
  const words = [process.execPath, '--conditions=bylaw-source', import.meta.filename]
  const [command, ...rest] = pinned(1, ...(words as [string, ...string[]])) as [string, ...string[]]
  const { stdout, stderr } = spawnSync(command, rest, { input: job, encoding: 'utf8', timeout: 60_000 })
  const reported = stdout.split('\n').find((line) => line.startsWith('{'))
  if (reported === undefined) throw new Error(`${url} failed under a load of single requests:\n${stderr}`)
  return JSON.parse(reported)
}

const connections = 64

async function work({ port, asked }: Job): Promise<void> {
  const texts = asked.map((one) => textOf(one).join(''))
  const times: number[] = []
  const began = new Map<Socket, number>()
  let sent = 0
  const start = performance.now()
  await new Promise<void>((done, fail) => {
    const send = (socket: Socket) => {
      const text = texts[sent++]
      if (text === undefined) return
      began.set(socket, performance.now())
      socket.write(text)
    }
    const answered = (socket: Socket, head: string) => {
      if (!/^HTTP\/1.1 2/.test(head)) fail(new Error(head))
      times.push(performance.now() - (began.get(socket) as number))
      if (times.length === texts.length) done()
      else send(socket)
    }
    for (let i = 0; i < connections; i++) opened(port, answered).then(send, fail)
  })
  const spent = performance.now() - start
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]
  console.log(JSON.stringify({ rate: (texts.length * 1000) / spent, p50: median(times), p99 }))
  process.exit(0)
}

if (import.meta.main) {
  const parts: Buffer[] = []
  for await (const part of process.stdin) parts.push(part)
  await work(JSON.parse(Buffer.concat(parts).toString()))
}
