/** `bylaw init`: a new project is in order, its tests pass, its seed can be repeated, and nothing is overwritten. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { checkout } from '../help/built.ts'
import { folder, run } from '../help/command.ts'
import { startService } from '../help/process.ts'

const start = promisify(execFile)

/** The files of a new project, with this checkout as the installed package. */
async function made(name: string): Promise<string> {
  const cwd = folder()
  const { code, stdout, stderr } = await run(['init', name], { cwd })
  assert.equal(code, 0, stderr)
  assert.match(
    stdout,
    new RegExp(`is in ${name}: .*\\nNext:\\n {2}cd "?${name}"?\\n {2}npm install\\n {2}npm run dev\\n$`),
  )
  const project = join(cwd, name)
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(checkout, join(project, 'node_modules/bylaw'))
  return project
}

test('a new project has the name of its folder and everything that its files refer to', async () => {
  const project = await made('Book Shop')
  const file = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  assert.deepEqual([file.name, file.dependencies], ['book-shop', { bylaw: `^${version}` }])
  assert.match(readFileSync(join(project, 'api.ts'), 'utf8'), /name: 'book-shop'/)
  assert.match(readFileSync(join(project, '.gitignore'), 'utf8'), /^\.env$/m)
  assert.ok(['.env.example', 'Dockerfile', 'tsconfig.json'].every((name) => readdirSync(project).includes(name)))
  const checked = await run(['check', 'handlers.ts'], { cwd: project })
  assert.match(checked.stdout, /^handlers\.ts is in order: book-shop has 2 resources/)
})

test('the tests of a new project pass', async () => {
  const cwd = await made('my-api')
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const { stdout } = await start(process.execPath, ['--conditions=bylaw-source', '--test', '--test-reporter=tap'], {
    cwd,
    env,
  })
  assert.match(stdout, /^# pass 2$/m)
  assert.match(stdout, /^# fail 0$/m)
})

test('the seed of a new project can be repeated, while the service runs', async (t) => {
  const cwd = await made('my-api')
  const { url, stop } = await startService(join(cwd, 'handlers.ts'), {
    database: `sqlite:${join(cwd, 'data/my-api.db')}`,
  })
  t.after(() => stop('SIGKILL'))
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
  const seed = async () => (await run(scripts.seed.split(' ').slice(1), { cwd })).stdout
  assert.equal(await seed(), 'sqlite:./data/my-api.db: 4 created by seed.ts, 0 there already.\n')
  assert.equal(await seed(), 'sqlite:./data/my-api.db: 0 created by seed.ts, 4 there already.\n')
  const { data } = (await (await fetch(`${url}/projects`)).json()) as { data: { taskCount: number }[] }
  assert.deepEqual(
    data.map(({ taskCount }) => taskCount),
    [3],
  )
})

test('no file is overwritten, and a name that has no letters is refused', async () => {
  const cwd = folder()
  mkdirSync(join(cwd, 'old'))
  writeFileSync(join(cwd, 'old/api.ts'), 'mine')
  writeFileSync(join(cwd, 'old/.gitignore'), 'mine')
  const refused = await run(['init', 'old'], { cwd })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /The folder old has api\.ts and \.gitignore already; nothing was written\./)
  assert.deepEqual(readdirSync(join(cwd, 'old')).sort(), ['.gitignore', 'api.ts'])
  const nameless = await run(['init', '2026'], { cwd })
  assert.equal(nameless.code, 1)
  assert.match(nameless.stderr, /"2026" gives the project no name/)
})
