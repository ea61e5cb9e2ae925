/** A substitute for Redis, with its protocol (RESP2) and the commands that quotas use. */
import { createServer, type Socket } from 'node:net'
import { spendScript } from '../../src/limits/redis.ts'
import type { Redis } from './redis.ts'

interface Window {
  used: number
  /** By the clock of this server. */
  readonly until: number
}

type Reply = string | number | readonly Reply[] | Error

/** The replies to commands, by the name of the command. */
type Commands = Readonly<Record<string, (words: readonly string[]) => Reply>>

export async function startStandIn(port = 0, password = ''): Promise<Redis> {
  const sockets = new Set<Socket>()
  const windows = new Map<string, Window>()
  const commands = commandsOn(windows)
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    serve(socket, commands, password)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const own = (server.address() as { port: number }).port
  const stop = async () => {
    for (const socket of sockets) socket.resetAndDestroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `redis://${password === '' ? '' : `:${password}@`}127.0.0.1:${own}`, stop }
}

const commandsOn = (windows: Map<string, Window>): Commands => ({
  ping: () => 'PONG',
  info: () => 'redis_version:7.0.0\r\nloading:0\r\n',
  client: () => 'OK',
  quit: () => 'OK',
  eval: ([text, , name = '', amount, length]) => {
    if (text !== spendScript) return new Error('ERR the stand-in knows only the script of quotas')
    return spend(windows, name, Number(amount), Number(length))
  },
})

/** Does the same as the script. */
function spend(windows: Map<string, Window>, name: string, amount: number, length: number): Reply {
  const now = performance.now()
  const before = windows.get(name)
  const window = before && before.until > now ? before : { used: 0, until: now + length }
  windows.set(name, window)
  window.used += amount
  return [window.used, Math.round(window.until - now)]
}

function serve(socket: Socket, commands: Commands, password: string): void {
  let text = ''
  let known = password === ''
  const replyTo = ([word = '', ...words]: readonly string[]): Reply => {
    const name = word.toLowerCase()
    if (name === 'auth') {
      known = words.at(-1) === password
      return known ? 'OK' : new Error('WRONGPASS invalid username-password pair or user is disabled.')
    }
    if (name === 'hello') return new Error('NOPROTO unsupported protocol version') // the client goes on with RESP2
    if (!known) return new Error('NOAUTH Authentication required.')
    return Object.hasOwn(commands, name)
      ? (commands[name] as Commands[string])(words)
      : new Error(`ERR unknown command '${word}'`)
  }
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
    for (let found = commandIn(text); found; found = commandIn(text)) {
      text = text.slice(found.length)
      socket.write(written(replyTo(found.words)))
    }
  })
}

/** The first command of a text, an array of strings with their lengths; null if it is not complete. */
function commandIn(text: string): { readonly words: string[]; readonly length: number } | null {
  const [head, count] = /^\*(\d+)\r\n/.exec(text) ?? []
  if (head === undefined) return null
  const words: string[] = []
  let at = head.length
  while (words.length < Number(count)) {
    const [line, length] = /^\$(\d+)\r\n/.exec(text.slice(at)) ?? []
    if (line === undefined) return null
    const end = at + line.length + Number(length)
    if (text.length < end + 2) return null
    words.push(text.slice(at + line.length, end))
    at = end + 2
  }
  return { words, length: at }
}

function written(reply: Reply): string {
  if (typeof reply === 'number') return `:${reply}\r\n`
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`
  if (reply instanceof Error) return `-${reply.message}\r\n`
  return `*${reply.length}\r\n${reply.map(written).join('')}`
}
