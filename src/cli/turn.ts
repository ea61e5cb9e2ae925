/** One turn of `bylaw dev`: serves the declaration as it is now, until it changes. */
import { once } from 'node:events'
import { styleText } from 'node:util'
import { keyFrom } from '../auth/keys.ts'
import type { Caller } from '../flow/caller.ts'
import { callerOf } from '../flow/credential.ts'
import type { Store } from '../flow/store.ts'
import { withoutPassword } from '../postgres/address.ts'
import type { Service } from '../service.ts'
import { type Given, table } from '../terminal/command.ts'
import { isComplaint, tell } from '../terminal/complaint.ts'
import { admitted, agreed, consentOf } from '../terminal/consent.ts'
import { load, mistakesText } from '../terminal/load.ts'
import { warnOfMisfits } from '../terminal/misfits.ts'
import { broken, databaseOf, hostOf, numbersOf, portOf } from '../terminal/place.ts'
import { readableLog } from '../terminal/readable.ts'
import { callersLeft } from '../terminal/retired.ts'
import { hasRules } from '../terminal/secrets.ts'
import { start, storeOf, untilSignal } from '../terminal/start.ts'
import { inOrder } from './routes.ts'
import { trial } from './trial.ts'

const times = { grace: 0, drain: 1000 }

/** What the serving process tells the watching one. */
export interface Word {
  /** What it is made of. */
  readonly files: readonly string[]
  /** Whether a change of them may mend it once it ends. */
  readonly mendable: boolean
  /** Whether it waits for its turn: nothing stands against serving it, and nothing was changed yet. */
  readonly ready?: true
}

export async function turn(given: Given): Promise<number> {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')) // nobody watches any more
  const opened = await open(given)
  if (!opened) return 1
  const { service, store, database, steps } = opened
  const log = readableLog()
  warnOfMisfits(store, log)
  const key = hasRules(service) && process.env.NODE_ENV !== 'production' ? keyFrom(store.secret, 'development') : null
  const known = new Map(key === null ? [] : [[key, developer(service)]])
  const numbers = () => numbersOf(given.arguments[0] as string, service)
  const place = { port: portOf(given), host: hostOf(given) }
  const { url, stop } = await start(service, { store, ...place, log, known, numbers, preview: 'all' })
  const ended = untilSignal(log, () => stop(times))
  const hint = styleText(
    'dim',
    `Stored in ${withoutPassword(database)}. Starts again when ${given.arguments[0]} changes.`,
  )
  console.log(`bylaw serves ${service.name} at ${url}

${invitation(service, url, key)}

${hint}
`)
  if (database !== 'sqlite::memory:') for (const step of steps) console.log(styleText('dim', `Database: ${step}.`))
  await say({ files: [], mendable: true })
  return ended
}

/** Who holds the key of development may do everything. */
const developer = ({ declaration: { scopes = {} } }: Service): Caller =>
  callerOf('key:development', { account: 'development', scopes: Object.keys(scopes), tier: null, features: [] })

interface Stage {
  readonly service: Service
  readonly store: Store
  readonly database: string
  /** What was changed in the database for it. */
  readonly steps: readonly string[]
}

/** The service and its store; nothing, once it was reported, where the declaration or the stored values do not allow that. */
async function open(given: Given): Promise<Stage | null> {
  const files = new Set<string>()
  try {
    const service = await load(given.arguments[0] as string, files)
    const unkept = await broken(given.arguments[0] as string, service)
    if (unkept.length > 0) console.error(styleText('yellow', mistakesText(given.arguments[0] as string, unkept)))
    const database = databaseOf(given, service)
    await say({ files: [...files], mendable: false })
    const surveys = [callersLeft(service)]
    const consent = await agreed({ ...consentOf(given), surveys }, (own) => admitted(service, database, own))
    await turnCome()
    const steps: string[] = []
    const report = (step: string): void => void steps.push(step)
    const store = await storeOf(service, database, 'apply', { ...consent, report })
    return { service, store, database, steps }
  } catch (error) {
    if (files.size === 0 || !isComplaint(error)) throw error
    tell(error)
    await say({ files: [...files], mendable: true })
    return null
  }
}

/** Waits until the process that serves the declaration before has left. */
async function turnCome(): Promise<void> {
  if (!process.send) return
  const come = once(process, 'message')
  await say({ files: [], mendable: false, ready: true })
  await come
}

const say = (word: Word): Promise<void> =>
  new Promise((said) => {
    if (process.send) process.send(word, () => said())
    else said()
  })

/** All URLs, a request to paste, and the key that it needs. */
function invitation(service: Service, url: string, key: string | null): string {
  const rows = inOrder(service.places).map(({ template, methods }) => [
    `  ${[...methods.keys()].filter((method) => method !== 'HEAD').join(' ')}`,
    url + template,
  ])
  const line = trial(service, url, Date.now().toString(36).slice(-4), key)
  const parts = [
    table(rows),
    `All of it in OpenAPI: ${url}/openapi.json`,
    ...(key === null
      ? []
      : [`A key for this database, with every scope, until you make others with \`bylaw keys\`:\n\n  ${key}`]),
    ...(line === null ? [] : [`Try it:\n\n  ${line}`]),
  ]
  return parts.join('\n\n')
}
