/** Load at a fixed rate, even if the server is slower. The time of a request counts from when it was due, not from when it was sent. */
import { spawnSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { type BenchRequest, textOf } from './load.ts'
import { pinned } from './server.ts'

interface Job {
  readonly port: number
  readonly requests: readonly BenchRequest[]
  readonly rate: number
  readonly seconds: number
  readonly connections: number
}

/** The 99th percentile of the time to an answer, in milliseconds. */
export function loadAtRate(
  url: string,
  requests: readonly BenchRequest[],
  rate: number,
  seconds: number,
  connections = 64,
): number {
  const job = JSON.stringify({ port: Number(new URL(url).port), requests, rate, seconds, connections } satisfies Job)
  const [command, ...rest] = pinned(1, process.execPath, '--conditions=bylaw-source', import.meta.filename, job) as [
    string,
    ...string[],
  ]
  const { stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', timeout: (seconds + 30) * 1000 })
  const p99 = Number.parseFloat(stdout)
  if (Number.isNaN(p99)) throw new Error(`${url} failed under a steady load:\n${stderr}`)
  return p99
}

/** How many connections are opened at a time. */
const atOnce = 100

async function runJob({ port, requests, rate, seconds, connections }: Job): Promise<void> {
  const texts = requests.map((one) => textOf(one).join(''))
  const times: number[] = []
  const idle: Socket[] = []
  const due: number[] = []
  const dueOf = new Map<Socket, number>()
  while (idle.length < connections) {
    const length = Math.min(atOnce, connections - idle.length)
    idle.push(...(await Promise.all(Array.from({ length }, () => openConnection(port, onAnswer)))))
  }
  const sockets = [...idle]
  let sent = 0

  function onAnswer(socket: Socket): void {
    times.push(performance.now() - (dueOf.get(socket) as number))
    idle.push(socket)
    send()
  }
  function send(): void {
    while (due.length > 0 && idle.length > 0) {
      const socket = idle.shift() as Socket
      dueOf.set(socket, due.shift() as number)
      socket.write(texts[sent++ % texts.length] as string)
    }
  }

  const started = performance.now()
  let planned = 0
  await new Promise<void>((done) => {
    const clock = setInterval(() => {
      const now = performance.now()
      const dueByNow = Math.floor(((Math.min(now, started + seconds * 1000) - started) / 1000) * rate)
      for (; planned < dueByNow; planned++) due.push(started + (planned / rate) * 1000)
      send()
      if (now < started + seconds * 1000 + 500) return
      clearInterval(clock)
      done()
    }, 1)
  })
  for (const socket of sockets) socket.destroy()
  const sorted = times.slice(Math.floor(times.length / 5)).toSorted((a, b) => a - b) // the first fifth warms up
  console.log(sorted[Math.floor(sorted.length * 0.99)])
}

/** Opens a connection and calls `onAnswer` for each answer, which is complete when its content has the declared length. */
export function openConnection(port: number, onAnswer: (socket: Socket, head: string) => void): Promise<Socket> {
  return new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1', () => done(socket.setNoDelay()))
    let text = ''
    socket.on('error', fail)
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      const head = text.slice(0, end)
      text = ''
      onAnswer(socket, head)
    })
  })
}

if (import.meta.main) await runJob(JSON.parse(process.argv[2] as string))
