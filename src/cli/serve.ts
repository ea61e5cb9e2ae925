/** `bylaw serve`: serves a declaration until a signal ends it. Part 8, termination. */
import type { Log } from '../http/house.ts'
import { withoutPassword } from '../postgres/address.ts'
import { nearest, oneOf } from '../resources/naming.ts'
import { milliseconds } from '../resources/time.ts'
import type { Service } from '../service.ts'
import { type Command, declarationFile, type Given } from '../terminal/command.ts'
import { complaint } from '../terminal/complaint.ts'
import { agreed, allowLossFlag, consentOf } from '../terminal/consent.ts'
import { countingOf, proxiesFlag, proxiesOf, rateLimitFlag } from '../terminal/counting.ts'
import { keepInFlag } from '../terminal/keep.ts'
import { load, mistakesText } from '../terminal/load.ts'
import { allowMisfitsFlag, warnOfMisfits } from '../terminal/misfits.ts'
import {
  broken,
  databaseFlag,
  databaseOf,
  hostFlag,
  hostOf,
  numbersOf,
  plansOfFolder,
  portFlag,
  portOf,
  warnUnlocked,
} from '../terminal/place.ts'
import { plansIn } from '../terminal/plans.ts'
import { callersLeft, warnOfEnds } from '../terminal/retired.ts'
import { dueIn, migrationOf, start, storeOf, untilSignal } from '../terminal/start.ts'
import { crew, isMember, replacement, report } from './crew.ts'

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

export const serve: Command = {
  name: 'serve',
  about: 'Serves a declaration until SIGTERM or SIGINT.',
  details:
    'The first line of stdout tells the URL; all further ones are the log, in JSON. The database is brought to what is declared at start, ' +
    'with NODE_ENV=production only by `bylaw migrate apply`.',
  arguments: [declarationFile],
  flags: {
    port: portFlag,
    host: hostFlag,
    database: databaseFlag,
    'log-level': { value: 'L', env: 'LOG_LEVEL', about: `What is logged: ${oneOf(levels)}; info unless given.` },
    'allowed-hosts': {
      value: 'A,B',
      env: 'ALLOWED_HOSTS',
      about: 'The hosts that are answered for; all unless given.',
    },
    'trusted-proxies': proxiesFlag,
    'rate-limit': rateLimitFlag,
    preview: { value: 'V', env: 'PREVIEW', about: 'Versions that answer before they are released, as v3 or v3,v4.' },
    'expose-internals': { about: 'Shows callers what failures are caused by; never in production.' },
    grace: {
      value: 'T',
      env: 'GRACE',
      about: 'How long new connections are still accepted at the end, while /readyz answers 503; PT0S unless given.',
    },
    workers: {
      value: 'N',
      env: 'WORKERS',
      about: 'How many processes serve; 1 unless given. A database in memory has one.',
    },
    'allow-loss': allowLossFlag,
    'allow-misfits': allowMisfitsFlag,
    'keep-in': keepInFlag,
    drain: {
      value: 'T',
      env: 'DRAIN',
      about: 'How long accepted requests and connections that are kept alive may take after that; PT10S unless given.',
    },
  },
  examples: [
    'bylaw serve api.ts',
    'bylaw serve api.ts --port 8080 --host 0.0.0.0 --database sqlite:/var/lib/orders/orders.db',
    'PORT=8080 LOG_LEVEL=warn bylaw serve api.ts --grace PT5S --drain PT30S',
  ],
  run,
}

// long because: one line for each part of a start, in their order
async function run(given: Given): Promise<number> {
  const [port, host, level] = [portOf(given), hostOf(given), levelOf(given)]
  const times = { grace: timeOf(given, 'grace', 'PT0S'), drain: timeOf(given, 'drain', 'PT10S') }
  const [file = ''] = given.arguments
  const [service, { jsonLog }] = await Promise.all([load(file), import('../terminal/log.ts')])
  const unkept = await broken(file, service)
  if (unkept.length > 0) throw complaint(mistakesText(file, unkept), '')
  const database = databaseOf(given, service)
  const production = process.env.NODE_ENV === 'production' && database !== 'sqlite::memory:'
  if (production) await requireSchema(given, service, database)
  const exposed = exposedOf(given)
  const around = {
    ...hostsOf(given),
    ...proxiesOf(given),
    preview: previewOf(given, service),
    numbers: () => numbersOf(file, service),
  }
  const counting = await countingOf(given, service)
  const log = jsonLog(service.name, level)
  const steps: string[] = []
  const consent = { ...consentOf(given), surveys: surveysOf(service), report: (step: string) => void steps.push(step) }
  const store = await agreed(consent, (own) => storeOf(service, database, production ? 'require' : 'apply', own))
  if (!isMember) warnOfEnds(service, log, dueIn(store))
  const size = workersOf(given, database)
  const announce = announcing(service, log, database === 'sqlite::memory:' ? [] : steps, () => {
    warnOfMisfits(store, log)
    if (production) void warnUnlocked(file, log)
  })
  if (size > 1 && !isMember) {
    await store.close() // its schema is as it has to be
    const code = await crew({ size, host, port, log, announce })
    await log.written()
    return process.exit(code)
  }
  const started = await start(service, { store, port, host, log, exposed, counting, ...around })
  const stop = () => replacement().then(() => started.stop(times))
  const ended = untilSignal(log, stop, isMember ? ['SIGTERM'] : ['SIGTERM', 'SIGINT'])
  if (isMember) report(started.url)
  else announce(started.url)
  const code = await ended
  await log.written()
  return process.exit(code) // a log that nobody reads keeps nobody waiting
}

