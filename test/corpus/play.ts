/** Plays a session: sends its requests one after the other and returns the answers in the form that is compared. */

import { answerOf, answersOf } from './answer.ts'
import { type Client, clientOf, exchange, type Received } from './client.ts'
import type { Answer, Exchange, Fault, Request as Sent, Setting } from './exchange.ts'
import { type Names, namesOf } from './names.ts'
import { type Database, databaseOf, type OpenedService, openService } from './opened-service.ts'
import { advance, restart } from './preload.ts'
import { type CorpusService, corpusServices } from './services.ts'

export interface Played {
  readonly answer: Answer
  readonly received: Received
}

export interface Player {
  readonly names: Names
  /** Moves the clock, lets the fault happen, and sends the request. */
  readonly play: (next: Omit<Exchange, 'answer' | 'kind'>) => Promise<Played>
  readonly end: () => Promise<void>
}

/** Opens the service of a session. The clock and all random numbers start again from its name. */
export async function openPlayer(setting: Setting, given?: Database): Promise<Player> {
  restart(setting.name)
  const corpusService = corpusServices[setting.service]
  if (!corpusService) throw new Error(`There is no service "${setting.service}". test/corpus/services.ts lists them.`)
  const database = given ?? (await databaseOf(setting.store))
  const opened = await openService(corpusService.service, database, {
    door: setting.door,
    holders: corpusService.holders,
  })
  return playerOn(opened, database, corpusService.tokens)
}

export function playerOn(opened: OpenedService, database: Database, tokens: CorpusService['tokens'] = {}): Player {
  const names = namesOf()
  const client = opened.port > 0 ? clientOf(opened.port) : null
  let at = 0
  return {
    names,
    play: async ({ wait, fault, request }) => {
      advance(wait)
      if (fault) await happen(fault, opened, database)
      const number = at++
      if (request.raw !== undefined) {
        const raw = names.fill(request.raw)
        names.refer(raw)
        const bytes = await exchange(opened.port, Buffer.from(raw, 'latin1'))
        return { answer: answersOf(bytes, methodsIn(request.raw), names, number), received: nothing }
      }
      const message = await received(request, { opened, client, names, tokens })
      return { answer: answerOf(message, names, number), received: message }
    },
    end: async () => {
      client?.close()
      await opened.close()
      await database.drop()
    },
  }
}

const nothing: Received = { status: 0, headers: [], body: Buffer.alloc(0) }
const methodsIn = (raw: string): string[] => (raw.includes('HEAD ') ? ['HEAD'] : [])

async function happen(fault: Fault, opened: OpenedService, { tables, run, failing }: Database): Promise<void> {
  if (fault === 'store closed') return opened.closeStore()
  const hidden = (name: string) => `hidden ${name}`
  for (const table of await tables()) {
    if (fault === 'tables hidden') await run(`ALTER TABLE "${table}" RENAME TO "${hidden(table)}"`)
    if (fault === 'tables back' && table.startsWith('hidden '))
      await run(`ALTER TABLE "${table}" RENAME TO "${table.slice(7)}"`)
    if (fault === 'writes fail' || fault === 'writes work') await run(failing(table, fault === 'writes fail'))
  }
}

interface SendingParts {
  readonly opened: OpenedService
  readonly client: Client | null
  readonly names: Names
  readonly tokens: Readonly<Record<string, string>>
}

async function received(request: Sent, { opened, client, names, tokens }: SendingParts): Promise<Received> {
  const target = names.fill(request.target)
  const filled = request.body === undefined ? undefined : names.fill(request.body)
  const body = filled === undefined ? undefined : Buffer.from(filled, request.base64 ? 'base64' : 'utf8')
  for (const text of [
    target,
    request.base64 ? '' : (filled ?? ''),
    ...request.headers.map(([, value]) => names.fill(value)),
  ])
    names.refer(text)
  const key = request.who === undefined ? undefined : (opened.keyOf(request.who) ?? tokens[request.who])
  const headers = [
    ...request.headers.map(([name, value]): [string, string] => [name, names.fill(value)]),
    ...(key === undefined ? [] : [['Authorization', `Bearer ${key}`] as [string, string]]),
    ...(body === undefined ? [] : [['Content-Length', String(body.length)] as [string, string]]),
  ]
  if (!client) return throughFetch(opened, { method: request.method, target, headers, body })
  const head = [['Host', 'localhost'], ...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const bytes = Buffer.from(`${request.method} ${target} HTTP/1.1\r\n${head}\r\n`, 'latin1')
  return client.send(request.method, body ? Buffer.concat([bytes, body]) : bytes)
}

interface WholeRequest {
  readonly method: string
  readonly target: string
  readonly headers: [string, string][]
  readonly body: Buffer | undefined
}

async function throughFetch(
  { fetch }: OpenedService,
  { method, target, headers, body }: WholeRequest,
): Promise<Received> {
  const init = { method, headers, ...(body && { body: new Uint8Array(body) }) }
  const answer = await fetch(new Request(`http://localhost${target}`, init))
  return {
    status: answer.status,
    headers: [...answer.headers],
    body: Buffer.from(await answer.arrayBuffer()),
  }
}
