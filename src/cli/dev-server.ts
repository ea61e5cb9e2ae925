/** Dev server: the child process of `bylaw dev` that serves the current declaration until it changes. */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { styleText } from 'node:util'
import { apiKeyFromSeed } from '../auth/keys.ts'
import { changeLine } from '../contract/changelog.ts'
import { type Contract, contractOf } from '../contract/contract.ts'
import type { Caller } from '../flow/caller.ts'
import { callerOf } from '../flow/credential.ts'
import type { Store } from '../flow/store.ts'
import type { ContentStore } from '../flow/world.ts'
import { codeFrame } from '../frames/code-frame.ts'
import { requireHandlers } from '../handlers/own-handlers.ts'
import { withoutPassword } from '../postgres/connection-url.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import { type CommandInput, formatTable } from '../terminal/command.ts'
import { commandError, isCommandError, printError } from '../terminal/command-error.ts'
import { consentOf, refuseHazards, warnOfMisfits, withConsent } from '../terminal/consent.ts'
import { contractMistakes, databaseOf, hostOf, portOf, versionNumbersOf } from '../terminal/flags.ts'
import { loadService, mistakesText } from '../terminal/load.ts'
import { readableLog, timeOfDay } from '../terminal/readable-log.ts'
import { retirementSurvey } from '../terminal/retirement.ts'
import { hasAccessRules } from '../terminal/secrets.ts'
import { openContentsFor, openStoreFor, referencePlace, startService, untilSignal } from '../terminal/start.ts'
import { sortByTemplate } from './routes.ts'
import { sampleRequest } from './sample-request.ts'

const stopTimes = { grace: 0, drain: 3000 }

/** A message from the serving process to the supervisor. */
export interface DevMessage {
  /** The files of the declaration, to be watched. */
  readonly files: readonly string[]
  /** Whether a change of the files may fix it after it has ended. */
  readonly mendable: boolean
  /** It can be served and waits for the former process to end; nothing was changed yet. */
  readonly ready?: true
  /** The contract of what it serves now. */
  readonly contract?: Contract
}

/** The supervisor sends this, with the socket, when the former process has ended. */
export interface FormerService {
  readonly contract: Contract
  /** The file that was changed. */
  readonly changed: string
  /** When it was changed, in milliseconds. */
  readonly since: number
}

export async function devServer(input: CommandInput): Promise<number> {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')) // the supervisor is gone
  const opened = await openService(input)
  if (!opened) return 1
  const { service, store, contents, database, steps, former, socket } = opened
  const log = readableLog()
  warnOfMisfits(store, log)
  const key =
    hasAccessRules(service) && process.env.NODE_ENV !== 'production'
      ? apiKeyFromSeed(store.secret, 'development')
      : null
  const fixedCallers = new Map(key === null ? [] : [[key, developer(service)]])
  const numbers = () => versionNumbersOf(input.arguments[0] as string, service)
  const place = { port: portOf(input), host: hostOf(input), ...(socket && { socket }) }
  const { url, stop } = await startService(service, {
    store,
    contents,
    place,
    log,
    fixedCallers,
    numbers,
    preview: 'all',
    privateTargets: 'loopback',
  })
  const ended = untilSignal(log, () => stop(stopTimes))
  const contract = contractOf(service.declaration)
  if (former) console.log(restartText(former, contract))
  else
    console.log(
      welcomeText(
        service,
        url,
        key,
        `Stored in ${withoutPassword(database)}. Starts again when ${input.arguments[0]} or a file that it imports changes.`,
      ),
    )
  if (database !== 'sqlite::memory:') for (const step of steps) console.log(styleText('dim', `Database: ${step}.`))
  await sendToWatcher({ files: [], mendable: true, contract })
  return ended
}

function restartText({ contract: before, changed, since }: FormerService, contract: Contract): string {
  const what = changeLine(before, contract) || 'clients notice nothing'
  return `${timeOfDay()} ${styleText('cyan', `${changed} changed, restarted in ${Date.now() - since} ms.`)} ${what}`
}

/** The caller with the development key has every scope. */
const developer = ({ declaration: { scopes = {} } }: Service): Caller =>
  Object.freeze({
    ...callerOf('key:development', { account: 'development', scopes: Object.keys(scopes), tier: null, features: [] }),
    key: 'development',
  })