/** The line that names the URL comes first; behind it, what the start has changed in the database, and warnings. */
const announcing =
  ({ name }: Service, log: Log, steps: readonly string[], warn: () => void) =>
  (url: string): void => {
    process.stdout.write(`bylaw serves ${name} at ${url}\n`)
    for (const step of steps) log.info({ step }, 'The database was changed.')
    warn()
  }

/** A worker that is replaced leaves nothing out that the first process did not. */
const surveysOf = (service: Service) => (isMember ? [] : [callersLeft(service)])

function workersOf(given: Given, database: string): number {
  const { text, from } = given.worth('workers') ?? { text: '1', from: '' }
  if (!/^[1-9]\d{0,2}$/.test(text))
    throw complaint(`${from} has to be a number of processes, not "${text}".`, 'Give a whole number from 1 to 999.')
  if (text !== '1' && database === 'sqlite::memory:')
    throw complaint(
      'A database in memory belongs to one process.',
      'Leave --workers out, or name a file with --database sqlite:./file.db.',
    )
  return Number(text)
}

/** R189. */
function previewOf(given: Given, { choice: { served } }: Service): readonly string[] {
  const { text, from } = given.worth('preview') ?? { text: '', from: '' }
  const labels = text.split(',').flatMap((one) => one.trim() || [])
  const other = labels.find((label) => !served.includes(label))
  if (other === undefined) return labels
  throw complaint(`${from} names "${other}", which is no version of this service.`, `It has ${oneOf(served, 'and')}.`)
}

function levelOf(given: Given): string {
  const { text, from } = given.worth('log-level') ?? { text: 'info', from: '' }
  if (levels.includes(text)) return text
  const guess = nearest(text, levels)
  throw complaint(`${from} has to be ${oneOf(levels)}, not "${text}".`, guess ? `Did you mean ${guess}?` : '')
}

function hostsOf(given: Given): { hosts?: readonly string[] } {
  const hosts = (given.worth('allowed-hosts')?.text ?? '')
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '')
  return hosts.length === 0 ? {} : { hosts }
}

/** R157. */
function exposedOf(given: Given): boolean {
  const exposed = given.on('expose-internals')
  if (!exposed || process.env.NODE_ENV !== 'production') return exposed
  throw complaint(
    '--expose-internals is not taken with NODE_ENV=production.',
    'The log tells what failures are caused by, under the requestId of the answer.',
  )
}

function timeOf(given: Given, flag: string, unless: string): number {
  const { text, from } = given.worth(flag) ?? { text: unless, from: '' }
  const time = milliseconds(text)
  if (time !== undefined) return time
  throw complaint(`${from} has to be a duration of ISO 8601, not "${text}".`, 'Give one as PT10S or PT1M.')
}

/** In production the schema is changed by hand, never in passing by a process that starts. */
async function requireSchema(given: Given, service: Service, database: string): Promise<void> {
  const [file = ''] = given.arguments
  const { serves, steps, close } = await migrationOf(service, database)
  close()
  if (serves !== null) return
  const { from } = given.worth('database') ?? { from: '--database' }
  const shown = withoutPassword(database)
  const rest = from === '--database' ? `${file} --database ${shown}` : file // what is in the environment is there for the next command too
  const missing = steps.map(({ about }) => `  - ${about}`).join('\n')
  const write =
    plansIn(plansOfFolder(given, file)).length === 0
      ? ''
      : `Write it down:       bylaw migrate plan ${file} --name what-changes\n`
  throw complaint(
    `The database ${shown} is not as ${file} declares it, and with NODE_ENV=production it is not changed at start. Missing:\n${missing}`,
    `See the statements:  bylaw migrate plan ${rest}\n${write}Carry them out:      bylaw migrate apply ${rest}`,
  )
}
