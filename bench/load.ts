/** Load from one core: as many requests as a server answers over 64 connections, by wrk or, where it is missing, autocannon. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon, { type Sent } from 'autocannon'
import { pinned } from './server.ts'

/** A request; `{n}` in its header or body is a new number in each request. */
export interface Asking {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Measured {
  /** Requests a second. */
  readonly rate: number
  /** In milliseconds. */
  readonly p50: number
  readonly p99: number
}

const digits = 12
const usual = 64
const hasWrk = spawnSync('wrk', ['--version']).error === undefined
export const loader = hasWrk ? 'wrk' : 'autocannon'

/** The text of a request, split at the places of the number. */
export function textOf({ method = 'GET', path, headers = {}, body = '' }: Asking): string[] {
  const length = body.replaceAll('{n}', '0'.repeat(digits)).length
  const lines = Object.entries({
    Host: '127.0.0.1',
    ...(body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(length) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`.split('{n}')
}

let number = Date.now() % 1e6

/** Loads a server for some seconds; a failed request ends the run. */
export function load(url: string, asked: readonly Asking[], seconds: number, connections = usual): Measured {
  number += 1
  return hasWrk ? byWrk(url, asked, seconds, connections) : byAutocannon(url, asked, seconds, connections)
}

function byWrk(url: string, asked: readonly Asking[], seconds: number, connections: number): Measured {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-load-'))
  const script = join(folder, 'requests.lua')
  const pieces = asked.map(
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
  return table.concat(one, string.format("%06d%06d", ${number % 1e6}, n))
end\n`,
  )
  const words = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '--timeout', '30s', '-s', script, url]
  const [command, ...rest] = pinned(1, 'wrk', ...words) as [string, ...string[]]
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

/** In a separate process, so that client and server do not wait for each other. */
function byAutocannon(url: string, asked: readonly Asking[], seconds: number, connections: number): Measured {
  const job = JSON.stringify({ url, asked, seconds, number, connections })
  const [command, ...rest] = pinned(1, process.execPath, import.meta.filename, job) as [string, ...string[]]
  const { stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', timeout: (seconds + 30) * 1000 })
  const reported = stdout.split('\n').find((line) => line.startsWith('{'))
  if (reported === undefined) throw new Error(`${url} failed under load:\n${stderr}`)
  return JSON.parse(reported)
}

interface Job {
  readonly url: string
  readonly asked: readonly Asking[]
  readonly seconds: number
  readonly number: number
  readonly connections: number
}

async function work({ url, asked, seconds, number: run, connections }: Job): Promise<void> {
  let n = 0
  const numbered = (text: string) => text.replaceAll('{n}', `${run % 1e6}`.padStart(6, '0') + `${n}`.padStart(6, '0'))
  const requests = asked.map(({ method = 'GET', path, headers = {}, body = '' }) => ({
    setupRequest: (request: Sent) => {
      n += 1
      const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, numbered(value)]))
      const typed = body === '' ? sent : { 'content-type': 'application/json', ...sent }
      return { ...request, method, path, headers: typed, ...(body === '' ? {} : { body: numbered(body) }) }
    },
  }))
  const {
    requests: done,
    latency,
    non2xx,
    errors,
    statusCodeStats,
  } = await autocannon({
    url,
    connections,
    duration: seconds,
    requests,
  })
  const fresh = statusCodeStats?.['304']?.count ?? 0
  if (errors > 0 || non2xx > fresh) throw new Error(`${non2xx} refusals, ${errors} errors`)
  console.log(JSON.stringify({ rate: done.average, p50: latency.p50, p99: latency.p99 }))
}

if (import.meta.main) await work(JSON.parse(process.argv[2] as string))