interface DevService {
  readonly service: Service
  readonly store: Store
  readonly contents: ContentStore | null
  readonly database: string
  /** The schema changes that were made. */
  readonly steps: readonly string[]
  /** What was served before; undefined at the first start. */
  readonly former: FormerService | undefined
  /** The socket to listen on; undefined if this process has to make one. */
  readonly socket: Server | undefined
}

/** Opens the service and its store; reports the reason and returns null if the declaration or stored values prevent it. */
async function openService(input: CommandInput): Promise<DevService | null> {
  const [file = ''] = input.arguments
  const files = new Set<string>()
  try {
    const loaded = await loadService(file, files)
    const service = { ...loaded, ...(await readyHandlers(loaded, file, files)) }
    const unkept = await contractMistakes(file, service)
    if (unkept.length > 0) console.error(styleText('yellow', mistakesText(file, unkept, files)))
    const database = databaseOf(input, service)
    await sendToWatcher({ files: [...files], mendable: false })
    const surveys = [retirementSurvey(service)]
    const consent = await withConsent({ ...consentOf(input), surveys }, (own) => refuseHazards(service, database, own))
    const { former, socket } = await untilPredecessorLeft()
    const steps: string[] = []
    const report = (step: string): void => void steps.push(step)
    const store = await openStoreFor(service, database, 'apply', { ...consent, report })
    const contents = await openContentsFor(service, database, input.flagValue('files')?.text)
    return { service, store, contents, database, steps, former, socket }
  } catch (error) {
    if (files.size === 0 || !isCommandError(error)) throw error
    printError(error)
    await sendToWatcher({ files: [...files], mendable: true })
    return null
  }
}

/**
 * Checks the handlers and calls `use`, so that mistakes show while the former process still serves. Both processes have a
 * value of `use` for a moment, as two nodes have in production.
 */
async function readyHandlers({ name, declaration, ownHandlers }: Service, file: string, files: ReadonlySet<string>) {
  try {
    requireHandlers(name, declaration.resources, ownHandlers)
    if (!ownHandlers?.use) return { ownHandlers }
    const resources = await ownHandlers.use()
    return { ownHandlers: { ...ownHandlers, use: () => resources } }
  } catch (error) {
    const { mistakes, stack = String(error) } = error as Error & { readonly mistakes?: readonly Mistake[] }
    if (mistakes) throw commandError(mistakesText(file, mistakes, files), '')
    const [first] = stack.split('\n')
    throw commandError(`\`use\` of the handlers failed: ${first}\n\n${codeFrame(stack)}`.trimEnd(), '')
  }
}

/** Waits until the process of the former declaration has ended, and takes over its socket. */
async function untilPredecessorLeft(): Promise<Pick<DevService, 'former' | 'socket'>> {
  if (!process.send) return { former: undefined, socket: undefined }
  const come = once(process, 'message')
  await sendToWatcher({ files: [], mendable: false, ready: true })
  const [former, socket] = (await come) as [Partial<FormerService>, Server | undefined]
  return { former: former.contract && (former as FormerService), socket }
}

const sendToWatcher = (word: DevMessage): Promise<void> =>
  new Promise((said) => {
    if (process.send) process.send(word, () => said())
    else said()
  })

/** All URLs, a sample request, and the key that it needs. */
function welcomeText(service: Service, url: string, key: string | null, hint: string): string {
  const rows = sortByTemplate(service.places).map(({ template, methods }) => [
    `  ${[...methods.keys()].filter((method) => method !== 'HEAD').join(' ')}`,
    url + template,
  ])
  const line = sampleRequest(service, url, Date.now().toString(36).slice(-4), key)
  const parts = [
    `bylaw serves ${service.name} at ${url}`,
    formatTable(rows),
    `The reference page: ${referencePlace(service, url)}`,
    `The OpenAPI description: ${url}/openapi.json`,
    ...(key === null
      ? []
      : [`An API key for this database with all scopes, until you make others with \`bylaw keys\`:\n\n  ${key}`]),
    ...(line === null ? [] : [`Try it:\n\n  ${line}`]),
    styleText('dim', hint),
  ]
  return `${parts.join('\n\n')}\n`
}
