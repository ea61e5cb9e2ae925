/** The programs that no package brings: tests that need one are left out where it is not installed, and the run names them. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installedWith } from './server.ts'

/** What installs each program. */
const installs = {
  'redis-server': 'apt-get install redis-server, or brew install redis',
  pgbouncer: 'apt-get install pgbouncer, or brew install pgbouncer',
  pg_basebackup: 'apt-get install postgresql, or brew install postgresql',
  openssl: 'apt-get install openssl, or brew install openssl',
} as const

export type Program = keyof typeof installs

/** Begins the reason of every test that is left out. */
export const needs = 'needs '

/** Where a program is; undefined where it is not installed. One of the server's own has to be of its version. */
export function pathOf(program: Program): string | undefined {
  if (program === 'pg_basebackup') return installedWith(program)
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/bin']
  return folders.map((folder) => join(folder, program)).find(existsSync)
}

/** Why a test is left out; false where the program is here. */
export const without = (program: Program): string | false =>
  pathOf(program) === undefined && `${needs}${program}: ${installs[program]}`
