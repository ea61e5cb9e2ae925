/** Records a session: requests made from the descriptions of all versions, odd ones made from them, bytes that are no HTTP, and faults. */
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import type { Service } from '../../src/service.ts'
import { mutate, seeds } from '../fuzz/mutate.ts'
import type { Door, Answer as Known } from '../help/door.ts'
import { tried } from '../help/requests.ts'
import type { Doc } from '../help/schemas.ts'
import { decoded } from './answer.ts'
import { type Chance, chanceOf } from './chance.ts'
import type { Received } from './client.ts'
import type { Exchange, Fault, Request, Session, Setting } from './exchange.ts'
import { inFile } from './opened-service.ts'
import { openPlayer, type Played, type Player } from './play.ts'
import { emptyPool, learn, type Pool } from './pool.ts'
import { type CorpusService, corpusServices } from './services.ts'
import { variedRequest } from './twists.ts'

/** How many requests of each kind a session gets. */
export interface Share {
  /** For each version. */
  readonly described: number
  readonly twisted: number
  readonly raw: number
}

interface Recorder {
  readonly setting: Setting
  readonly player: Player
  readonly corpusService: CorpusService
  readonly chance: Chance
  readonly pool: Pool
  readonly exchanges: Exchange[]
  readonly send: (kind: string, request: Request, fault?: Fault) => Promise<Received>
}

export async function recorded(setting: Setting, share: Share): Promise<Session> {
  const player = await openPlayer(setting)
  try {
    const recorder = recorderOf(setting, player)
    await filled(recorder, share)
    await withFaults(recorder)
    return { setting, exchanges: recorder.exchanges }
  } finally {
    await player.end()
  }
}

/** A database file with rows, the pool of its answers, and requests for further pages. */
interface FilledDatabase {
  readonly file: string
  readonly pool: Pool
  readonly behind: readonly Request[]
  readonly folder: () => Promise<void>
}

/** Fills a database file by requests, and closes it. */
export async function recordedOn(setting: Setting, share: Share): Promise<FilledDatabase> {
  const { file, drop } = inFile()
  const player = await openPlayer(setting, { ...inFile(file), drop: async () => {} })
  const recorder = recorderOf(setting, player)
  await filled(recorder, share)
  const behind = await paged(recorder)
  await player.end()
  return { file, pool: recorder.pool, behind, folder: drop }
}

/** Reads the first pages of all lists in all versions, and returns the requests for the pages after them. */
async function paged({ corpusService, pool, send }: Recorder): Promise<Request[]> {
  const who = corpusService.main === undefined ? {} : { who: corpusService.main }
  const lists = new Set([...pool.lists, ...pool.items.map(({ path }) => path.slice(0, path.lastIndexOf('/')))])
  const behind: Request[] = []
  for (const list of lists)
    for (const label of corpusService.service.editions.keys())
      for (const query of ['limit=1', 'limit=2&sort=createdAt&order=desc', 'limit=1&sort=id']) {
        const request = {
          method: 'GET',
          target: `${list}?${query}&cursor=`,
          headers: [['Version', label]] as const,
          ...who,
        }
        const [, cursor] = /"[a-z_]*[cC]ursor":"([^"]+)"/.exec(decoded(await send('page', request))) ?? []
        if (cursor !== undefined) behind.push({ ...request, target: request.target + cursor })
      }
  return behind
}

async function filled(recorder: Recorder, { described, twisted, raw }: Share): Promise<void> {
  await fromDescriptions(recorder, described)
  await fromAnswers(recorder, twisted)
  if (raw > 0 && recorder.setting.door === 'node') await fromBytes(recorder, raw)
}

function recorderOf(setting: Setting, player: Player): Recorder {
  const corpusService = corpusServices[setting.service] as CorpusService
  const chance = chanceOf(setting.name)
  const pool = emptyPool()
  const exchanges: Exchange[] = []
  const send: Recorder['send'] = async (kind, concrete, fault) => {
    const request = referring(concrete, player)
    const wait = waitOf(chance)
    const { answer, received }: Played = await player.play({ wait, request, ...(fault && { fault }) })
    exchanges.push({ kind, wait, ...(fault && { fault }), request, answer })
    learn(pool, concrete, received, decoded(received))
    return received
  }
  return { setting, player: player, corpusService: corpusService, chance, pool, exchanges, send }
}

/** The time between two requests: mostly short, sometimes seconds, and rarely so long that keys, cursors or windows expire. */
function waitOf({ below, once }: Chance): number {
  if (once(400)) return 26 * 3_600_000
  if (once(100)) return 61 * 60_000
  return once(10) ? 1000 + below(4000) : 1 + below(40)
}

function referring(request: Request, { names: { refer } }: Player): Request {
  const { target, headers, body, raw } = request
  return {
    ...request,
    target: refer(target),
    headers: headers.map(([name, value]) => [name, refer(value)] as const),
    ...(body !== undefined && !request.base64 && { body: refer(body) }),
    ...(raw !== undefined && { raw: refer(raw) }),
  }
}

type Send = Door['send']

class Enough extends Error {}

/** Sends valid and invalid requests that are made from the description of each version, up to `wanted` of each. */
async function fromDescriptions(recorder: Recorder, wanted: number): Promise<void> {
  const { corpusService, chance } = recorder
  const service = corpusService.service as Service
  for (const label of service.editions.keys()) {
    const send = limitedSend(recorder, label, wanted)
    const document = openapiDocument(service, label, standardCorridor) as Doc
    await tried({ document, send, seed: 2026 + chance.below(1000), runs: 3 }).catch(unlessEnough)
  }
}

