/** Runs a migration in a separate process, which can be killed. */
import { openPostgresMigration } from '../../src/postgres/open.ts'
import { after } from './stock.ts'

const [url = '', term = '0'] = process.argv.slice(2)
const migration = await openPostgresMigration(
  url,
  { collections: after },
  { term: Number(term), beat: Number(term) / 4 },
)
const { done } = await migration.apply()
migration.close()
process.stdout.write(`${done.length}\n`)
