/** Runs every code block of the README and of docs/, page by page. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { f, service } from 'bylaw'
import { realWorld } from '../src/flow/real-world.ts'
import { readSettings } from '../src/settings.ts'
import type { Command } from '../src/terminal/command.ts'
import { makeSender } from '../src/webhooks/send.ts'
import { ed25519Pair, hmacSecret, makeSigner } from '../src/webhooks/signature.ts'
import { allProofs, conformance } from './help/conformance.ts'
import { type Block, blocksOf, matches, Page } from './help/pages.ts'
import { type Program, without } from './help/programs.ts'
import { streamingNode } from './help/streaming.ts'
import { until } from './help/until.ts'

const inDocs = readdirSync('docs', { recursive: true })
  .filter((name) => String(name).endsWith('.md'))
  .map((name) => `docs/${name}`)
const pages = ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', ...inDocs]

/** Pages whose examples use a program that npm does not install. */
const used: Readonly<Record<string, Program>> = { 'docs/webhooks.md': 'openssl' }

for (const name of pages) {
  const program = used[name]
  it(`${name} does what it says`, { skip: program !== undefined && without(program) }, async () => {
    const page = await Page.open()
    try {
      for (const block of blocksOf(readFileSync(name, 'utf8'))) await page.run(block)
    } finally {
      await page.close()
    }
  })
}

describe('the receivers of docs/webhooks.md', () => {
  const secrets = [1, 2, 3].map((byte) => hmacSecret(new Uint8Array(32).fill(byte))) as [string, string, string]
  const pair = ed25519Pair(new Uint8Array(32).fill(4))
  const blocks = blocksOf(readFileSync('docs/webhooks.md', 'utf8'))
  const [former, current, unknown] = secrets

  async function checkReceiver(t: TestContext, language: string, start: (page: Page, file: string) => string) {
    const page = await Page.open()
    t.after(() => page.close())
    const file = await page.program(blocks.find((block) => block.language === language) as Block)
    const command = start(page, file)
    const keys = [current, former, ...(language === 'python' ? [] : [pair.publicKey])]
    await page.run({ language: 'sh', line: 0, text: `WEBHOOK_SECRETS=${keys} ${command} &` })
    const sender = makeSender({ privateTargets: true, resolve: async () => ['127.0.0.1'], world: realWorld })
    t.after(sender.close)
    const url = `http://localhost:${page.port}/`
    const deliver = async (keys: string[], id: string, late = 0, over = {}): Promise<number | null> => {
      const body = JSON.stringify({ ...event, id })
      const headers = { ...makeSigner(keys)({ id, at: Date.now() + late, body }), ...over }
      return (await sender.send({ endpoint: 'whe_1', url, headers, body })).responseStatus
    }
    for (const keys of [[current], [current], [unknown, former]]) assert.equal(await deliver(keys, 'evt_1'), 204)
    assert.equal(await deliver([unknown, current], 'evt_2'), 204)
    if (language !== 'python') assert.equal(await deliver([pair.secret], 'evt_3'), 204)
    assert.equal(await deliver([unknown], 'evt_4'), 400)
    for (const late of [-310_000, 310_000]) assert.equal(await deliver([current], 'evt_4', late), 400)
    for (const name of ['id', 'timestamp', 'signature'])
      assert.equal(await deliver([current], 'evt_4', 0, { [`webhook-${name}`]: '' }), 400)
    assert.equal(await deliver([current], 'evt_4', 0, { 'webhook-id': 'evt_5' }), 400)
    const handled = ['evt_1', 'evt_2', ...(language === 'python' ? [] : ['evt_3'])].map((id) => `order.placed ${id}`)
    const text = [`listening on http://localhost:${page.port}`, ...handled].join('\n')
    await until(() =>
      page.run({ language: 'console', line: 0, text }).then(
        () => true,
        () => false,
      ),
    )
  }

  const event = { type: 'order.placed', timestamp: '2026-01-01T00:00:00.000Z', version: 'v1', sequence: 1, data: {} }

  it('in TypeScript', (t) => checkReceiver(t, 'typescript', (_, file) => `node ${file}`))
  it('in Python', { skip: without('python3') }, (t) => checkReceiver(t, 'python', (_, file) => `python3 ${file}`))
  it('in Go', { skip: without('go') }, (t) =>
    checkReceiver(t, 'go', ({ folder }, file) => {
      execFileSync('go', ['build', '-o', 'receiver', file], { cwd: folder })
      return './receiver'
    }),
  )
  it('shows a delivery as the service signs it', () => {
    const shown = blocks.find(({ text }) => text.includes('Webhook-Id: '))?.text ?? ''
    const [head = '', body = ''] = shown.split('\n\n')
    const headerOf = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1] ?? ''
    const bytes = (from: number) => Uint8Array.from({ length: 32 }, (_, n) => from + n)
    const signed = makeSigner([hmacSecret(bytes(0)), ed25519Pair(bytes(32)).secret])({
      ...{ id: headerOf('Webhook-Id'), at: Number(headerOf('Webhook-Timestamp')) * 1000, body },
    })
    assert.equal(headerOf('Webhook-Signature'), signed['webhook-signature'])
  })
})

