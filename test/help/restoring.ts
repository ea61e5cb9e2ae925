/** Backs up the databases of tests on both stores, and restores them as an operator does. */
import { copyFileSync } from 'node:fs'
import type { Service } from 'bylaw'
import { fileOf } from '../../src/sqlite/open.ts'
import { openMigration } from '../../src/terminal/open.ts'
import type { Place } from './places.ts'

/** Stores the content of a database that no node uses; the returned function restores it. */
export async function backUp({ url, rows }: Place): Promise<() => Promise<void>> {
  if (url.startsWith('sqlite:')) {
    const file = fileOf(url)
    copyFileSync(file, `${file}.backup`)
    return async () => copyFileSync(`${file}.backup`, file)
  }
  const tables =
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE 'kept\\_%'"
  const names = (await rows(tables)).map(({ name }) => String(name))
  for (const name of names) await rows(`CREATE TABLE "kept_${name}" AS TABLE "${name}"`)
  return async () => {
    await rows(`TRUNCATE ${names.map((name) => `"${name}"`).join(', ')}`)
    for (const name of names) await rows(`INSERT INTO "${name}" SELECT * FROM "kept_${name}"`)
  }
}

/** Records a restore, as `bylaw restored` does. */
export async function recordRestore({ url }: Pick<Place, 'url'>, api: Service): Promise<void> {
  const migration = await openMigration(api, url)
  try {
    await migration.recordRestore()
  } finally {
    migration.close()
  }
}
