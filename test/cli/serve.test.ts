/** `bylaw serve`: its address, its log, and its end. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { bylawCommand } from '../help/built.ts'
import { folder, launch, notes, post, run, served } from '../help/command.ts'
import { commandOf } from '../help/processes.ts'

const cwd = folder({ 'api.ts': notes })
const memory = ['api.ts', '--database', 'sqlite::memory:']

async function open(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

async function answerOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

/** Waits until the port refuses connections. */
async function closed(url: string): Promise<void> {
  for (;;) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const refused = await Promise.race([
      once(socket, 'connect').then(() => false),
      once(socket, 'error').then(
        () => true,
        () => true,
      ),
    ]).catch(() => true)
    socket.destroy()
    if (refused) return
    await pause(10)
  }
}

const json = 'Host: notes\r\nContent-Type: application/json\r\n'

const future = notes.replace(
  "name: 'notes',",
  "name: 'notes', versions: { v1: { released: '2025-01-01' }, v2: { released: '9000-01-01' } },",
)
test('R189: --preview serves a version before its release, and refuses an unknown one', async () => {
  const cwd = folder({ 'api.ts': future })
  for (const [flags, status] of [
    [[], 404],
    [['--preview', 'v2'], 200],
  ] as const) {
    const { url, stop } = await served(['api.ts', '--database', 'sqlite::memory:', ...flags], { cwd })
    assert.equal((await fetch(`${url}/v2/notes`)).status, status)
    await stop()
  }
  const { code, stderr } = await run(['serve', 'api.ts', '--preview', 'v9'], { cwd })
  assert.equal(code, 1)
  assert.match(stderr, /--preview names "v9", which is not a version of this service\.\s+It has v1 and v2\./)
})

