/** A file with many rows, made fast: the same texts and cells as the service writes, in one transaction. */
import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { f, service } from 'bylaw'
import { idSource } from '../src/resources/id.ts'
import type { Resource } from '../src/resources/resource.ts'
import { rowOf } from '../src/resources/row.ts'
import { openStore } from '../src/sqlite/open.ts'
import { texts } from '../src/store/compile.ts'
import { sqlite } from '../src/store/dialect.ts'

export const books = service({
  name: 'library',
  resources: {
    books: {
      prefix: 'boo',
      fields: {
        title: f.text({ max: 200, filter: 'like', sort: true }),
        status: f.enum(['draft', 'listed', 'sold'], { filter: true }),
        price: f.decimal({ scale: 2, filter: 'range', sort: true }),
        shelf: f.text({ optional: true, sort: true }),
        blurb: f.text(),
      },
      indexes: [['status', 'price']],
      access: 'public',
    },
  },
})

export const collections = [...books.resources.values()].map(({ collection }) => collection)

/** A new file with so many books. */
export function fill(file: string, rows: number): void {
  for (const end of ['', '-wal', '-shm']) if (existsSync(file + end)) rmSync(file + end)
  void openStore(`sqlite:${file}`, collections, 'apply').close()
  const db = new DatabaseSync(file)
  const resource = books.resources.get('books') as Resource
  const insert = db.prepare(texts(resource.collection, sqlite).insert)
  let seed = 1
  const next = () => (seed = (seed * 48_271) % 2_147_483_647)
  let time = Date.parse('2026-01-01T00:00:00Z')
  const newId = idSource(
    () => time,
    (bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255
    },
  )
  db.exec('PRAGMA synchronous = OFF; BEGIN')
  for (let i = 0; i < rows; i++) {
    time += 10
    const at = new Date(time).toISOString()
    const document = {
      id: newId('boo'),
      title: `Title ${next() % 100_000} of ${i}`,
      status: ['draft', 'listed', 'sold'][i % 3],
      price: `${next() % 500}.${String(next() % 100).padStart(2, '0')}`,
      shelf: i % 10 === 0 ? null : `S${next() % 1000}`,
      blurb: 'A book that somebody wrote and somebody else will read one day. '.repeat(2),
      createdAt: at,
      updatedAt: at,
    }
    const { doc, hidden, cells } = rowOf(resource, document)
    insert.run(document.id, 1, 1, doc, hidden, ...cells)
  }
  db.exec('COMMIT')
  db.close()
}
