/** Reading writes and syncs from strace, and the content of a file after a loss of power. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { freshFile } from '../help/file.ts'
import { losePower, unsynced } from './power.ts'

const lines = (...all: readonly string[]): string => all.map((line) => `${line}\n`).join('')
const write = (from: number, file = 'a-wal', length = 10) =>
  `7  pwrite64(5</d/${file}>, ""..., ${length}, ${from}) = ${length}`
const sync = (file = 'a-wal') => `7  fsync(5</d/${file}>) = 0`
const left = (...all: readonly string[]) =>
  Object.fromEntries([...unsynced(lines(...all))].map(([file, ranges]) => [file, ranges.map(({ from }) => from)]))

describe('data that is not on the disk', () => {
  test('are writes after the last sync of the file', () => {
    assert.deepEqual(left(write(0), write(10)), { '/d/a-wal': [0, 10] })
    assert.deepEqual(left(write(0), write(10), sync(), write(20)), { '/d/a-wal': [20] })
    assert.deepEqual(left(write(0), sync('a'), write(10, 'a')), { '/d/a-wal': [0], '/d/a': [10] })
    assert.deepEqual(left(write(0), '7  fdatasync(5</d/a-wal>) = 0'), { '/d/a-wal': [] })
  })

  test('is still lost if the sync failed or never returned', () => {
    assert.deepEqual(left(write(0), '7  fsync(5</d/a-wal>) = -1 EIO (Input/output error)'), { '/d/a-wal': [0] })
    assert.deepEqual(left(write(0), '7  fsync(5</d/a-wal> <unfinished ...>', '7  +++ killed by SIGKILL +++'), {
      '/d/a-wal': [0],
    })
  })

  test('are writes during the sync', () => {
    const begun = '7  fsync(5</d/a-wal> <unfinished ...>'
    const done = '7  <... fsync resumed>) = 0'
    assert.deepEqual(left(write(0), begun, write(10), done), { '/d/a-wal': [10] })
    assert.deepEqual(left(write(0), begun, '8  <... fsync resumed>) = 0'), { '/d/a-wal': [0] })
    assert.deepEqual(left(write(0), begun, done, write(20), done), { '/d/a-wal': [20] })
  })

  test('is a write whose end was not seen', () => {
    assert.deepEqual(left('7  pwrite64(5</d/a-wal>, ""..., 24, 4152 <unfinished ...>'), { '/d/a-wal': [4152] })
  })
})

test('synced data is kept byte by byte, other data is spoiled sooner or later', (t) => {
  const file = freshFile(t)
  const content = Buffer.alloc(100, 'x')
  writeFileSync(file, content)
  writeFileSync(`${file}-wal`, content)
  const at = (from: number, end = '') => `7  pwrite64(5<${file}${end}>, ""..., 10, ${from}) = 10`
  const trace = `${file}.trace`
  writeFileSync(
    trace,
    lines(at(0), at(0, '-wal'), `7  fsync(5<${file}-wal>) = 0`, `7  fsync(5<${file}>) = 0`, at(40, '-wal'), at(60)),
  )
  let spoiled = 0
  for (let seed = 0; seed < 12; seed++) {
    let step = seed
    assert.equal(
      losePower(file, `${file}.copy`, trace, (below) => step++ % below),
      2,
    )
    const [db, wal] = [readFileSync(`${file}.copy`), readFileSync(`${file}.copy-wal`)]
    assert.deepEqual(
      [db.length, db.subarray(0, 60), db.subarray(70)],
      [100, content.subarray(0, 60), content.subarray(70)],
    )
    assert.deepEqual(wal.subarray(0, 40), content.subarray(0, 40))
    if (wal.length === 100) assert.deepEqual(wal.subarray(50), content.subarray(50))
    else assert.equal(wal.length, 40)
    if (!wal.equals(content)) spoiled++
  }
  assert.ok(spoiled > 0)
})
