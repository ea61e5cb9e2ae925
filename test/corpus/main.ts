/**
 * `npm run -s corpus -- --record FILE` records the requests of all sessions with their answers, `--replay FILE` sends them again
 * and reports each difference. The default file is `answers.br` in this folder. `--only TEXT` takes the sessions whose names contain
 * the text, `--most N` shows at most N differences, `--processes N` divides the work, `--counts` counts the requests of a corpus.
 * `--keep` writes the databases and the public types of this folder again.
 */
import { fork } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from '../help/postgres.ts'
import { Judge, joined, reportOf, type Verdict } from './compare.ts'
import { countsOf } from './counts.ts'
import { linesOf, packed, type Session, sessionsOf, unpacked } from './exchange.ts'
import { builtPublicTypes } from './face.ts'
import { keepDatabases } from './kept.ts'
import { sessions as planned } from './plan.ts'
import { openPlayer } from './play.ts'
import { unlike } from './preload.ts'
import { recorded } from './record.ts'

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    record: { type: 'boolean' },
    replay: { type: 'boolean' },
    counts: { type: 'boolean' },
    keep: { type: 'boolean' },
    only: { type: 'string', default: '' },
    most: { type: 'string', default: '20' },
    processes: { type: 'string', default: '2' },
    part: { type: 'string' },
    result: { type: 'string' },
  },
})
const file = positionals[0] ?? here('answers.br')
const began = process.hrtime.bigint()
const seconds = (): string => `${(Number(process.hrtime.bigint() - began) / 1e9).toFixed(0)} s`

/** Whether a session is selected by `--only`, and is in the part of this process. */
function isOwn(name: string, number: number): boolean {
  const [part, of] = (values.part ?? '0/1').split('/').map(Number) as [number, number]
  return name.includes(values.only) && number % of === part
}

async function recordedPart(): Promise<Record<string, Session>> {
  const made: Record<string, Session> = {}
  for (const [number, [setting, share]] of planned.entries())
    if (isOwn(setting.name, number)) made[setting.name] = await recorded(setting, share)
  return made
}

async function replayedPart(): Promise<Verdict> {
  const judge = new Judge(Number(values.most))
  for (const [place, session] of sessionsOf(unpacked(readFileSync(file))).entries()) {
    if (!isOwn(session.setting.name, place)) continue
    const player = await openPlayer(session.setting)
    try {
      for (const [number, exchange] of session.exchanges.entries())
        judge.compare(session, number, exchange, (await player.play(exchange)).answer)
    } finally {
      await player.end()
    }
  }
  return judge.verdict()
}

/** Runs this program in several processes, each with a part of the sessions, and returns their results. */
async function divided<T>(): Promise<T[]> {
  const of = Number(values.processes)
  const folder = join(tmpdir(), `bylaw-corpus-${unlike()}`)
  const parts = Array.from({ length: of }, (_, part) => `${folder}-${part}`)
  const ended = parts.map((result, part) => {
    const child = fork(here('main.ts'), [...process.argv.slice(2), '--part', `${part}/${of}`, '--result', result])
    return new Promise((resolve) => child.on('exit', resolve))
  })
  await Promise.all(ended)
  const missing = parts.filter((result) => !existsSync(result))
  if (missing.length > 0) throw new Error('A part of the sessions ended without a result: see above.')
  const made = parts.map((result) => JSON.parse(readFileSync(result, 'utf8')) as T)
  for (const result of parts) rmSync(result)
  return made
}

async function record(): Promise<void> {
  const made: Record<string, Session> = Object.assign({}, ...(await divided<Record<string, Session>>()))
  const sessions = planned.flatMap(([{ name }]) => made[name] ?? [])
  const bytes = packed(linesOf(sessions))
  writeFileSync(file, bytes)
  const count = sessions.reduce((sum, { exchanges }) => sum + exchanges.length, 0)
  console.log(`${count} requests in ${sessions.length} sessions recorded in ${seconds()}: ${bytes.length} bytes.`)
}

async function replay(): Promise<void> {
  const verdict = joined(await divided<Verdict>(), Number(values.most))
  console.log(reportOf(verdict))
  console.log(`Replayed in ${seconds()}.`)
  process.exitCode = verdict.differing > 0 || verdict.requests === 0 ? 1 : 0
}

async function keep(): Promise<void> {
  console.log(await keepDatabases(here('databases.br')))
  writeFileSync(here('public.txt'), builtPublicTypes())
}

if (values.counts) console.log(countsOf(sessionsOf(unpacked(readFileSync(file)))))
else if (values.keep) await keep()
else if (values.result !== undefined)
  writeFileSync(values.result, JSON.stringify(await (values.record ? recordedPart() : replayedPart())))
else {
  await globalSetup()
  try {
    await (values.record ? record() : replay())
  } finally {
    await globalTeardown()
  }
}
process.exit()