describe('bylaw serve', { concurrency: 3 }, () => {
  test('warns of a clock that is far ahead of the file, and of no other', async () => {
    const file = ['api.ts', '--database', 'sqlite:./clock.db']
    const ahead = (hours: number) => ({
      NODE_OPTIONS: `--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+${hours}*3600000`,
    })
    for (const [hours, reported] of [
      [0, false],
      [2, true],
      [0, false],
    ] as const) {
      const { said, stop } = await served(file, { cwd, env: ahead(hours) })
      assert.equal(await stop(), 0)
      const line = said.stdout.split('\n').find((one) => one.includes('The clock of this machine'))
      assert.equal(line !== undefined, reported)
      if (line) assert.equal(JSON.parse(line).minutes, 120)
    }
  })

  test('prints its URL in the first line, and every answer in a line of JSON', async () => {
    const { url, said, stop } = await served(memory, { cwd })
    assert.match(url, /^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
    const { status, json } = await post(`${url}/notes`, { text: 'Hello' })
    assert.equal(status, 201)
    for (let i = 0; i < 50; i++) await fetch(`${url}/notes/${json.id}`)
    assert.equal(await stop(), 0)
    const [first, ...lines] = said.stdout.trimEnd().split('\n')
    assert.equal(first, `bylaw serves notes at ${url} (reference page: ${url}/docs)`)
    const logged = lines.map((line) => JSON.parse(line))
    assert.equal(logged.length, 51, 'no line is lost at the end')
    const { time, requestId, ms, ...rest } = logged[0]
    assert.deepEqual(rest, {
      level: 'info',
      service: 'notes',
      method: 'POST',
      path: '/notes',
      status: 201,
      msg: 'answered',
    })
    assert.equal(said.stderr, '')
  })
  test('says in its first line where the reference page is if a resource has its path', async () => {
    const home = folder({ 'api.ts': notes.replaceAll('notes', 'docs').replace("'not'", "'doc'") })
    const { url, said, stop } = await served(memory, { cwd: home })
    assert.equal((await fetch(`${url}/-/docs`)).headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(await stop(), 0)
    const moved = `${url}/-/docs; a resource has /docs, so this is at /-/docs: the setting server.paths.docs names another path`
    assert.equal(said.stdout.split('\n', 1)[0], `bylaw serves docs at ${url} (reference page: ${moved})`)
  })
  test('names the URL with the base path', async () => {
    const home = folder({
      'api.ts': notes.replace("name: 'notes',", "name: 'notes', settings: { server: { basePath: '/api' } },"),
    })
    const { url, said, stop } = await served(memory, { cwd: home })
    assert.match(url, /:\d+\/api$/)
    assert.equal((await fetch(`${url}/notes`)).status, 200)
    assert.equal(await stop(), 0)
    assert.equal(said.stdout.split('\n', 1)[0], `bylaw serves notes at ${url} (reference page: ${url}/docs)`)
  })
  test('limits the memory of new objects, unless another size is set', async () => {
    for (const [env, size] of [
      [{ NODE_OPTIONS: '' }, '--max-semi-space-size=8'],
      [{ NODE_OPTIONS: '--max-semi-space-size=24' }, undefined],
    ] as const) {
      const { child, stop } = await served(memory, { cwd, env })
      const command = commandOf(child.pid as number)
      assert.equal(/--max-semi-space-size=\d+/.exec(command)?.[0], size)
      assert.equal(await stop(), 0)
    }
  })

  test('reads port, host, database and log level from the environment, flags win', async () => {
    const env = { PORT: '1', HOST: '127.0.0.2', DATABASE_URL: 'sqlite:./mine.db', LOG_LEVEL: 'silent' }
    const { url, said, stop } = await served(['api.ts'], { cwd, env })
    assert.match(url, /^http:\/\/127\.0\.0\.2:\d+$/)
    assert.equal((await post(`${url}/notes`, { text: 'Hello' })).status, 201)
    assert.equal(await stop(), 0)
    assert.ok(existsSync(join(cwd, 'mine.db')))
    assert.equal(said.stdout, `bylaw serves notes at ${url} (reference page: ${url}/docs)\n`)
  })
  test('keeps its data in ./data by default, for the next process too', async () => {
    const home = folder({ 'api.ts': notes })
    const first = await served(['api.ts'], { cwd: home })
    await post(`${first.url}/notes`, { text: 'Hello' })
    assert.equal(await first.stop(), 0)
    assert.ok(existsSync(join(home, 'data/notes.db')))
    const second = await served(['api.ts'], { cwd: home })
    const { data } = (await (await fetch(`${second.url}/notes`)).json()) as { data: unknown[] }
    assert.equal(data.length, 1)
    assert.equal(await second.stop(), 0)
  })
  test('two processes serve one file, and each sees the writes of the other', async () => {
    const both = ['api.ts', '--database', 'sqlite:./both.db']
    const [one, two] = await Promise.all([served(both, { cwd }), served(both, { cwd })])
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) => post(`${i % 2 ? one.url : two.url}/notes`, { text: String(i) })),
    )
    assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]))
    for (const { url } of [one, two]) {
      const { data } = (await (await fetch(`${url}/notes?page_size=100`)).json()) as { data: unknown[] }
      assert.equal(data.length, 20)
    }
    assert.deepEqual(await Promise.all([one.stop(), two.stop()]), [0, 0])
  })
  test('a port in use is reported without a stack', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const { code, stdout, stderr } = await run(['serve', ...memory, '--port', String(port)], { cwd })
    taken.close()
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(
      stderr,
      new RegExp(`^bylaw: Port ${port} on 127\\.0\\.0\\.1 is in use by another program\\.\n.*--port 0`),
    )
  })
})

