/** Runs statements like `psql -XAtq -c`, as the npm package of PostgreSQL does not contain psql. */
import pg from 'pg'

const [, , url = '', statement = ''] = process.argv
const client = new pg.Client({ connectionString: url })
await client.connect()
const found = await client.query({ text: statement, rowMode: 'array', types: { getTypeParser: () => String } })
const rows = [found].flat().flatMap(({ rows }) => rows as unknown[][])
for (const row of rows) console.log(row.map((value) => value ?? '').join('|'))
await client.end()
