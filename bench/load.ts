/** Sends as many requests as a server answers over 64 connections, from one core, by wrk or, if it is not installed, autocannon. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon, { type Sent } from 'autocannon'
import { pinned } from './server.ts'

/** A request. Each time it is sent, `{n}` in its headers and body is replaced by a new number. */
export interface BenchRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface LoadResult {
  /** Requests a second. */
  readonly rate: number
  /** Percentiles of the time to an answer, in milliseconds. */
  readonly p50: number
  readonly p99: number
}

const digits = 12
const defaultConnections = 64
const hasWrk = spawnSync('wrk', ['--version']).error === undefined
export const loader = hasWrk ? 'wrk' : 'autocannon'

/** The bytes of a request as text, split where `{n}` is. */
export function textOf({ method = 'GET', path, headers = {}, body = '' }: BenchRequest): string[] {
  const length = body.replaceAll('{n}', '0'.repeat(digits)).length
  const lines = Object.entries({
    Host: '127.0.0.1',
    ...(body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(length) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`.split('{n}')
}

let runNumber = Date.now() % 1e6

/** Loads a server for some seconds; a failed request ends the run. */
export function load(
  url: string,
  requests: readonly BenchRequest[],
  seconds: number,
  connections = defaultConnections,
): LoadResult {
  runNumber += 1
  return hasWrk ? byWrk(url, requests, seconds, connections) : byAutocannon(url, requests, seconds, connections)
}

function byWrk(url: string, requests: readonly BenchRequest[], seconds: number, connections: number): LoadResult {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-load-'))
  const script = join(folder, 'requests.lua')
  const pieces = requests.map(
    (one) =>
      `{${textOf(one)
        .map((piece) => JSON.stringify(piece))
        .join(',')}}`,
  )
  writeFileSync(
    script,
    `local all, n = {${pieces.join(',\n')}}, 0
function request()
  n = n + 1
  local one = all[n % #all + 1]
  if #one == 1 then return one[1] end
  return table.concat(one, string.format("%06d%06d", ${runNumber % 1e6}, n))
end\n`,
  )
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '--timeout', '30s', '-s', script, url]
  const [command, ...rest] = pinned(1, 'wrk', ...args) as [string, ...string[]]
  const { stdout } = spawnSync(command, rest, { encoding: 'utf8', timeout: (seconds + 30) * 1000 })
  rmSync(folder, { recursive: true })
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${url} failed under load:\n${stdout}`)
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  if (!(rate > 0)) throw new Error(`${url} answered nothing under load:\n${stdout}`)
  return { rate, p50: percentile(stdout, 50), p99: percentile(stdout, 99) }
}

const units: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000 }

function percentile(text: string, which: number): number {
  const [, value, unit = ''] = new RegExp(`\\s${which}%\\s+([\\d.]+)(us|ms|s)`).exec(text) ?? []
  return Number(value) * (units[unit] ?? Number.NaN)
}

/** Runs autocannon in a separate process, pinned to another core than the server. */
function byAutocannon(
  url: string,
  requests: readonly BenchRequest[],
  seconds: number,
  connections: number,
): LoadResult {
  const job = JSON.stringify({ url, requests, seconds, number: runNumber, connections })
  const [command, ...rest] = pinned(1, process.execPath, import.meta.filename, job) as [string, ...string[]]
  const { stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', timeout: (seconds + 30) * 1000 })
  const resultLine = stdout.split('\n').find((line) => line.startsWith('{'))
  if (resultLine === undefined) throw new Error(`${url} failed under load:\n${stderr}`)
  return JSON.parse(resultLine)
}

interface Job {
  readonly url: string
  readonly requests: readonly BenchRequest[]
  readonly seconds: number
  readonly number: number
  readonly connections: number
}

async function runJob({ url, requests, seconds, number: run, connections }: Job): Promise<void> {
  let n = 0
  const numbered = (text: string) => text.replaceAll('{n}', `${run % 1e6}`.padStart(6, '0') + `${n}`.padStart(6, '0'))
  const generated = requests.map(({ method = 'GET', path, headers = {}, body = '' }) => ({
    setupRequest: (request: Sent) => {
      n += 1
      const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, numbered(value)]))
      const typed = body === '' ? sent : { 'content-type': 'application/json', ...sent }
      return { ...request, method, path, headers: typed, ...(body === '' ? {} : { body: numbered(body) }) }
    },
  }))
  const {
    requests: perSecond,
    latency,
    non2xx,
    errors,
    statusCodeStats,
  } = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: generated,
  })
  const notModified = statusCodeStats?.['304']?.count ?? 0
  if (errors > 0 || non2xx > notModified) throw new Error(`${non2xx} refusals, ${errors} errors`)
  console.log(JSON.stringify({ rate: perSecond.average, p50: latency.p50, p99: latency.p99 }))
}

if (import.meta.main) await runJob(JSON.parse(process.argv[2] as string))
