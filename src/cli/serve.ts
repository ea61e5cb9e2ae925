/** `bylaw serve`: serves a declaration until a signal ends it. Part 8, termination. */

import { flushCompileCache } from 'node:module'
import type { Log } from '../flow/world.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { durationMilliseconds } from '../formats/time-texts.ts'
import type { MetricsServer } from '../http/metrics-server.ts'
import { withoutPassword } from '../postgres/connection-url.ts'
import { foundText } from '../schema/migration.ts'
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument, exitProcess } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { allowLossFlag, allowMisfitsFlag, consentOf, warnOfMisfits, withConsent } from '../terminal/consent.ts'
import { keepInFlag } from '../terminal/dropped-values.ts'
import {
  allowedHostsFlag,
  allowedHostsOf,
  contractMistakes,
  databaseFlag,
  databaseOf,
  filesFlag,
  hostFlag,
  hostOf,
  metricsFlag,
  metricsPortOf,
  openTelemetryFlag,
  plansFolderOf,
  portFlag,
  portOf,
  versionNumbersOf,
  warnWithoutLocks,
} from '../terminal/flags.ts'
import { loadService, mistakesText } from '../terminal/load.ts'
import { openMetricsDoor } from '../terminal/open-door.ts'
import { readPlans } from '../terminal/plans.ts'
import {
  openRateLimitLedger,
  rateLimitFlag,
  trustedProxiesFlag,
  trustedProxiesOf,
} from '../terminal/rate-limit-flags.ts'
import { retirementSurvey, warnOfVersionDates } from '../terminal/retirement.ts'
import {
  noteSignal,
  openContentsFor,
  openMigrationFor,
  openStoreFor,
  referencePlace,
  startService,
  untilSignal,
} from '../terminal/start.ts'
import { isWorker, type MetricsDoor, reportReady, serveWithWorkers, untilReplaced } from './workers.ts'

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

