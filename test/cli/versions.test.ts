import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { realWorld } from '../../src/flow/real-world.ts'
import { serviceWorld } from '../../src/flow/world.ts'
import type { Service } from '../../src/service.ts'
import { loadService } from '../../src/terminal/load.ts'
import { retirementHazard, warnOfVersionDates } from '../../src/terminal/retirement.ts'
import { openStoreFor } from '../../src/terminal/start.ts'
import { countVersionUse, flushUsage, readVersionUses } from '../../src/versions/usage.ts'
import { run } from '../help/command.ts'

const folder = mkdtempSync(join(tmpdir(), 'bylaw-versions-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const day = 86_400_000

/** A file with a service of two versions; `first` is the source of the first one. */
function declared(first: string | null, settings = '{}', deprecations = '{}'): string {
  const file = join(folder, `api-${++files}.ts`)
  const v1 =
    first === null ? '' : `v1: { released: '2020-01-01', deprecated: '2020-02-01', sunset: '2021-01-01' ${first} },`
  writeFileSync(
    file,
    `import { f, service } from 'bylaw'
export default service({ name: 'notes', versions: { ${v1} v2: { released: '2020-06-01' } }, settings: ${settings},
  resources: { notes: { fields: { text: f.text() }, access: 'public', deprecations: ${deprecations} } } })\n`,
  )
  return file
}

const database = `sqlite:${join(folder, 'notes.db')}`
const now = Date.parse('2026-11-20T00:00:00Z')

test('uses are counted in memory, stored, and added up', async () => {
  const store = await openStoreFor(await loadService(declared('')), database, 'apply')
  const on = { store, world: serviceWorld(realWorld, store) }
  try {
    for (const [version, caller, time] of [
      ['v1', 'shop', now - 3 * day],
      ['v1', 'shop', now - 2 * day],
      ['v2', '', now],
    ] as const)
      countVersionUse(on, version, caller, time)
    await flushUsage(on)
    countVersionUse(on, 'v1', 'shop', now - 5 * day)
    await flushUsage(on)
    await flushUsage(on)
    assert.deepEqual(await readVersionUses(store), [
      { version: 'v1', caller: 'shop', requests: 3, last: now - 2 * day },
      { version: 'v2', caller: '', requests: 1, last: now },
    ])
  } finally {
    await store.close()
  }
})

test('R202: bylaw versions lists them with their callers', async () => {
  const reported = await run(['versions', declared(''), '--database', database], { cwd: folder })
  assert.equal(reported.code, 0, reported.stderr)
  assert.match(
    reported.stdout,
    /^VERSION +STATE +DEPRECATED +SUNSET +REQUESTS +LAST USE\nv1 +deprecated +2020-02-01 +2021-01-01 +3 /,
  )
  assert.match(reported.stdout, /\n {2}shop +3 +2026-11-18T00:00:00.000Z\nv2 +served +1 .*\n {2}\(anonymous\) /)
  const json = await run(['versions', declared(', retired: true'), '--database', database, '--json'], { cwd: folder })
  assert.deepEqual(
    JSON.parse(json.stdout).map(({ version, state, requests }: Record<string, unknown>) => [version, state, requests]),
    [
      ['v1', 'retired', 3],
      ['v2', 'served', 1],
    ],
  )
})

test('R189: a version ahead of its release is listed as such', async () => {
  const file = declared(", retired: true }, v3: { released: '2999-01-01'")
  const { stdout } = await run(['versions', file, '--database', database], { cwd: folder })
  assert.match(stdout, /^v2 +served /m)
  assert.match(stdout, /^v3 +unreleased /m)
})

test('R203: a version that has consumers is not left out without a reason', async () => {
  const refusal = async (file: string): Promise<string> => {
    const service = await loadService(file)
    const store = await openStoreFor(service, database, 'apply')
    try {
      return retirementHazard(service, await readVersionUses(store), now)?.about ?? ''
    } finally {
      await store.close()
    }
  }
  const says = /^v1 is not served any more, but it has 1 caller in the last 30 days, the last one at 2026-11-18T/
  assert.match(await refusal(declared(', retired: true')), says)
  assert.match(await refusal(declared(null)), says)
  assert.equal(await refusal(declared('')), '')
  assert.equal(await refusal(declared(", retired: 'all have been told'")), '')
  assert.equal(await refusal(declared(', retired: true', "{ versions: { idle: 'P1D' } }")), '')
})

test('R203: the day after its planned end a version is served, and the log says so', async () => {
  const warned = async (settings: string) => {
    const lines: object[] = []
    const log = { error: () => {}, info: () => {}, warn: (about: object) => lines.push(about) }
    warnOfVersionDates((await loadService(declared('', settings))) as Service, log, now)
    return lines
  }
  assert.deepEqual(await warned('{}'), [{ version: 'v1', sunset: 'Fri, 01 Jan 2021 00:00:00 GMT' }])
  assert.deepEqual(await warned('{ versions: { enforceSunset: true } }'), [])
})

const going = "{ remove: { deprecated: '2026-11-19', sunset: '2026-11-20' }, list: { deprecated: '2999-01-01' } }"

test('R198 R202: deprecated operations are listed below each version that has them', async () => {
  const { stdout } = await run(['versions', declared('', '{}', going), '--database', database], { cwd: folder })
  for (const label of ['v1', 'v2'])
    assert.match(
      stdout,
      new RegExp(
        `\\n${label} .*\\n {2}remove notes +deprecated +2026-11-19 +2026-11-20 *\\n {2}list notes +served +2999-01-01\\n`,
      ),
    )
})

test('R203: an operation after its planned end is served, and the log says so', async () => {
  const lines: object[] = []
  const log = { error: () => {}, info: () => {}, warn: (about: object) => lines.push(about) }
  warnOfVersionDates((await loadService(declared(', retired: true', '{}', going))) as Service, log, now)
  assert.deepEqual(lines, [{ version: 'v2', resource: 'notes', operation: 'remove', sunset: '2026-11-20' }])
})
