// Uses the package as a stranger does: installs the tarball into an empty folder, serves a declaration and stops again.
// Runs on the machine's own Node, which may be too old for the package; the folder gets its Node by npm.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'

const [tarball, folder] = process.argv.slice(2).map((path) => resolve(path))
const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const patience = 30_000

const declaration = `import { f, service } from 'bylaw'

export default service({
  name: 'notes',
  resources: {
    notes: { prefix: 'not', fields: { text: f.text({ max: 200 }) }, access: 'public', exports: true },
  },
})
`

/** A thread watches its handler. */
const handled = `import api from './api.ts'

export default api.handlers({ notes: { create: () => {} } })
`

const versioned = `import { count, f, service } from 'bylaw'

export default service({
  name: 'library',
  events: true,
  versions: { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' } },
  resources: {
    shelves: { prefix: 'she', fields: { books: f.integer({ derived: count('books') }) }, access: 'public' },
    books: { prefix: 'boo', parent: 'shelves', fields: { title: f.text(), note: f.text({ optional: true }) }, access: 'public' },
  },
}).change('v2', 'books', { about: 'A book has a note.', added: ['note'] })
`

/** Its types stand alone, without @types/node; `composite` writes the types of a declaration into a file. */
const declaring = {
  compilerOptions: {
    ...{ module: 'nodenext', types: [], strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
    ...{ composite: true, declaration: true, outDir: 'out', rewriteRelativeImportExtensions: true },
  },
  files: ['api.ts', 'consumer.ts', 'receiver.ts', 'versioned.ts'],
}

const receiver = `import { verify } from 'bylaw/webhooks'

export const typeOf = async (request: Request, secret: string): Promise<string> =>
  (await verify(request.headers, await request.text(), secret)).type
`

const consumer = `import { client, entityTag, isApiError } from 'bylaw/client'
import type api from './api.ts'

export async function call(url: string): Promise<string> {
  const shop = client<typeof api>({ url })
  const note = await shop.notes.create({ text: 'Hello' })
  const { text, [entityTag]: tag } = await shop.notes.update(note, ({ text }) => ({ text: text + '!' }))
  const texts: string[] = []
  for await (const one of shop.notes.list({ sort: '-createdAt', pageSize: 1 })) texts.push(one.text)
  const gone = await shop.notes.get('none').catch((error: unknown) => isApiError<typeof api>(error) && error.type)
  return [text, tag, texts.length > 1, gone].join(' ')
}
`

/** Needs only the types of Node: Fastify and Hono are not installed. */
const embedding = `import { createServer } from 'node:http'
import { type App, openApp, toFastify, toFetch, toHono, toNode } from 'bylaw/embedding'
import api from './handlers.ts'

export const app: App = await openApp(api, { database: 'sqlite::memory:' })
export const [answer, plugin, middleware] = [toFetch(app), toFastify(app), toHono(app)]
const server = createServer(toNode(app)).listen(0)
const { account } = await app.authenticate(new Request('http://localhost/'), { access: 'public' })
const { status } = await answer(new Request('http://localhost/projects'))
server.close()
await app.close()
console.log('embedded ' + String(account) + ' ' + String(status)) // a line of its own, as lines of the log may follow
`

// The folder's own Node and commands come first, as npx would have it.
const bin = resolve(folder, 'node_modules/.bin')
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }

const run = (command, ...args) => runIn(folder, command, ...args)

function runIn(cwd, command, ...args) {
  console.log(`$ ${command} ${args.join(' ')}`)
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()
}

/** The URL in the first whole line that has one; what is printed later is still read, so that the server can go on. */
function urlOf(server) {
  let said = ''
  return new Promise((found, failed) => {
    server.stdout.on('data', (chunk) => {
      process.stdout.write(chunk)
      said += chunk
      const url = /https?:\/\/[^\s"',]*[^\s"',./](?=[^\n]*\n)/.exec(said)
      if (url) found(url[0])
    })
    server.on('exit', () => failed(new Error('bylaw serve ended without printing a URL.')))
  })
}

async function use(url) {
  const created = await fetch(`${url}/notes`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ text: 'Hello' }),
  })
  const note = await created.json()
  assert.equal(created.status, 201, `POST /notes answered ${JSON.stringify(note)}`)
  const one = await fetch(new URL(created.headers.get('Location'), url))
  assert.equal(one.status, 200, 'GET of the Location')
  assert.deepEqual(await one.json(), note)
  assert.equal(note.text, 'Hello')
  const all = await fetch(`${url}/notes`)
  assert.equal(all.status, 200, 'GET /notes')
  assert.deepEqual((await all.json()).data, [note])
  // A thread reads exports.
  const exported = await fetch(`${url}/notes`, { headers: { Accept: 'application/x-ndjson' } })
  assert.deepEqual(JSON.parse(await exported.text()), note)
  // As it was compiled, on the machine's own Node: clients run on older ones than services.
  const script = `import('./out/consumer.js').then(({ call }) => call('${url}')).then(console.log)`
  const said = execFileSync(process.execPath, ['--eval', script], { cwd: folder, encoding: 'utf8' })
  assert.match(said, /^Hello! "2-1-\w+" true resource-not-found$/m)
}

