/** Starts a NATS server with JetStream on a free port, which can be killed and started again with its streams. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { freePort } from './free-port.ts'
import { pathOf } from './programs.ts'

/** A message of a stream. */
export interface Message {
  readonly subject: string
  readonly id: string
  readonly account: string
  readonly mediaType: string
  // biome-ignore lint/suspicious/noExplicitAny: events are read as they are
  readonly event: any
}

export interface Nats {
  readonly url: string
  /** `most` is the greatest size of a message in bytes. */
  readonly start: (most?: number) => Promise<void>
  readonly kill: () => Promise<void>
  /** Sets the greatest size of a message of a stream in bytes. */
  readonly limit: (stream: string, most: number) => Promise<void>
  /** All messages of a stream, in its order. */
  readonly messages: (stream: string) => Promise<readonly Message[]>
}

/** Starts a server with a stream for each given name, which takes the subjects `<name>.>`. */
export async function nats(t: TestContext, ...streams: readonly string[]): Promise<Nats> {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-nats-'))
  const port = await freePort()
  const url = `nats://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  const start = async (most = 1_048_576): Promise<void> => {
    const file = join(folder, 'nats.conf')
    writeFileSync(file, `listen: "127.0.0.1:${port}"\nmax_payload: ${most}\njetstream { store_dir: "${folder}" }\n`)
    child = spawn(pathOf('nats-server') as string, ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    for await (const chunk of child.stderr as NonNullable<ChildProcess['stderr']>) {
      said += chunk
      if (said.includes('Server is ready')) break
    }
    if (!said.includes('Server is ready')) throw new Error(`nats-server does not start:\n${said}`)
  }
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.after(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  await asked(url, async (manager) => {
    for (const name of streams) await manager.streams.add({ name, subjects: [`${name}.>`] })
  })
  const limit = (stream: string, most: number): Promise<void> =>
    asked(url, async (manager) => void (await manager.streams.update(stream, { max_msg_size: most })))
  return { url, start, kill, limit, messages: (stream) => asked(url, (manager) => messagesOf(manager, stream)) }
}

type Manager = Awaited<ReturnType<typeof jetstreamManager>>

async function asked<T>(url: string, act: (manager: Manager) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: url })
  try {
    return await act(await jetstreamManager(connection))
  } finally {
    await connection.close()
  }
}

async function messagesOf(manager: Manager, stream: string): Promise<readonly Message[]> {
  const { state } = await manager.streams.info(stream)
  const found: Message[] = []
  for (let seq = 1; seq <= state.last_seq; seq++) {
    const one = await manager.streams.getMessage(stream, { seq })
    if (!one) continue
    const field = (name: string) => one.header.get(name)
    found.push({
      ...{ subject: one.subject, id: field('Nats-Msg-Id'), account: field('Bylaw-Account') },
      ...{ mediaType: field('Content-Type'), event: one.json() },
    })
  }
  return found
}
