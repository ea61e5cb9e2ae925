/**
 * `npm run tools`: tools for OpenAPI lint the descriptions of a shop and of the example, and generate clients that compile.
 * `npm run tools -- --all` also runs those that need Java, Python or Go, and Schemathesis against the running service.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathOf, without } from '../test/help/programs.ts'
import { wrongHovers } from './hovers.ts'
import { executeWithSwaggerUi } from './swagger-ui.ts'

const here = import.meta.dirname
const root = join(here, '..')
/** The tools are packages of their own, outside of the project's lockfile. */
const packages = join(here, 'packages')
const bin = join(packages, 'node_modules/.bin')
const folder = mkdtempSync(join(tmpdir(), 'bylaw-tools-'))
const generator = '7.25.0'
const schemathesis = '4.32.5'
const everything = process.argv.includes('--all')

function run(command: string, words: readonly string[], { cwd = folder, env = {} } = {}): string {
  const options = { cwd, env: { ...process.env, ...env }, encoding: 'utf8', stdio: 'pipe', maxBuffer: 1e9 } as const
  return execFileSync(command, words, { ...options, timeout: 600_000 })
}

const bylaw = (...words: string[]) => ['--conditions=bylaw-source', join(root, 'src/cli/main.ts'), ...words]

/** A file in the folder of a description. */
function write(path: string, text: string): string {
  writeFileSync(join(folder, path), text)
  return join(folder, path)
}

/** Compiles generated TypeScript as an application would: strict, for browsers. */
function compile(made: string): void {
  const target = {
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
  }
  const rules = { strict: true, noEmit: true, skipLibCheck: true, types: [], allowImportingTsExtensions: true }
  const compilerOptions = { ...target, ...rules }
  const project = write(`${made}.json`, JSON.stringify({ compilerOptions, include: [made] }))
  run(join(bin, 'tsc'), ['-p', project])
}

type Tool = (document: string, name: string) => void

const spectral: Tool = (document) => {
  const rules = ['--ruleset', join(packages, 'spectral.yaml'), '--fail-severity', 'warn']
  run(join(bin, 'spectral'), ['lint', document, ...rules], { cwd: packages })
}

const openapiTypescript: Tool = (document, name) => {
  const made = `${name}-openapi-typescript`
  mkdirSync(join(folder, made))
  // Fields with a default may be left out of requests.
  run(join(bin, 'openapi-typescript'), [document, '--default-non-nullable=false', '-o', join(folder, made, 'api.ts')])
  write(
    join(made, 'use.ts'),
    `import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1' })
export async function use(): Promise<string | undefined> {
  const { data: made } = await client.POST('/customers', { body: { name: 'Ann', email: 'ann@example.com', country: 'IT' } })
  const { data: list } = await client.GET('/orders', { params: { query: { limit: 5 } } })
  return list?.data[0]?.currency ?? made?.id
}
`,
  )
  compile(made)
}

const heyApi: Tool = (document, name) => {
  run(join(bin, 'openapi-ts'), ['-i', document, '-o', join(folder, `${name}-hey-api`), '-c', '@hey-api/client-fetch'])
  compile(`${name}-hey-api`)
}

const orval: Tool = (document, name) => {
  const output = { target: join(folder, `${name}-orval/api.ts`), client: 'fetch' }
  const config = write(`${name}-orval.mjs`, `export default ${JSON.stringify({ api: { input: document, output } })}`)
  run(join(bin, 'orval'), ['--config', config])
  compile(`${name}-orval`)
}

const kubb: Tool = (document, name) => {
  const config = join(packages, `${name}.kubb.config.mjs`) // it imports packages
  const output = { path: join(folder, `${name}-kubb`), clean: true }
  writeFileSync(
    config,
    `import { pluginClient } from '@kubb/plugin-client'
import { pluginOas } from '@kubb/plugin-oas'
import { pluginTs } from '@kubb/plugin-ts'
export default { root: '.', input: { path: ${JSON.stringify(document)} }, output: ${JSON.stringify(output)}, plugins: [pluginOas(), pluginTs(), pluginClient({ client: 'fetch' })] }
`,
  )
  try {
    run(join(bin, 'kubb'), ['generate', '--config', config], { cwd: packages })
  } finally {
    rmSync(config)
  }
  compile(`${name}-kubb`)
}