export const serveCommand: Command = {
  name: 'serve',
  about: 'Serves a declaration until SIGTERM or SIGINT.',
  details:
    'The first line of stdout contains the URL; all further ones are the log, in JSON. The database is migrated at start, ' +
    'but with NODE_ENV=production only by `bylaw migrate apply`.',
  arguments: [declarationArgument],
  flags: {
    port: portFlag,
    host: hostFlag,
    database: databaseFlag,
    files: filesFlag,
    'log-level': { value: 'L', env: 'LOG_LEVEL', about: `What is logged: ${listInWords(levels)}; info unless given.` },
    'allowed-hosts': allowedHostsFlag,
    'trusted-proxies': trustedProxiesFlag,
    'rate-limit': rateLimitFlag,
    preview: {
      value: 'V',
      isList: true,
      env: 'PREVIEW',
      about: 'Versions that answer before they are released, as v3 or v3,v4.',
    },
    'expose-internals': { about: 'Shows callers the causes of failures; never in production.' },
    'webhooks-to-private': {
      about:
        'Lets webhooks go to private addresses, and over http; never in production. BYLAW_WEBHOOKS_TO_PRIVATE=1 does the same.',
    },
    grace: {
      value: 'T',
      env: 'GRACE',
      about:
        'How long new connections are still accepted after the stop signal, while /readyz answers 503; PT0S unless given.',
    },
    workers: {
      value: 'N',
      env: 'WORKERS',
      about: 'How many processes serve; 1 unless given. A database in memory allows only one.',
    },
    'allow-loss': allowLossFlag,
    'allow-misfits': allowMisfitsFlag,
    'keep-in': keepInFlag,
    metrics: metricsFlag,
    opentelemetry: openTelemetryFlag,
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
async function run(input: CommandInput): Promise<number> {
  const [port, host, level] = [portOf(input), hostOf(input), levelOf(input)]
  const times = { grace: durationOf(input, 'grace', 'PT0S'), drain: durationOf(input, 'drain', 'PT10S') }
  const [file = ''] = input.arguments
  const files = new Set<string>()
  const [service, { jsonLog }] = await Promise.all([loadService(file, files), import('../terminal/json-log.ts')])
  const unkept = await contractMistakes(file, service)
  if (unkept.length > 0) throw commandError(mistakesText(file, unkept, files), '')
  const database = databaseOf(input, service)
  const production = process.env.NODE_ENV === 'production' && database !== 'sqlite::memory:'
  if (production) await requireSchema(input, service, database)
  const exposed = exposedOf(input)
  const privateTargets = privateTargetsOf(input)
  const options = {
    ...allowedHostsOf(input),
    ...trustedProxiesOf(input),
    preview: previewOf(input, service),
    numbers: () => versionNumbersOf(file, service),
  }
  const counting = await openRateLimitLedger(input, service)
  const contents = await openContentsFor(service, database, input.flagValue('files')?.text)
  const log = jsonLog(service.name, level)
  const metrics = metricsDoor(input, host, log)
  const steps: string[] = []
  const consent = { ...consentOf(input), surveys: surveysOf(service), report: (step: string) => void steps.push(step) }
  const store = await withConsent(consent, (own) =>
    openStoreFor(service, database, production ? 'require' : 'apply', own),
  )
  if (!isWorker) warnOfVersionDates(service, log, store.clock.due())
  const size = workersOf(input, database)
  const announce = announcer(service, log, database === 'sqlite::memory:' ? [] : steps, () => {
    metrics.announce()
    warnOfMisfits(store, log)
    if (production) void warnWithoutLocks(file, log)
  })
  if (size > 1 && !isWorker) {
    await store.close() // it was opened to migrate the schema and to warn; workers open their own
    const code = await serveWithWorkers({ size, host, port, log, announce, ...(metrics.isOn && { metrics }) })
    await log.written()
    return exitProcess(code)
  }
  const onSignal = noteSignal(isWorker ? ['SIGTERM'] : undefined)
  const started = await startService(service, {
    store,
    contents,
    place: { port, host },
    log,
    json: true,
    metrics: metrics.isOn,
    openTelemetry: input.isOn('opentelemetry') || process.env.BYLAW_OPENTELEMETRY === '1',
    exposed,
    privateTargets,
    counting,
    ...options,
  })
  const stop = () =>
    untilReplaced()
      .then(() => started.stop(times))
      .finally(metrics.close)
  if (started.metrics && !isWorker) {
    await metrics.open(started.metrics).catch(async (error: unknown) => {
      await started.stop({ grace: 0, drain: 0 })
      throw error
    })
  }
  const ended = untilSignal(log, stop, onSignal)
  if (isWorker) reportReady(started.url, started.metrics)
  else announce(started.url)
  flushCompileCache() // now, as a killed process would write nothing
  const code = await ended
  await log.written()
  return exitProcess(code) // exits even if the reader of the log is gone
}

/** Prints the URL first, then the changes of the database at this start, and warnings. */
const announcer =
  (service: Service, log: Log, steps: readonly string[], warn: () => void) =>
  (url: string): void => {
    process.stdout.write(`bylaw serves ${service.name} at ${url} (reference page: ${referencePlace(service, url)})\n`)
    for (const step of steps) log.info({ step }, 'The database was changed.')
    warn()
  }

/** The server of the metrics, if they are turned on. With workers, the primary has it. */
function metricsDoor(
  input: CommandInput,
  host: string,
  log: Log,
): MetricsDoor & { isOn: boolean; announce: () => void } {
  const port = metricsPortOf(input)
  let server: MetricsServer | undefined
  return {
    isOn: port !== undefined,
    open: async (read) => {
      server = await openMetricsDoor(read, { port: port ?? 0, host }, log)
    },
    announce: () => {
      if (server) log.info({ url: server.url }, 'Metrics are served.')
    },
    close: () => server?.close(),
  }
}

/** Workers do not check for retired versions: the primary has done that. */
const surveysOf = (service: Service) => (isWorker ? [] : [retirementSurvey(service)])

function workersOf(input: CommandInput, database: string): number {
  const { text, from } = input.flagValue('workers') ?? { text: '1', from: '' }
  if (!/^[1-9]\d{0,2}$/.test(text))
    throw commandError(`${from} has to be a number of processes, not "${text}".`, 'Give a whole number from 1 to 999.')
  if (text !== '1' && database === 'sqlite::memory:')
    throw commandError(
      'A database in memory belongs to one process.',
      'Leave --workers out, or name a file with --database sqlite:./file.db.',
    )
  return Number(text)
}

/** R189. */
function previewOf(input: CommandInput, { choice: { served } }: Service): readonly string[] {
  const { text, from } = input.flagValue('preview') ?? { text: '', from: '' }
  const labels = text.split(',').flatMap((one) => one.trim() || [])
  const other = labels.find((label) => !served.includes(label))
  if (other === undefined) return labels
  throw commandError(
    `${from} names "${other}", which is not a version of this service.`,
    `It has ${listInWords(served, 'and')}.`,
  )
}

function levelOf(input: CommandInput): string {
  const { text, from } = input.flagValue('log-level') ?? { text: 'info', from: '' }
  if (levels.includes(text)) return text
  const guess = nearestName(text, levels)
  throw commandError(`${from} has to be ${listInWords(levels)}, not "${text}".`, guess ? `Did you mean ${guess}?` : '')
}

/** R157. */
function privateTargetsOf(input: CommandInput): boolean {
  const allowed = input.isOn('webhooks-to-private') || process.env.BYLAW_WEBHOOKS_TO_PRIVATE === '1'
  if (!allowed || process.env.NODE_ENV !== 'production') return allowed
  throw commandError(
    '--webhooks-to-private is not allowed with NODE_ENV=production.',
    'Callers could send requests into the private network of the service.',
  )
}

function exposedOf(input: CommandInput): boolean {
  const exposed = input.isOn('expose-internals')
  if (!exposed || process.env.NODE_ENV !== 'production') return exposed
  throw commandError(
    '--expose-internals is not allowed with NODE_ENV=production.',
    'The log contains the causes of failures, under the requestId of the answer.',
  )
}

function durationOf(input: CommandInput, flag: string, unless: string): number {
  const { text, from } = input.flagValue(flag) ?? { text: unless, from: '' }
  const time = durationMilliseconds(text)
  if (time !== undefined) return time
  throw commandError(`${from} has to be a duration of ISO 8601, not "${text}".`, 'Give one as PT10S or PT1M.')
}

/** In production only an operator changes the schema, not a process at its start. */
async function requireSchema(input: CommandInput, service: Service, database: string): Promise<void> {
  const [file = ''] = input.arguments
  const { serves, steps, others, close } = await openMigrationFor(service, database, 'require')
  close()
  if (serves !== null) return
  const { from } = input.flagValue('database') ?? { from: '--database' }
  const url = withoutPassword(database)
  // A value from the environment applies to the next command too.
  const rest = from === '--database' ? `${file} --database ${url}` : file
  const othersText = others?.length ? ` ${foundText(others)}` : ''
  const missing = steps.map(({ about }) => `  - ${about}`).join('\n')
  const write =
    readPlans(plansFolderOf(input, file)).length === 0
      ? ''
      : `Write it down:       bylaw migrate plan ${file} --name what-changes\n`
  throw commandError(
    `The database ${url} is not as ${file} declares it, and with NODE_ENV=production it is not changed at start.${othersText} Missing:\n${missing}`,
    `See the statements:  bylaw migrate plan ${rest}\n${write}Carry them out:      bylaw migrate apply ${rest}`,
  )
}
