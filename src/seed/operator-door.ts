/** Operator door: a service on its database, for commands that work with its items and may do everything. */
import { handlerSources } from '../corridor/server-context.ts'
import { callerOf } from '../flow/credential.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Store } from '../flow/store.ts'
import { serviceWorld } from '../flow/world.ts'
import { fetchDoor } from '../http/fetch.ts'
import type { Service } from '../service.ts'
import { cursorSecretsOf } from '../terminal/secrets.ts'
import { newestVersionUrl, previewVersions } from '../versions/version-choice.ts'

interface OperatorDoor {
  readonly door: (request: Request) => Promise<Response>
  /** The URL of the newest version. */
  readonly url: string
  /** The newest version, if requests have to name it; null otherwise. */
  readonly version: string | null
}

export function operatorDoor(declared: Service, store: Store, account: string, id: `command:${string}`): OperatorDoor {
  const choice = previewVersions(declared.choice, 'all')
  const service = { ...declared, quotas: null, choice }
  const world = serviceWorld(realWorld, store, cursorSecretsOf(store))
  const log = { error: (about: object) => console.error(about), warn: () => {}, info: () => {} }
  const scopes = Object.keys(service.declaration.scopes ?? {})
  const caller = { ...callerOf(id, { account, scopes, tier: null, features: [] }), unrestricted: true } as const
  const handlers = handlerSources(service, store, world, log)
  const door = fetchDoor({
    ...{ service, store, world, log, exposed: true, open: () => true },
    authenticate: () => caller,
    ...(handlers && { handlers }),
  })
  const url = newestVersionUrl(choice, 'http://localhost')
  const label = choice.served.at(-1)
  return { door, url, version: url === 'http://localhost' && label !== choice.usual ? (label as string) : null }
}