/** The generator is a Java archive, which Maven brings. */
function archive(): string {
  const path = join(packages, 'node_modules/.cache', `openapi-generator-cli-${generator}.jar`)
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${generator}`
  const to = `-DoutputDirectory=${join(packages, 'node_modules/.cache')}`
  if (!existsSync(path)) run('mvn', ['-q', 'dependency:copy', artifact, to])
  return path
}

/** A virtual environment of Python with packages. */
function python(name: string, wheels: readonly string[]): string {
  const home = join(packages, 'node_modules/.cache', name)
  if (!existsSync(join(home, 'done'))) {
    run('python3', ['-m', 'venv', home])
    run(join(home, 'bin/pip'), ['install', '-q', ...wheels])
    writeFileSync(join(home, 'done'), '')
  }
  return join(home, 'bin')
}

const openapiGenerator =
  (language: 'typescript-fetch' | 'python' | 'go'): Tool =>
  (document, name) => {
    const made = `${name}-${language}`
    run('java', ['-jar', archive(), 'generate', '-i', document, '-g', language, '-o', join(folder, made)])
    if (language === 'typescript-fetch') compile(made)
    if (language === 'go') run('go', ['build', '-mod=mod', './...'], { cwd: join(folder, made) })
    if (language !== 'python') return
    const home = python('client', ['pydantic', 'python-dateutil', 'urllib3', 'typing-extensions'])
    run(join(home, 'python'), ['-c', 'import openapi_client'], { cwd: join(folder, made) })
  }

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Runs the service of a declaration. */
async function served(declaration: string, act: (url: string) => unknown): Promise<void> {
  const port = await freePort()
  const words = ['serve', declaration, '--database', 'sqlite::memory:', '--port', String(port), '--log-level', 'silent']
  const server = spawn(process.execPath, bylaw(...words), { cwd: folder, stdio: 'ignore' })
  try {
    const url = `http://127.0.0.1:${port}`
    for (let i = 0; i < 100 && !(await fetch(`${url}/readyz`).catch(() => null)); i++) await pause(100)
    await act(url)
  } finally {
    server.kill()
  }
}

/** Sends thousands of requests that fit the description, or do not, to the service that it describes. */
function attack(url: string): void {
  const home = python('schemathesis', [`schemathesis==${schemathesis}`])
  const config = ['--config-file', join(here, 'schemathesis.toml')]
  const env = { SCHEMATHESIS_HOOKS: 'schemathesis_hooks', PYTHONPATH: here, PYTHONDONTWRITEBYTECODE: '1' }
  const words = ['run', `${url}/openapi.json`, '--checks', 'all', '--no-color']
  run(join(home, 'schemathesis'), [...config, ...words], { env })
}

/** The example of the README as a file of its own, which finds this package under its name. */
function readmeExample(): string {
  mkdirSync(join(folder, 'readme/node_modules'), { recursive: true })
  symlinkSync(root, join(folder, 'readme/node_modules/bylaw'))
  write('readme/package.json', '{"type":"module"}')
  const [, code = ''] = /\/\/ api\.ts\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  return write('readme/api.ts', code)
}

async function swaggerUi(url: string): Promise<void> {
  const browser = pathOf('chromium')
  if (browser === undefined) throw new Error(String(without('chromium')))
  const failures = await executeWithSwaggerUi(url, packages, browser)
  if (failures.length > 0) throw new Error(failures.join('; '))
}

const { dependencies } = JSON.parse(readFileSync(join(packages, 'package.json'), 'utf8')) as { dependencies: object }
if (!Object.keys(dependencies).every((name) => existsSync(join(packages, 'node_modules', name))))
  run('npm', ['ci', '--ignore-scripts'], { cwd: packages })
symlinkSync(join(packages, 'node_modules'), join(folder, 'node_modules')) // generated code imports packages

const declarations = { shop: join(here, 'shop.ts'), orders: join(root, 'examples/orders/handlers.ts') }
const quick = { spectral, 'openapi-typescript and openapi-fetch': openapiTypescript, 'hey-api': heyApi, orval, kubb }
const slow = Object.fromEntries(
  (['typescript-fetch', 'python', 'go'] as const).map((one) => [`openapi-generator ${one}`, openapiGenerator(one)]),
)
let [passed, failed] = [0, 0]

async function attempt(what: string, act: () => unknown): Promise<void> {
  try {
    await act()
    passed++
    console.log(`${what}: clean`)
  } catch (error) {
    failed++
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
    console.log(`${what}: failed\n${[message.split('\n')[0], stdout, stderr].join('\n').slice(0, 20_000)}`)
  }
}

for (const [name, declaration] of Object.entries(declarations)) {
  const document = write(`${name}.json`, run(process.execPath, bylaw('openapi', declaration), { cwd: root }))
  const { openapi } = JSON.parse(readFileSync(document, 'utf8'))
  for (const [tool, act] of Object.entries({ ...quick, ...(everything ? slow : {}) }))
    await attempt(`${name} (OpenAPI ${openapi}), ${tool}`, () => act(document, name))
  if (everything) await attempt(`${name}, Schemathesis`, () => served(declaration, attack))
}
const readme = readmeExample()
await attempt('hovers of TypeScript 5', () => {
  const wrong = wrongHovers(join(folder, 'readme'), packages)
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
})
for (const [name, declaration] of Object.entries({ readme, orders: declarations.orders }))
  await attempt(`${name}, Swagger UI`, () => served(declaration, swaggerUi))
rmSync(folder, { recursive: true })
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
