/** `bylaw doctor`, which lists rows that do not fit the declaration. */
import assert from 'node:assert/strict'
import { readdirSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { f } from 'bylaw'
import { folderContents } from '../../src/contents/folder.ts'
import { folder, notes, run } from '../help/command.ts'
import { asked, things } from '../help/file.ts'
import { fileNode } from '../help/file-node.ts'

const declared = (fields: string) => `import { f, service } from 'bylaw'

export default service({
  name: 'tests',
  resources: { things: { prefix: 'thg', fields: { ${fields} }, access: 'public' } },
})
`

const contentsIn = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

describe('bylaw doctor', () => {
  test('names the rows that do not fit a declaration, before it is applied', async () => {
    const cwd = folder({ 'api.ts': declared("state: f.enum(['open']), name: f.text({ max: 3 })") })
    const wide = things({ state: f.enum(['open', 'lost']), name: f.text() })
    const made = await asked(
      join(cwd, 'things.db'),
      wide,
      ['POST', '/things', { state: 'open', name: 'abc' }],
      ['POST', '/things', { state: 'lost', name: 'abcd' }],
      ['POST', '/things', { state: 'lost', name: 'abc' }],
    )
    const [, both, one] = made.map(({ json }) => json.id)
    const { code, stdout } = await run(['doctor', 'api.ts', '--database', 'sqlite:./things.db'], { cwd })
    assert.equal(code, 1)
    assert.match(stdout, /^sqlite:\.\/things\.db \(SQLite 3\.\d+\.\d+\): 3 rows examined\.\n/)
    assert.match(stdout, /things\.name: 1 row does not fit; name must be at most 3 characters long\. /)
    assert.match(
      stdout,
      new RegExp(`things\\.state: 2 rows do not fit; state must be .*\\((${both}, ${one}|${one}, ${both})\\)`),
    )
    assert.doesNotMatch(stdout, /abcd/)
  })

  test('does not call rows fitting that it cannot read, as their table has to be created again', async () => {
    const cwd = folder({ 'api.ts': declared('size: f.decimal({ scale: 1 })') })
    await asked(join(cwd, 'things.db'), things({ size: f.integer() }), ['POST', '/things', { size: 1 }])
    const { code, stdout } = await run(['doctor', 'api.ts', '--database', 'sqlite:./things.db'], { cwd })
    assert.equal(code, 1)
    assert.match(stdout, /: 0 rows examined\.\n {2}The step "create things again, as size was stored as integer/)
    assert.match(stdout, /Declare a new resource beside the old one/)
    assert.doesNotMatch(stdout, /all fit/)
  })

  test('says that all rows fit the declaration', async () => {
    const cwd = folder({ 'api.ts': notes })
    await run(['migrate', 'apply', 'api.ts', '--database', 'sqlite:./notes.db'], { cwd })
    const { code, stdout } = await run(['doctor', 'api.ts', '--database', 'sqlite:./notes.db'], { cwd })
    assert.equal(code, 0)
    assert.match(stdout, /^sqlite:\.\/notes\.db \(SQLite 3\.\d+\.\d+\): 0 rows examined, all fit api\.ts\.\n$/)
  })

  test('names the rows that an older version cannot show', async () => {
    const versioned = `import { f, service } from 'bylaw'

export default service({
  name: 'tests',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } },
  resources: { things: { prefix: 'thg', fields: { name: f.text() }, access: 'public' } },
}).change('v2', 'things', {
  about: 'Names came.',
  removed: { code: f.text({ max: 3 }) },
  added: ['name'],
  request: ({ code }) => ({ name: code }),
  response: ({ name }) => {
    if (name === 'odd') throw new Error('no code')
    return { code: name }
  },
})
`
    const cwd = folder({ 'api.ts': versioned })
    const [odd, long, fine] = await asked(
      join(cwd, 'things.db'),
      things({ name: f.text() }),
      ['POST', '/things', { name: 'odd' }],
      ['POST', '/things', { name: 'long' }],
      ['POST', '/things', { name: 'abc' }],
    )
    const { code, stdout } = await run(['doctor', 'api.ts', '--database', 'sqlite:./things.db'], { cwd })
    assert.equal(code, 1, stdout)
    assert.match(stdout, new RegExp(`things: ${odd?.json.id} in v1 cannot be converted: no code`))
    assert.match(stdout, new RegExp(`things: ${long?.json.id} in v1 does not fit: code must be at most 3`))
    assert.doesNotMatch(stdout, new RegExp(fine?.json.id))
  })

  test('names the files whose content is missing or cut', async () => {
    const cwd = folder({ 'api.ts': declared('scan: f.file(), copy: f.file(), photo: f.file()') })
    const place = join(cwd, 'files')
    const api = things({ scan: f.file(), copy: f.file(), photo: f.file() })
    const node = await fileNode(api, { url: `sqlite:${join(cwd, 'things.db')}` }, await folderContents(place))
    const { id } = (await (await node.send('POST', '/things', {})).json()) as { id: string }
    for (const file of ['scan', 'copy', 'photo']) {
      const before = contentsIn(place)
      await node.send('PUT', `/things/${id}/${file}`, Buffer.from('%PDF-1.4 long'))
      const [made = ''] = contentsIn(place).filter((one) => !before.includes(one))
      if (file === 'scan') rmSync(made)
      if (file === 'copy') truncateSync(made, 5)
    }
    await node.close()
    const given = ['doctor', 'api.ts', '--database', 'sqlite:./things.db', '--files', './files']
    const { code, stdout } = await run(given, { cwd })
    assert.equal(code, 1)
    assert.match(stdout, new RegExp(`things\\.scan: ${id} has no content`))
    assert.match(stdout, new RegExp(`things\\.copy: ${id} has 5 of 13 bytes of its content`))
    assert.doesNotMatch(stdout, /photo/)
  })
})
