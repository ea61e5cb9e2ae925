/** Flags: those that several commands share, for the address, the database and the plans, and how they are parsed. */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isHostName } from '../corridor/message.ts'
import type { Log } from '../flow/world.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import type { CommandInput, Flag } from './command.ts'
import { commandError } from './command-error.ts'

export const portFlag: Flag = { value: 'N', env: 'PORT', about: 'The port; 3000 unless given, 0 for a free one.' }
export const metricsFlag: Flag = {
  value: 'N',
  env: 'METRICS_PORT',
  about:
    'Serves metrics of this process in OpenMetrics at /metrics of this port, at the same address; off unless given. They need no credential: keep the port from the outside.',
}
export const openTelemetryFlag: Flag = {
  about:
    'Gives traces and metrics to @opentelemetry/api, for the SDK that --import loads. BYLAW_OPENTELEMETRY=1 does the same.',
}
export const hostFlag: Flag = {
  value: 'H',
  env: 'HOST',
  about: 'The address; 127.0.0.1 (this machine alone) unless given, 0.0.0.0 for every network.',
}
export const allowedHostsFlag: Flag = {
  value: 'A,B',
  isList: true,
  env: 'ALLOWED_HOSTS',
  about: 'The hosts that are accepted, with or without a port; all unless given.',
}
export const databaseFlag: Flag = {
  value: 'URL',
  env: 'DATABASE_URL',
  about:
    'The database; sqlite:./data/<name of the service>.db unless given, sqlite::memory: for a temporary one, or postgres://….',
}

export const filesFlag: Flag = {
  value: 'PLACE',
  env: 'BYLAW_FILES',
  about:
    'Where contents of files are kept: a folder that all processes share, or a bucket as s3://shop-files?region=eu-central-1; ./data/<name of the service>-files unless given, with PostgreSQL it has to be given.',
}

export const plansFlag: Flag = {
  value: 'FOLDER',
  about: 'Where plans are kept; the folder migrations beside the declaration unless given.',
}

export const plansFolderOf = (input: CommandInput, file: string): string =>
  input.flagValue('plans')?.text ?? join(dirname(file), 'migrations')

export const portOf = (input: CommandInput): number => portText(input.flagValue('port') ?? { text: '3000', from: '' })

/** The port of the metrics; undefined if they are off. */
export function metricsPortOf(input: CommandInput): number | undefined {
  const port = input.flagValue('metrics')
  return port && portText(port)
}

function portText({ text, from }: { readonly text: string; readonly from: string }): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw commandError(
    `${from} has to be a port, not "${text}".`,
    'Give a whole number from 0 to 65535; 0 takes a free one.',
  )
}

/** The hosts that are accepted. One that no request can name would refuse every request of those that it was meant for. R17. */
export function allowedHostsOf(input: CommandInput): { hosts?: readonly string[] } {
  const { text, from } = input.flagValue('allowed-hosts') ?? { text: '', from: '' }
  const hosts = text.split(',').flatMap((host) => host.trim() || [])
  const stray = hosts.find((one) => !isHostName(one))
  if (stray !== undefined)
    throw commandError(
      `${from} has to be hosts as requests name them, and "${stray}" is none.`,
      'Give them as api.example.com,localhost:3000,[::1]; there are no wildcards.',
    )
  return hosts.length === 0 ? {} : { hosts }
}

export const hostOf = (input: CommandInput): string => input.flagValue('host')?.text ?? '127.0.0.1'

export const databaseOf = (input: CommandInput, { name }: Service): string =>
  input.flagValue('database')?.text ?? `sqlite:./data/${name}.db`

/** The account that a command works in; unless it is named, that of `bylaw dev`. */
export const accountOf = (input: CommandInput): string => input.flagValue('account')?.text ?? 'development'

/** The folder of the locked contracts, next to the declaration. */
export const contractFolder = (file: string): string => join(dirname(file), 'contract')

/** The full version numbers, from the locked contracts. R187. */
export async function versionNumbersOf(file: string, service: Service): Promise<ReadonlyMap<string, string>> {
  const folder = contractFolder(file)
  return existsSync(folder) ? (await import('./locks.ts')).lockedVersionNumbers(folder, service) : new Map()
}

/** Whether the contract of any version is locked. */
export async function hasLocks(file: string): Promise<boolean> {
  const folder = contractFolder(file)
  return existsSync(folder) && (await import('./locks.ts')).readLocks(folder).size > 0
}

/** The warning if no contract is locked, so that any change of the declaration is accepted. */
export const noLocksText = (file: string): string =>
  `No contract is locked, so a change that breaks consumers would not be noticed; lock the published versions with:  bylaw contract lock ${file}`

export async function warnWithoutLocks(file: string, log: Log): Promise<void> {
  if (!(await hasLocks(file))) log.warn({}, noLocksText(file))
}

/** Breaking changes to locked contracts. The comparison is loaded only if there are locks. */
export async function contractMistakes(file: string, service: Service): Promise<readonly Mistake[]> {
  const folder = contractFolder(file)
  return existsSync(folder) ? (await import('./locks.ts')).mistakesAgainstLocks(folder, service) : []
}
