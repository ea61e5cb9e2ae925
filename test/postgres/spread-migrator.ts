/** Finishes a change of a database sharded like Citus in a separate process, which can be killed. */
import { watched } from '../help/spread.ts'
import { migrated } from './spread-nodes.ts'
import { filtered } from './spread-rows.ts'

const [url = ''] = process.argv.slice(2)
watched(url)
process.stdout.write(`${(await migrated(url, filtered)).length}\n`)
