/** A folder for files that is missing is made, and one that cannot be made is refused at once. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { folderContents } from './folder.ts'

test('several processes make the same folder at once', async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'bylaw-'))
  t.after(() => rmSync(base, { recursive: true }))
  const folder = join(base, 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 8 }, () => folderContents(folder)))
  assert.ok(existsSync(folder))
})

test('a folder in a file system that takes none', { timeout: 10_000 }, async () => {
  const place = existsSync('/proc/self') ? '/proc/none/files' : join(import.meta.filename, 'files')
  await assert.rejects(folderContents(place), /ENOENT|ENOTDIR/)
})

test('a file in the place of the folder is refused', async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'bylaw-'))
  t.after(() => rmSync(base, { recursive: true }))
  writeFileSync(join(base, 'files'), 'a note')
  await assert.rejects(folderContents(join(base, 'files')), /it is a file/)
})
