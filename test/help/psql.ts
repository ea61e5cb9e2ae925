/** Runs statements as `psql -XAtq -c` does, which is not among the programs that the npm registry brings. */
import pg from 'pg'

const [, , url = '', statement = ''] = process.argv
const client = new pg.Client({ connectionString: url })
await client.connect()
const found = await client.query({ text: statement, rowMode: 'array', types: { getTypeParser: () => String } })
const rows = [found].flat().flatMap(({ rows }) => rows as unknown[][])
for (const row of rows) console.log(row.map((value) => value ?? '').join('|'))
await client.end()
