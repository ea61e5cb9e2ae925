/** `bylaw serve --workers`: one address, one log, replaced workers, and a stop that loses no requests. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { folder, notes, post, run, served } from '../help/command.ts'
import { freshPostgres, sql } from '../help/postgres.ts'
import { until } from '../help/until.ts'

const cwd = folder({ 'api.ts': notes })

/** The processes that serve, by their presence in the database. */
const nodesOf = (file: string): number[] => {
  const db = new DatabaseSync(join(cwd, file), { timeout: 10_000 })
  const rows = db.prepare('SELECT node FROM bylaw_nodes').all() as { node: string }[]
  db.close()
  return rows.map(({ node }) => Number(node.split(':').at(-1)))
}

/** The serving processes that are still alive; the presence of a killed one is deleted later. */
const living = (file: string): number[] =>
  nodesOf(file).filter((pid) => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  })

const request = 'GET /healthz HTTP/1.1\r\nHost: notes\r\n\r\n'

interface Kept {
  /** Sends a request; false if the connection ended without an answer. */
  readonly ask: () => Promise<boolean>
  readonly close: () => void
}

/** A keep-alive connection. */
function kept(url: string): Kept {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  const closed = new Promise<boolean>((resolve) => socket.on('close', () => resolve(false)))
  const ask = () => {
    const answered = new Promise<boolean>((resolve) => socket.once('data', () => resolve(true)))
    socket.write(request)
    return Promise.race([answered, closed])
  }
  return { ask, close: () => socket.destroy() }
}

/**
 * Forty keep-alive connections, some with each of two workers: each of them has answered while the other was stopped. A
 * worker records its presence before it listens, and the kernel may give all connections to one of two free workers.
 */
async function connectedToBoth(file: string, url: string): Promise<readonly Kept[]> {
  await until(() => living(file).length === 2)
  const all: Kept[] = []
  const answers: Promise<boolean>[] = []
  for (const pid of living(file)) {
    process.kill(pid, 'SIGSTOP')
    const several = Array.from({ length: 20 }, () => kept(url))
    const asked = several.map(({ ask }) => ask())
    await Promise.any(asked)
    process.kill(pid, 'SIGCONT')
    all.push(...several)
    answers.push(...asked)
  }
  assert.ok((await Promise.all(answers)).every(Boolean))
  return all
}

/** Clients that send requests until `stop`, some on new connections and some on keep-alive connections. */
function clients(url: string, count: number): { readonly stop: () => Promise<{ answered: number; lost: number }> } {
  let going = true
  const found = { answered: 0, lost: 0 }
  const client = async (_: unknown, i: number): Promise<void> => {
    while (going) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => {})
      const closed = once(socket, 'close').catch(() => [])
      for (let requests = 0; going && requests < (i % 2 ? 1 : 20) && socket.writable; requests++) {
        const answer = await Promise.race([asked(socket), closed.then(() => '')])
        found[answer === '' ? 'lost' : 'answered']++
        if (answer === '' || /^connection: close/im.test(answer)) break
      }
      socket.end()
      await closed
    }
  }
  const all = Promise.all(Array.from({ length: count }, client))
  return {
    stop: async () => {
      going = false
      await all
      return found
    },
  }
}

function asked(socket: Socket): Promise<string> {
  const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))))
  socket.write(request)
  return answer
}