describe('the end of bylaw serve', { concurrency: 3 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}: accepted requests are answered, readiness fails, new ones are refused, and the exit code is 0`, async () => {
      const { url, child, end } = await served(memory, { cwd })
      const [slow, probe] = [await open(url), await open(url)]
      slow.write(`POST /notes HTTP/1.1\r\n${json}Content-Length: 16\r\n\r\n{"text":`)
      probe.write('GET /readyz HTTP/1.1\r\nHost: notes\r\n')
      await fetch(`${url}/healthz`) // both have arrived by now
      child.kill(signal)
      await closed(url)
      probe.write('\r\n')
      assert.match(await answerOf(probe), /^HTTP\/1\.1 503 /)
      slow.write('"Hello"')
      slow.write('}')
      const answer = await answerOf(slow)
      assert.match(answer, /^HTTP\/1\.1 201 /)
      assert.match(answer, /\r\nConnection: close\r\n/)
      assert.equal(await end(), 0)
    })
  }
  test('during the grace period requests are accepted while readiness fails, each on a closing connection', async () => {
    const { url, child, end } = await served([...memory, '--grace', 'PT3S'], { cwd })
    const kept = await open(url)
    kept.write(`GET /healthz HTTP/1.1\r\n${json}\r\n`)
    await fetch(`${url}/healthz`)
    child.kill('SIGTERM')
    for (let status = 200; status !== 503; status = (await fetch(`${url}/readyz`)).status);
    const made = await fetch(`${url}/notes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"late"}',
    })
    assert.deepEqual([made.status, made.headers.get('connection')], [201, 'close'])
    kept.write(`GET /notes HTTP/1.1\r\n${json}\r\n`)
    const answers = await answerOf(kept)
    assert.equal(answers.split('HTTP/1.1 200').length - 1, 2)
    assert.match(answers, /\r\nConnection: close\r\n/)
    await closed(url)
    assert.equal(await end(), 0)
  })
  test('a request that does not finish in time is cut off', async () => {
    const { url, child, end } = await served([...memory, '--drain', 'PT0.2S'], { cwd })
    const slow = await open(url)
    slow.write(`POST /notes HTTP/1.1\r\n${json}Content-Length: 99\r\n\r\n{`)
    slow.on('error', () => {})
    await fetch(`${url}/healthz`)
    child.kill('SIGTERM')
    assert.equal(await end(), 0)
  })
  test('a second signal ends it at once', async () => {
    const { url, child, end } = await served(memory, { cwd })
    const slow = await open(url)
    slow.on('error', () => {})
    slow.write(`POST /notes HTTP/1.1\r\n${json}Content-Length: 99\r\n\r\n{`)
    await fetch(`${url}/healthz`)
    child.kill('SIGTERM')
    await closed(url)
    child.kill('SIGTERM')
    assert.equal(await end(), 1)
  })
  test('a failure that nothing handles is logged as fatal and ends it with 1', async () => {
    const stray =
      "import { existsSync } from 'node:fs'\nsetInterval(() => existsSync('go') && Promise.reject(new Error('stray')), 20)\n"
    const home = folder({ 'api.ts': stray + notes })
    const { said, end } = await served(memory, { cwd: home })
    writeFileSync(join(home, 'go'), '')
    assert.equal(await end(), 1)
    const last = JSON.parse(said.stdout.trimEnd().split('\n').at(-1) as string)
    assert.equal(last.level, 'fatal')
    assert.equal(last.err.message, 'stray')
  })
  test('a blocked reader of the log stops neither the service nor its end', async () => {
    const words = [...bylawCommand(), 'serve', ...memory, '--port', '0']
    const child = spawn(process.execPath, words, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    const late = setTimeout(() => child.kill('SIGKILL'), 60_000)
    const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'close')])
    child.stdout.pause()
    const count = 4000
    const socket = await open(/http:\S+/.exec(String(line))?.[0] ?? '')
    socket.write('GET /healthz HTTP/1.1\r\nHost: notes\r\n\r\n'.repeat(count - 1))
    socket.write('GET /healthz HTTP/1.1\r\nHost: notes\r\nConnection: close\r\n\r\n')
    assert.equal((await answerOf(socket)).split('HTTP/1.1 200').length - 1, count)
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    clearTimeout(late)
    child.stdout.destroy()
    assert.equal(code, 0)
  })
  test('a closed log does not end the service', async () => {
    const { url, child, stop } = await served(memory, { cwd })
    child.stdout?.destroy()
    for (let i = 0; i < 3; i++) assert.equal((await fetch(`${url}/healthz`)).status, 200)
    assert.equal(await stop(), 0)
  })
  test('a declaration that cannot be served exits with 1', async () => {
    const { end } = launch(['serve', 'none.ts'], { cwd })
    assert.equal(await end(), 1)
  })
})

test('a service whose operations have no handlers does not start', async () => {
  const resources =
    "resources: { notes: { fields: {}, access: 'public', operations: { counts: { at: 'collection' } } } }"
  const place = folder({
    'api.ts': `import { service } from 'bylaw'\nexport default service({ name: 'notes', ${resources} })`,
  })
  const { code, stderr } = await run(['serve', ...memory], { cwd: place })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /handlers\.notes\.counts: The declared operation has no handler\.\n.*async counts\(\{ input \}\)/,
  )
  assert.doesNotMatch(stderr, / at /)
  assert.equal((await run(['check', 'api.ts'], { cwd: place })).code, 0)
})