/** Sends the first three requests of each operation, and about one in 14 of the others, until there are enough. */
function limitedSend({ corpusService, chance, send, setting }: Recorder, label: string, wanted: number): Send {
  const counts = new Map<string, number>()
  let count = 0
  return async (method, target, { json, headers: given = {} } = {}) => {
    if (count >= wanted) throw new Enough()
    const operation = `${method} ${target.replace(/\?.*/, '').replace(/[^/]*[_\d][^/]*/g, '')}`
    const before = counts.get(operation) ?? 0
    counts.set(operation, before + 1)
    if (before >= 3 && !chance.once(14)) return notSent
    const typed = json !== undefined && !Object.keys(given).some((name) => name.toLowerCase() === 'content-type')
    const type: Request['headers'] = typed ? [['content-type', 'application/json']] : []
    const headers = [...Object.entries({ version: label, ...given }), ...type]
    const body = json === undefined ? {} : { body: JSON.stringify(json) }
    const request = {
      method,
      target,
      headers,
      ...body,
      ...(corpusService.main !== undefined && { who: corpusService.main }),
    }
    if (!isSendable(request, setting)) return notSent
    count++
    return known(await send(`described, ${label}`, request))
  }
}

const isSendable = ({ method, body, headers }: Request, { door }: Setting): boolean =>
  !headers.some(([, value]) => /[^\x20-\x7e]/.test(value)) &&
  !(door === 'fetch' && body !== undefined && (method === 'GET' || method === 'HEAD'))

function unlessEnough(error: unknown): void {
  if (!(error instanceof Enough)) throw error
}

/** The answer to a request that is not sent. */
const notSent: Known = { status: 400, headers: {}, text: '', bytes: Buffer.alloc(0), json: { type: 'not-sent' } }

function known(received: Received): Known {
  const text = decoded(received)
  const headers = Object.fromEntries(received.headers.map(([name, value]) => [name.toLowerCase(), value]))
  const json = text !== '' && /json/.test(headers['content-type'] ?? '') ? JSON.parse(text) : {}
  return { status: received.status, headers, text, bytes: received.body, json }
}

/** Sends requests that are made from earlier answers. */
async function fromAnswers({ corpusService, chance, pool, send, setting }: Recorder, wanted: number): Promise<void> {
  const given = {
    ...{ pool, chance, door: setting.door, main: corpusService.main },
    versions: [...corpusService.service.editions.keys()],
    holders: Object.keys({ ...corpusService.holders, ...corpusService.tokens }),
  }
  for (let made = 0, tries = 0; made < wanted && tries < wanted * 20; tries++) {
    const next = variedRequest(given)
    if (next === null) continue
    await send(next.kind, next.request)
    made++
  }
}

/** Sends mutated messages, each on a new connection. The seeds of the fuzzer are made for the shop. */
async function fromBytes({ corpusService, chance, pool, send }: Recorder, wanted: number): Promise<void> {
  const there = pool.items.map(({ path }) => path.split('/').at(-1) as string)
  const idOf = (prefix: string) => there.find((id) => id.startsWith(prefix)) ?? `${prefix}_00000000000000000000000000`
  const ids = { cus: idOf('cus'), ord: idOf('ord'), lin: idOf('lin'), whs: idOf('whs') }
  const cursor = pool.cursors[0]?.cursor ?? 'none'
  const etag = pool.items.find(({ tag }) => tag !== undefined)?.tag ?? '"none"'
  const messages = [...seeds({ ids, cursor, etag }), ...pool.done.slice(0, 20).map(messageOf)]
  for (let i = 0; i < wanted; i++) {
    const raw = mutate(chance.one(messages), chance.one(messages), chance.below)
    if (/keep-?alive|upgrade/i.test(raw)) continue
    const who = corpusService.main === undefined ? {} : { who: corpusService.main }
    await send('bytes', {
      method: '',
      target: '',
      headers: [],
      raw: Buffer.from(raw, 'latin1').toString('latin1'),
      ...who,
    })
  }
}

function messageOf({ method, target, headers, body = '' }: Request): string {
  const lines = [['Host', 'localhost'], ...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const text = Buffer.from(body).toString('latin1')
  return `${method} ${target} HTTP/1.1\r\n${lines}${text === '' ? '' : `Content-Length: ${text.length}\r\n`}\r\n${text}`
}

const faults: readonly Fault[] = ['writes fail', 'writes work', 'tables hidden', 'tables back', 'store closed']

/** Sends the same few requests while the database fails, after it works again, and after the store is closed. */
async function withFaults({ corpusService, chance, pool, send }: Recorder): Promise<void> {
  const { done } = pool
  const byMethod = (wanted: string) => done.filter(({ method }) => method === wanted).slice(-2)
  const few = ['GET', 'POST', 'PATCH', 'PUT', 'GET', 'DELETE', 'HEAD'].flatMap((method) =>
    byMethod(method).slice(0, 1 + chance.below(2)),
  )
  if (few.length === 0) return
  for (const fault of faults) {
    let first: Fault | undefined = fault
    for (const request of few) {
      await send(`fault: ${fault}`, request, first)
      first = undefined
    }
  }
  const who = corpusService.main === undefined ? {} : { who: corpusService.main }
  for (const target of ['/healthz', '/readyz'])
    await send('fault: store closed', { method: 'GET', target, headers: [], ...who })
}