describe('bylaw serve --workers', { concurrency: 2 }, () => {
  test('serves one address with all workers, in one log of whole lines, and ends in order', async () => {
    const { url, said, stop } = await served(['api.ts', '--workers', '3', '--database', 'sqlite:./crew.db'], { cwd })
    await until(() => nodesOf('crew.db').length === 3)
    const made = await Promise.all(Array.from({ length: 60 }, (_, i) => post(`${url}/notes`, { text: `note ${i}` })))
    assert.ok(made.every(({ status }) => status === 201))
    const { pagination } = (await (await fetch(`${url}/notes`)).json()) as { pagination: { totalRecords: number } }
    assert.equal(pagination.totalRecords, 60)
    assert.equal(await stop(), 0)
    const [first, ...lines] = said.stdout.trimEnd().split('\n')
    assert.equal(first, `bylaw serves notes at ${url} (reference page: ${url}/docs)`)
    assert.equal(lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'answered').length, 61)
    assert.deepEqual(nodesOf('crew.db'), [])
  })

  test('replaces a worker that is killed, while the others serve', async () => {
    const { url, said, stop } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./killed.db'], { cwd })
    await until(() => nodesOf('killed.db').length === 2)
    const [one = 0] = nodesOf('killed.db')
    process.kill(one, 'SIGKILL')
    await until(() => nodesOf('killed.db').filter((pid) => pid !== one).length === 2)
    for (let i = 0; i < 20; i++) assert.equal((await post(`${url}/notes`, { text: 'a' })).status, 201)
    assert.match(said.stdout, new RegExp(`"worker":${one},.*"signal":"SIGKILL".*A worker has ended and is replaced`))
    assert.equal(await stop(), 0)
  })

  test('ends every connection of a worker that is killed, and no connection of the others', async () => {
    const { url, stop } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./dead.db'], { cwd })
    for (let round = 0; round < 3; round++) {
      const before = await connectedToBoth('dead.db', url)
      const [one = 0] = living('dead.db')
      process.kill(one, 'SIGSTOP')
      const answers = before.map(({ ask }) => ask())
      const during = Array.from({ length: 20 }, () => kept(url))
      const begun = during.map(({ ask }) => ask())
      await Promise.any(begun)
      process.kill(one, 'SIGKILL')
      const answered = await Promise.all(answers)
      const others = before.filter((_, i) => answered[i])
      assert.ok(others.length > 0 && others.length < before.length, `${others.length} are with the other member`)
      assert.ok((await Promise.all(others.map(({ ask }) => ask()))).every(Boolean))
      await Promise.all(begun) // each gets an answer or its connection ends
      const after = Array.from({ length: 20 }, () => kept(url))
      assert.ok((await Promise.all(after.map(({ ask }) => ask()))).every(Boolean))
      for (const { close } of [...before, ...during, ...after]) close()
    }
    assert.equal(await stop(), 0)
  })

  test('replaces a worker that is stopped, and loses no request', async () => {
    const { url, said, stop } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./stopped.db'], { cwd })
    await until(() => nodesOf('stopped.db').length === 2)
    const busy = clients(url, 8)
    for (const pid of nodesOf('stopped.db')) {
      process.kill(pid, 'SIGTERM')
      await until(() =>
        new RegExp(`"worker":${pid},"code":0,.*A worker has ended after it was replaced`).test(said.stdout),
      )
    }
    await until(() => nodesOf('stopped.db').length === 2)
    const { answered, lost } = await busy.stop()
    assert.equal(lost, 0)
    assert.ok(answered > 0)
    assert.equal(await stop(), 0)
  })

  test('a signal to the process group ends the workers once, in order', async () => {
    const { url, child, said, end } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./group.db'], {
      cwd,
    })
    await until(() => nodesOf('group.db').length === 2)
    const one = kept(url)
    await one.ask()
    for (const pid of [...nodesOf('group.db'), child.pid as number]) process.kill(pid, 'SIGTERM')
    assert.equal(await one.ask(), true)
    assert.equal(await end(), 0)
    assert.deepEqual([nodesOf('group.db'), said.stderr], [[], ''])
  })

  test('signals that arrive while a worker starts end it in order when it has started', async () => {
    const start = new URL('../../src/terminal/start.ts', import.meta.url)
    const code = `import { noteSignal, untilSignal } from '${start.href}'
      const onSignal = noteSignal(['SIGTERM'])
      for (let i = 0; i < 2; i++) process.kill(process.pid, 'SIGTERM')
      await new Promise((resolve) => setTimeout(resolve, 50))
      const witness = { fatal: console.error, error: console.error, written: async () => {} }
      process.exit(await untilSignal(witness, async () => console.log('closed'), onSignal))`
    const child = spawn(process.execPath, ['--conditions=bylaw-source', '--input-type=module', '-e', code])
    const [said, [status]] = await Promise.all([child.stdout.toArray(), once(child, 'close')])
    assert.deepEqual([Buffer.concat(said).toString(), status], ['closed\n', 0])
  })

  test('workers finish their work in order when their parent process is killed', async () => {
    const { url, child } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./alone.db'], { cwd })
    await until(() => nodesOf('alone.db').length === 2)
    const one = kept(url)
    await one.ask()
    child.kill('SIGKILL')
    assert.equal(await one.ask(), true)
    await until(() => nodesOf('alone.db').length === 0)
  })

  test('keeps its port if all workers are killed', async () => {
    const { url, stop } = await served(['api.ts', '--workers', '2', '--database', 'sqlite:./all.db'], { cwd })
    await until(() => nodesOf('all.db').length === 2)
    const dead = nodesOf('all.db')
    for (const pid of dead) process.kill(pid, 'SIGKILL')
    await until(() => kept(url).ask())
    await until(() => living('all.db').length === 2)
    assert.equal(await stop(), 0)
  })

  test('ends in order also while workers still start', async () => {
    const { stop } = await served(['api.ts', '--workers', '3', '--database', 'sqlite:./early.db'], { cwd })
    assert.equal(await stop(), 0)
  })

  test('shares one PostgreSQL database', async (t) => {
    const { url: database, drop } = await freshPostgres()
    t.after(drop)
    const { url, stop } = await served(['api.ts', '--workers', '2', '--database', database], { cwd })
    await until(async () => (await sql(database, 'SELECT node FROM bylaw_nodes')).length === 2)
    assert.equal((await post(`${url}/notes`, { text: 'a' })).status, 201)
    assert.equal(await stop(), 0)
    assert.deepEqual(await sql(database, 'SELECT node FROM bylaw_nodes'), [])
  })

  test('reports a failure at start once, and invalid numbers of workers', async () => {
    const taken = await served(['api.ts', '--database', 'sqlite::memory:'], { cwd })
    const port = new URL(taken.url).port
    const words = ['serve', 'api.ts', '--workers', '3', '--database', 'sqlite:./busy.db']
    const { code, stderr } = await run([...words, '--port', port], { cwd })
    assert.equal(code, 1)
    assert.equal(stderr.match(/is in use by another program/g)?.length, 1)
    await taken.stop()
    for (const [flags, message] of [
      [['--workers', '0'], /has to be a number of processes, not "0"/],
      [['--workers', 'many'], /not "many"/],
      [['--workers', '2', '--database', 'sqlite::memory:'], /A database in memory belongs to one process/],
    ] as const)
      assert.match((await run(['serve', 'api.ts', '--port', '0', ...flags], { cwd })).stderr, message)
  })
})