describe('the consumers of docs/events.md', () => {
  const blocks = blocksOf(readFileSync('docs/events.md', 'utf8'))
  const notes = { prefix: 'not', fields: { text: f.text() }, access: 'public' } as const

  /** Passes the path of the program to the command, which builds it if necessary. */
  async function checkConsumer(t: TestContext, language: string, command: (file: string) => readonly string[]) {
    const page = await Page.open()
    t.after(() => page.close())
    const name = await page.program(blocks.find((block) => block.language === language) as Block)
    const [program = '', ...words] = command(join(page.folder, name))
    const { send, port } = await streamingNode(t, service({ name: 'notes', events: true, resources: { notes } }))
    const env = { ...process.env, BASE: `http://127.0.0.1:${port}`, NODE_TEST_CONTEXT: undefined }
    const write = async (): Promise<string> => {
      const { json } = await send('POST', '/notes', { json: { text: 'a' } })
      return `note.created ${json.id}`
    }
    /** Whether the stored position is that of the last event. */
    const isStored = async (): Promise<boolean> => {
      const place = join(page.folder, 'cursor.txt')
      const cursor = existsSync(place) ? readFileSync(place, 'utf8') : ''
      return cursor !== '' && (await send('GET', `/events?cursor=${cursor}`)).json.data.length === 0
    }
    /** Runs the consumer until it has stored its position; if it is started again, it continues from there. */
    const consumed = async (lines: readonly string[]): Promise<void> => {
      const child = spawn(program, words, { cwd: page.folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'exit')
      let said = ''
      child.stdout.on('data', (chunk) => {
        said += chunk
      })
      await until(async () => said.split('\n').length > lines.length && (await isStored()))
      child.kill('SIGKILL')
      await ended
      assert.deepEqual(said.trim().split('\n'), lines)
    }
    await consumed([await write(), await write()])
    await consumed([await write()])
  }

  it('in TypeScript', (t) => checkConsumer(t, 'typescript', (file) => [process.execPath, file]))
  it('in Python', { skip: without('python3') }, (t) => checkConsumer(t, 'python', (file) => ['python3', file]))
  it('in Go', { skip: without('go') }, (t) =>
    checkConsumer(t, 'go', (file) => {
      const built = `${file}.built`
      execFileSync('go', ['build', '-o', built, file])
      return [built]
    }),
  )
})

it('a page that shows another result is found', () => {
  assert.ok(matches('{"a":1,"b":2}', '{"a":1,…}'))
  assert.ok(!matches('{"a":1,"b":2}', '{"a":2,…}'))
  assert.ok(!matches('{"a":1}', '{"a":1,"b":2}'))
})

it('docs/conformance.md lists the tests of each rule', () => {
  assert.equal(readFileSync('docs/conformance.md', 'utf8'), conformance(allProofs()), 'Run npm run conformance.')
})

it('docs/deviations.md lists each deviation once', () => {
  const rows = readFileSync('docs/deviations.md', 'utf8').match(/^\| R\d.*/gm) ?? []
  assert.ok(rows.length > 5)
  const reported = rows.map((row) => row.replaceAll(/\d[\d,]*(?= )/g, 'so many'))
  assert.deepEqual(
    rows.filter((_, i) => reported.indexOf(reported[i] as string) !== i),
    [],
  )
})

it('docs/security.md names tests that there are', () => {
  const named = readFileSync('docs/security.md', 'utf8').match(/test\/[\w/.-]+\.ts/g) ?? []
  assert.ok(named.length > 30)
  assert.deepEqual(
    named.filter((path) => !existsSync(path)),
    [],
  )
})

it('docs/settings.md names every setting', () => {
  const page = readFileSync('docs/settings.md', 'utf8')
  const leaves = (value: unknown, at: string): string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([name, one]) => leaves(one, at === '' ? name : `${at}.${name}`))
      : [at]
  const settings = leaves(
    readSettings({}, undefined, false, () => {}),
    '',
  )
  assert.deepEqual(
    settings.filter((name) => !page.includes(`\`${name}\``)),
    [],
  )
})

it('the pages name every flag of every command', async () => {
  const texts = inDocs.map((name) => readFileSync(name, 'utf8'))
  const files = ['cli', 'backup', 'seed'].flatMap((room) => readdirSync(`src/${room}`).map((name) => `${room}/${name}`))
  const loaded = files.filter((name) => !/\/main\.|\.test\.ts$/.test(name))
  const exported = await Promise.all(loaded.map((name) => import(`../src/${name}`)))
  const commands = exported.flatMap((all) => Object.values(all).filter(isCommand))
  assert.ok(commands.length >= 12)
  const flags = commands.flatMap(({ name, flags }) => Object.keys(flags).map((flag) => ({ name, flag })))
  const missing = flags.filter(({ flag }) => !texts.some((text) => new RegExp(`--${flag}(?![\\w-])`).test(text)))
  assert.deepEqual(
    missing.map(({ name, flag }) => `${name} --${flag}`),
    [],
  )
})

function isCommand(value: unknown): value is Command {
  return typeof value === 'object' && value !== null && 'flags' in value && 'run' in value
}
