/** Sends each request once, from one core over 64 connections, for requests that cannot be repeated, such as deletions. */
import { spawnSync } from 'node:child_process'
import type { Socket } from 'node:net'
import { type BenchRequest, type LoadResult, textOf } from './load.ts'
import { openConnection } from './paced.ts'
import { median } from './report.ts'
import { pinned } from './server.ts'

interface Job {
  readonly port: number
  readonly requests: readonly BenchRequest[]
}

export function loadOnce(url: string, requests: readonly BenchRequest[]): LoadResult {
  const job = JSON.stringify({ port: Number(new URL(url).port), requests } satisfies Job)
  const args = [process.execPath, '--conditions=bylaw-source', import.meta.filename]
  const [command, ...rest] = pinned(1, ...(args as [string, ...string[]])) as [string, ...string[]]
  const { stdout, stderr } = spawnSync(command, rest, { input: job, encoding: 'utf8', timeout: 60_000 })
  const resultLine = stdout.split('\n').find((line) => line.startsWith('{'))
  if (resultLine === undefined) throw new Error(`${url} failed under a load of single requests:\n${stderr}`)
  return JSON.parse(resultLine)
}

const connections = 64

async function runJob({ port, requests }: Job): Promise<void> {
  const texts = requests.map((one) => textOf(one).join(''))
  const times: number[] = []
  const sentAt = new Map<Socket, number>()
  let sent = 0
  const start = performance.now()
  await new Promise<void>((done, fail) => {
    const send = (socket: Socket) => {
      const text = texts[sent++]
      if (text === undefined) return
      sentAt.set(socket, performance.now())
      socket.write(text)
    }
    const onAnswer = (socket: Socket, head: string) => {
      if (!/^HTTP\/1.1 2/.test(head)) fail(new Error(head))
      times.push(performance.now() - (sentAt.get(socket) as number))
      if (times.length === texts.length) done()
      else send(socket)
    }
    for (let i = 0; i < connections; i++) openConnection(port, onAnswer).then(send, fail)
  })
  const spent = performance.now() - start
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]
  console.log(JSON.stringify({ rate: (texts.length * 1000) / spent, p50: median(times), p99 }))
  process.exit(0)
}

if (import.meta.main) {
  const parts: Buffer[] = []
  for await (const part of process.stdin) parts.push(part)
  await runJob(JSON.parse(Buffer.concat(parts).toString()))
}
