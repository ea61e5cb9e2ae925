/** Sandbox: a service on an empty in-memory store, whose clock and ids are always the same. Part 9, versioning. */

import { memoryContents } from '../contents/memory.ts'
import type { ServerContext } from '../corridor/server-context.ts'
import { callerOf } from '../flow/credential.ts'
import { realWorld } from '../flow/real-world.ts'
import { serviceWorld, trustedClock } from '../flow/world.ts'
import { fetchDoor } from '../http/fetch.ts'
import type { AskVersion, JsonBody, TrialAnswer, TrialService } from '../proof/version-service.ts'
import type { Service } from '../service.ts'
import { previewVersions } from '../versions/version-choice.ts'
import { openStoreFor } from './start.ts'

const sandboxStart = Date.parse('2026-01-01T00:00:00Z')
const sandboxSecret = 'a secret of the stage, which nobody else has'
const silentLog = { error: () => {}, warn: () => {}, info: () => {} }

/** The caller has every scope and no quota. Each request is one second later than the last one. */
export async function openSandbox(service: Service): Promise<TrialService> {
  const store = await openStoreFor(service, 'sqlite::memory:', 'apply')
  let asked = 0
  let drawn = 0
  const fillRandom = (bytes: Uint8Array): Uint8Array => {
    for (const i of bytes.keys()) bytes[i] = (drawn++ * 167 + i * 13) & 255
    return bytes
  }
  const own = { clock: trustedClock(() => sandboxStart + asked * 1000), secret: sandboxSecret }
  const world = serviceWorld({ ...realWorld, fillRandom }, own, undefined, memoryContents())
  const scopes = Object.keys(service.declaration.scopes ?? {})
  const caller = {
    ...callerOf('stage', { account: 'stage', scopes, tier: null, features: [] }),
    unrestricted: true,
  } as const
  const { server } = service.settings
  const settings = { ...service.settings, server: { ...server, basePath: '' } } // the requests are made without the base path
  const context: ServerContext = {
    service: { ...service, quotas: null, settings, choice: previewVersions(service.choice, 'all') },
    store,
    world: { ...world, newRequestId: () => `request-${asked}` },
    authenticate: () => caller,
    log: silentLog,
    open: () => true,
    exposed: true,
  }
  const door = fetchDoor(context)
  const keyed = [...service.resources.values()].some(({ settings }) => settings.idempotency.required)
  const named = service.declaration.versions !== undefined
  const ask: AskVersion = async (version, { method, path, headers = {}, body }) => {
    asked++
    const key = keyed && method === 'POST' ? { 'idempotency-key': `stage-${asked}` } : {}
    const sent = new Headers({ ...(named ? { version } : {}), ...key, ...headers })
    if (body && !sent.has('content-type')) sent.set('content-type', 'application/json')
    const init = { method, headers: sent, ...(body ? { body: JSON.stringify(body) } : {}) }
    return readAnswer(await door(new Request(`http://localhost${path}`, init)))
  }
  return { ask, close: () => store.close() }
}

async function readAnswer(response: Response): Promise<TrialAnswer> {
  const text = await response.text()
  const headers = Object.fromEntries(response.headers)
  return { status: response.status, headers, body: text === '' ? null : (JSON.parse(text) as JsonBody) }
}
