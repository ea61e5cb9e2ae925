/** `npm run bench:peers`: other frameworks, installed into a temporary folder, measured on reads of one item of the same books. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { freePort } from '../test/help/free-port.ts'
import { type Book, manyBooks } from './books.ts'
import { load } from './load.ts'
import { pinned } from './server.ts'

interface Peer {
  readonly name: string
  readonly packages: readonly string[]
  /** Writes the framework's files; returns the command that starts it, and the path of a book. */
  readonly prepare: (folder: string, port: number, books: readonly Book[]) => PeerServer
}

interface PeerServer {
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly path: (book: Book, at: number) => string
}

const { values } = parseArgs({ options: { rows: { type: 'string', default: '10000' }, only: { type: 'string' } } })
const minutes = 60_000

/** Creates a SQLite file with a plain table of the books, for frameworks that serve an existing table. */
function tableOf(folder: string, books: readonly Book[]): string {
  const file = join(folder, 'books.db')
  const db = new DatabaseSync(file)
  db.exec(
    `CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL, status TEXT, price REAL, shelf TEXT, blurb TEXT, made TEXT); BEGIN`,
  )
  const insert = db.prepare('INSERT INTO books VALUES (?, ?, ?, ?, ?, ?, ?)')
  for (const [i, { title, status, price, shelf, blurb, createdAt }] of books.entries())
    insert.run(i + 1, title, status, Number(price), shelf, blurb, createdAt)
  db.exec('COMMIT')
  db.close()
  return file
}

const peers: readonly Peer[] = [
  {
    name: 'json-server',
    packages: ['json-server@0.17.4'],
    prepare: (folder, port, books) => {
      writeFileSync(join(folder, 'db.json'), JSON.stringify({ books }))
      const server = join(folder, 'node_modules/json-server/lib/cli/bin.js')
      return {
        command: [server, 'db.json', '--quiet', '--port', String(port), '--host', '127.0.0.1'],
        path: ({ id }) => `/books/${id}`,
      }
    },
  },
  {
    name: 'Feathers, in memory',
    packages: ['@feathersjs/feathers@5.0.50', '@feathersjs/koa@5.0.50', '@feathersjs/memory@5.0.50'],
    prepare: (folder, port, books) => {
      writeFileSync(
        join(folder, 'books.json'),
        JSON.stringify(Object.fromEntries(books.map((book) => [book.id, book]))),
      )
      writeFileSync(
        join(folder, 'app.mjs'),
        `import { feathers } from '@feathersjs/feathers'
import { koa, rest, bodyParser, errorHandler } from '@feathersjs/koa'
import { MemoryService } from '@feathersjs/memory'
import { readFileSync } from 'node:fs'
const app = koa(feathers())
app.use(errorHandler())
app.use(bodyParser())
app.configure(rest())
app.use('books', new MemoryService({ id: 'id', store: JSON.parse(readFileSync('books.json', 'utf8')) }))
await app.listen(${port}, '127.0.0.1')\n`,
      )
      return { command: ['app.mjs'], path: ({ id }) => `/books/${id}` }
    },
  },
  {
    name: 'Platformatic DB',
    packages: ['@platformatic/db@3.67.0', '@platformatic/runtime@3.67.0', 'wattpm@3.67.0'],
    prepare: (folder, port, books) => {
      tableOf(folder, books)
      const config = {
        $schema: 'https://schemas.platformatic.dev/@platformatic/db/3.67.0.json',
        db: { connectionString: 'sqlite://./books.db', openapi: true, graphql: false, schemalock: false },
        server: { hostname: '127.0.0.1', port, logger: { level: 'error' } },
      }
      writeFileSync(join(folder, 'platformatic.json'), JSON.stringify(config))
      return { command: ['node_modules/wattpm/bin/cli.js', 'start'], path: (_, at) => `/books/${at + 1}` }
    },
  },
  {
    name: 'Directus',
    packages: ['directus@12.4.0', 'sqlite3'],
    prepare: (folder, port, books) => {
      const file = tableOf(folder, books)
      const env = {
        DB_CLIENT: 'sqlite3',
        DB_FILENAME: file,
        SECRET: 'a secret of this run alone',
        ADMIN_EMAIL: 'admin@example.com',
        ADMIN_PASSWORD: 'admin-of-this-run',
        HOST: '127.0.0.1',
        PORT: String(port),
        TELEMETRY: 'false',
        LOG_LEVEL: 'error',
        ADMIN_TOKEN: 'token-of-this-run',
      }
      const cli = join(folder, 'node_modules/directus/cli.js')
      const { status, stderr } = spawnSync(process.execPath, [cli, 'bootstrap'], {
        cwd: folder,
        env: { ...process.env, ...env },
        encoding: 'utf8',
        timeout: 3 * minutes,
      })
      if (status !== 0) throw new Error(`It cannot be set up here. ${reasonIn(stderr)}`)
      return { command: [cli, 'start'], env, path: (_, at) => `/items/books/${at + 1}?access_token=token-of-this-run` }
    },
  },
]

const books = [...manyBooks(Number(values.rows))]
for (const peer of peers)
  if (values.only === undefined || peer.name.toLowerCase().includes(values.only)) await measurePeer(peer)

/** Measures one framework; if it cannot be installed or started, reports that and continues. */
async function measurePeer({ name, packages, prepare }: Peer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-peer-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    mkdirSync(join(folder, 'logs'))
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages]
    const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8', timeout: 5 * minutes })
    if (status !== 0) throw new Error(`It cannot be installed here. ${reasonIn(stderr)}`)
    const port = await freePort()
    await measureServer(name, folder, port, prepare(folder, port, books))
  } catch (error) {
    console.log(`${name}: ${(error as Error).message.trim()}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The first line of an output that names an error, or the whole output. */
const reasonIn = (text: string): string =>
  (/^.*(?:Error: |"message": ).*$/m.exec(text)?.[0] ?? text).trim().slice(0, 400)

async function measureServer(
  name: string,
  folder: string,
  port: number,
  { command, env = {}, path }: PeerServer,
): Promise<void> {
  const log = join(folder, 'logs/out.log')
  const out = openSync(log, 'a')
  const [program, ...rest] = pinned(0, process.execPath, ...command) as [string, ...string[]]
  const child = spawn(program, rest, { cwd: folder, stdio: ['ignore', out, out], env: { ...process.env, ...env } })
  try {
    const url = `http://127.0.0.1:${port}`
    const requests = books.slice(0, 1000).map((book, i) => ({ path: path(book, i) }))
    await waitForAnswer(url + requests[0]?.path, log)
    load(url, requests, 2)
    const { rate, p50, p99 } = load(url, requests, 3)
    console.log(`${name}: ${Math.round(rate)} items a second, p50 ${p50} ms, p99 ${p99} ms`)
  } finally {
    child.kill('SIGKILL')
  }
}

async function waitForAnswer(url: string, log: string): Promise<void> {
  for (const until = Date.now() + minutes; ; ) {
    const status = await fetch(url).then(
      (answer) => answer.arrayBuffer().then(() => answer.status),
      () => 0,
    )
    if (status === 200) return
    if (Date.now() > until) throw new Error(`It does not answer (${status}). ${reasonIn(readFileSync(log, 'utf8'))}`)
    await new Promise((done) => setTimeout(done, 200))
  }
}
