/** Stage: a service on an empty store in memory, whose clock and chance always run the same way. Part 9, versioning. */
import { callerOf } from '../flow/credential.ts'
import { fetchDoor } from '../http/fetch.ts'
import type { House } from '../http/house.ts'
import type { Answer, Ask, Body, Stage } from '../proof/trial.ts'
import { idSource } from '../resources/id.ts'
import type { Service } from '../service.ts'
import { previewing } from '../versions/choose.ts'
import { storeOf } from './start.ts'

const begins = Date.parse('2026-01-01T00:00:00Z')
const secret = 'a secret of the stage, which nobody else has'
const silent = { error: () => {}, warn: () => {}, info: () => {} }

/** Whoever asks has every scope and no quota; each request comes a second after the one before. */
export async function staged(service: Service): Promise<Stage> {
  const store = await storeOf(service, 'sqlite::memory:', 'apply')
  let asked = 0
  const now = () => begins + asked * 1000
  let drawn = 0
  const same = (bytes: Uint8Array): void => {
    for (const i of bytes.keys()) bytes[i] = (drawn++ * 167 + i * 13) & 255
  }
  const world = { now, newId: idSource(now, same), newRequestId: () => `request-${asked}`, secrets: [secret] }
  const scopes = Object.keys(service.declaration.scopes ?? {})
  const caller = callerOf('stage', { account: 'stage', scopes, tier: null, features: [] })
  const house: House = {
    service: { ...service, quotas: null, choice: previewing(service.choice, 'all') },
    store,
    world,
    authenticate: () => caller,
    log: silent,
    open: () => true,
    exposed: true,
  }
  const door = fetchDoor(house)
  const keyed = [...service.resources.values()].some(({ settings }) => settings.idempotency.required)
  const named = service.declaration.versions !== undefined
  const ask: Ask = async (version, { method, path, headers = {}, body }) => {
    asked++
    const key = keyed && method === 'POST' ? { 'idempotency-key': `stage-${asked}` } : {}
    const sent = new Headers({ ...(named ? { version } : {}), ...key, ...headers })
    if (body && !sent.has('content-type')) sent.set('content-type', 'application/json')
    const init = { method, headers: sent, ...(body ? { body: JSON.stringify(body) } : {}) }
    return answerOf(await door(new Request(`http://localhost${path}`, init)))
  }
  return { ask, close: () => store.close() }
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const headers = Object.fromEntries(response.headers)
  return { status: response.status, headers, body: text === '' ? null : (JSON.parse(text) as Body) }
}
