/** A process that numbers the events of `webhookShop` and delivers them, until it is ended. */
import { callerGate } from '../../src/corridor/server-context.ts'
import { webhookTerms } from '../../src/deliveries/webhook-terms.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import type { Service } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { startBackground } from '../../src/terminal/run-service.ts'
import { webhookShop } from './webhooks.ts'

const service = webhookShop as unknown as Service
const store = await openStore(service, process.argv[2] as string, 'require')
const world = serviceWorld(realWorld, store)
Object.assign(webhookTerms(world), { privateTargets: true, peppers: [store.secret] })
const log = { error: console.error, warn: console.error, info: () => {} }
const authenticate = callerGate(service, store, world)
startBackground({ service, store, world, authenticate, log, open: () => true })
setInterval(() => {}, 60_000) // nothing else keeps the process running