async function serve() {
  const args = ['serve', 'handled.ts', '--port', '0', '--database', 'sqlite:notes.db']
  console.log(`$ bylaw ${args.join(' ')}`)
  // The command that npx runs, but without the shell in between, which keeps signals to itself.
  const server = spawn(resolve(bin, 'bylaw'), args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const end = once(server, 'exit')
  const late = setTimeout(() => server.kill('SIGKILL'), patience)
  try {
    await use(await urlOf(server))
    server.kill('SIGTERM')
    const [code, signal] = await end
    assert.equal(code, 0, `after SIGTERM bylaw serve ended with ${code ?? signal}, not with 0`)
    assert.notDeepEqual(readdirSync(resolve(folder, 'node_modules/.cache/bylaw')), [], 'compiled code is kept')
  } finally {
    clearTimeout(late)
    server.kill('SIGKILL')
  }
}

mkdirSync(folder, { recursive: true })
writeFileSync(resolve(folder, 'package.json'), '{ "name": "stranger", "private": true, "type": "module" }\n')
writeFileSync(resolve(folder, 'api.ts'), declaration)
writeFileSync(resolve(folder, 'handled.ts'), handled)
writeFileSync(resolve(folder, 'consumer.ts'), consumer)
writeFileSync(resolve(folder, 'receiver.ts'), receiver)
writeFileSync(resolve(folder, 'versioned.ts'), versioned)
writeFileSync(resolve(folder, 'tsconfig.json'), JSON.stringify(declaring))
run('npm', 'install', tarball, `node@${read('node/package.json').version}`)
// The documentation and the bill of materials come with it.
const packed = resolve(folder, 'node_modules/bylaw')
for (const path of ['README.md', 'SECURITY.md', 'docs/how-to.md', 'docs/support.md'])
  assert.match(readFileSync(resolve(packed, path), 'utf8'), /^# /)
const { components } = JSON.parse(readFileSync(resolve(packed, 'sbom.cdx.json'), 'utf8'))
for (const { name } of components)
  assert.ok(existsSync(resolve(folder, 'node_modules', name)), `sbom.cdx.json lists ${name}, which is not installed`)
assert.match(run('npx', 'bylaw', '--version'), new RegExp(`\\b${read('../package.json').version}$`))
const tsc = resolve(import.meta.dirname, '../node_modules/.bin/tsc')
run(tsc, '-p', 'tsconfig.json')
run(
  'node',
  '--eval',
  "import('./receiver.ts').then(({ typeOf }) => { if (typeof typeOf !== 'function') process.exit(1) })",
)
// A peer that is not installed is named with the command that installs it.
const options = "{ servers: 'nats://127.0.0.1:4222', stream: 'NOTES' }"
const asked = `import('bylaw/nats').then(({ natsPublisher }) => natsPublisher(${options})).catch(({ message }) => console.log(message))`
assert.match(run('node', '--eval', asked), /npm install @nats-io\/transport-node @nats-io\/jetstream/)
await serve()
// No script of the package runs where it is installed: npm asks about those.
const { scripts } = JSON.parse(readFileSync(resolve(packed, 'package.json'), 'utf8'))
for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
  assert.ok(!(name in scripts), `the script ${name}`)
// The types and files that the README names are enough for a project.
const beginner = resolve(folder, 'beginner')
mkdirSync(beginner)
// Browsers load the client, so neither it nor what it imports may load a module of Node.
const loaded = new Set([resolve(packed, 'dist/client/client.js')])
for (const file of loaded)
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/^(?:import|export)\b[^;]*?"([^"]+)";$/gm)) {
    assert.match(name, /^\./, `${file} imports ${name}`)
    loaded.add(resolve(file, '..', name))
  }
assert.ok(loaded.size > 2, 'the client was cut into files')

writeFileSync(resolve(beginner, 'package.json'), '{}\n')
const shown = readFileSync(resolve(packed, 'README.md'), 'utf8').matchAll(/^```\w+\n\/\/ ([\w.]+)\n(.*?)^```/gms)
for (const [, name, text] of shown) writeFileSync(resolve(beginner, name), text)
runIn(beginner, 'npm', 'install', tarball)
runIn(beginner, 'npm', 'pkg', 'set', 'type=module')
runIn(beginner, 'npm', 'install', '--save-dev', 'typescript', '@types/node')
runIn(beginner, 'npx', 'tsc')
assert.match(runIn(beginner, 'npx', 'bylaw', 'check', 'handlers.ts'), /handlers\.ts is in order/)
// A new project installs, tests and checks itself.
run('npx', 'bylaw', 'init', 'my-api')
const project = resolve(folder, 'my-api')
runIn(project, 'npm', 'pkg', 'set', `dependencies.bylaw=file:${tarball}`)
runIn(project, 'npm', 'install', '--no-audit', '--no-fund')
assert.match(runIn(project, 'npm', 'test'), /pass 2\n.*fail 0\n/s)
assert.match(runIn(project, 'npm', 'run', 'check'), /handlers\.ts is in order: my-api has 2 resources/)
writeFileSync(resolve(project, 'embedding.ts'), embedding)
runIn(project, 'npx', 'tsc', '--noEmit', '--skipLibCheck', 'false', '-p', '.')
assert.match(runIn(project, 'node', 'embedding.ts'), /^embedded null 200$/m)
console.log(
  'The packed package installs, serves and stops, its client calls it, its types stand alone, and its new project is in order.',
)
