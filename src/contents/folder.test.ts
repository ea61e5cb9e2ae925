/** A folder for files that is missing is made, and one that cannot be made is refused at once. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { powerless } from '../../test/help/file.ts'
import { realWorld } from '../flow/real-world.ts'
import { folderContents } from './folder.ts'
import { openContents } from './open-contents.ts'

test('several processes make the same folder at once', async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'bylaw-'))
  t.after(() => rmSync(base, { recursive: true }))
  const folder = join(base, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 8 }, () => folderContents(folder)))
  assert.ok(existsSync(folder))
})

test('a folder in a file system without folders', { timeout: 10_000 }, async () => {
  const place = existsSync('/proc/self') ? '/proc/none/files' : join(import.meta.filename, 'files')
  await assert.rejects(folderContents(place), /ENOENT|ENOTDIR/)
})

test('a file in the place of the folder is refused', async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'bylaw-'))
  t.after(() => rmSync(base, { recursive: true }))
  writeFileSync(join(base, 'files'), 'a note')
  await assert.rejects(openContents(join(base, 'files'), realWorld), /ENOTDIR/)
})

test('a folder that may not be written is refused, unless it is only read', async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'bylaw-'))
  t.after(() => rmSync(base, { recursive: true }))
  chmodSync(base, 0o555)
  await assert.rejects(
    powerless(() => openContents(base, realWorld)),
    /EACCES/,
  )
  await powerless(() => openContents(base, realWorld, false))
})
