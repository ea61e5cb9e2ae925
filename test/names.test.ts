/** One word has one meaning: exported names, file names, and the words that were given up. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Source, sources } from './help/source.ts'
import { exportedTwice, exportsOfFiles, fileNames, words } from './help/words.ts'

const files = sources(new URL('../', import.meta.url))
const made = (texts: Record<string, string>): Source[] => Object.entries(texts).map(([path, text]) => ({ path, text }))
const passes = (complaints: readonly string[]): void => assert.deepEqual(complaints, [])

describe('names', () => {
  test('an exported name is defined in one file', () => passes(exportedTwice(files)))
  test('a file name has one meaning', () => passes(fileNames(files)))
  test('a file exports a name that shares a word with its own', () => passes(exportsOfFiles(files)))
  test('no name has a retired word', () => passes(words(files)))
})

describe('the checks of names', () => {
  test('an exported name in two files is reported with both', () => {
    const two = { 'src/lists/sort.ts': 'export const order = 1', 'src/auth/allow.ts': '\nexport type order = string' }
    assert.match(
      exportedTwice(made(two)).join(),
      /src\/auth\/allow\.ts:2 exports order, which src\/lists\/sort\.ts defines too/,
    )
    passes(exportedTwice(made({ 'src/lists/sort.ts': 'const order = 1', 'src/auth/allow.ts': 'const order = 2' })))
  })
  test('a file name in two rooms is reported unless it means the same', () => {
    assert.match(
      fileNames(made({ 'src/lists/sort.ts': '', 'src/auth/sort.ts': '' })).join(),
      /sort\.ts stands in the rooms lists, auth/,
    )
    passes(fileNames(made({ 'src/sqlite/clock.ts': '', 'src/postgres/clock.ts': '' })))
    assert.match(fileNames(made({ 'src/sqlite/clock.ts': '', 'src/lists/clock.ts': '' })).join(), /clock\.ts/)
  })
  test('a file whose exports share no word with its name is reported', () => {
    const [complaint = ''] = exportsOfFiles(
      made({ 'src/lists/sort.ts': 'export const a = 1\nexport type PageSize = 2' }),
    )
    assert.match(complaint, /src\/lists\/sort\.ts exports a, PageSize/)
    passes(
      exportsOfFiles(
        made({ 'src/lists/list-query.ts': 'export const readQueries = 1', 'src/lists/b.ts': 'const c = 1' }),
      ),
    )
    passes(exportsOfFiles(made({ 'src/endpoints/state-refusal.ts': 'export const refuse = 1' })))
  })
  test('a retired word is reported with its line and the word to use', () => {
    const [complaint = ''] = words(
      made({ 'src/lists/sort.ts': '\nfunction tellBesideRow() {}\nfunction besideRow() {}' }),
    )
    assert.match(complaint, /src\/lists\/sort\.ts:2 names tellBesideRow with "Beside".*joined/)
    assert.match(words(made({ 'src/store/shelf.ts': '' })).join(), /PreparedCollection/)
    passes(words(made({ 'src/lists/sort.ts': '// told\nconst inside = "beside"' })))
  })
})
