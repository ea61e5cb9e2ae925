/** `bylaw migrate`: shows and carries out what the database lacks of the declaration. The cellar. */
import { nearest } from '../resources/naming.ts'
import type { Migration } from '../store/migration.ts'
import { type Command, declarationFile, type Given } from '../terminal/command.ts'
import { complaint } from '../terminal/complaint.ts'
import { load } from '../terminal/load.ts'
import { databaseFlag, databaseOf } from '../terminal/place.ts'
import { migrationOf } from '../terminal/start.ts'

export const migrate: Command = {
  name: 'migrate',
  about: 'Shows, carries out or looks for what a database lacks of a declaration.',
  details:
    'plan prints the statements. apply carries them out, all or none. status names the steps and exits with 1 if there is one.',
  arguments: [{ name: 'plan|apply|status', about: 'a word for what to do: plan, apply or status' }, declarationFile],
  flags: { database: databaseFlag },
  examples: [
    'bylaw migrate plan api.ts --database sqlite:./data/orders.db',
    'bylaw migrate apply api.ts --database sqlite:./data/orders.db',
    'bylaw migrate status api.ts --database sqlite:./data/orders.db',
  ],
  run,
}

const deeds: Readonly<Record<string, (migration: Migration, database: string) => number | Promise<number>>> = {
  plan,
  apply,
  status,
}

async function run(given: Given): Promise<number> {
  const [word = '', file = ''] = given.arguments
  const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
  if (!deed) {
    const guess = nearest(word, Object.keys(deeds))
    throw complaint(
      `bylaw migrate cannot "${word}".`,
      guess ? `Did you mean \`bylaw migrate ${guess}\`?` : 'It can plan, apply and status.',
    )
  }
  const service = await load(file)
  const database = databaseOf(given, service)
  const migration = await migrationOf(service, database)
  try {
    return await deed(migration, database)
  } finally {
    migration.close()
  }
}

function plan({ steps }: Migration, database: string): number {
  if (steps.length === 0) return said(`${database} is as declared; there is nothing to do.`)
  const texts = steps.map(({ about, sql }) => [`-- ${about}`, ...sql.map((text) => `${text};`)].join('\n'))
  return said(texts.join('\n\n'))
}

async function apply({ steps, apply: carryOut }: Migration, database: string): Promise<number> {
  await carryOut()
  if (steps.length === 0) return said(`${database} is as declared; nothing was done.`)
  return said([...steps.map(({ about }) => `done: ${about}`), `${database} is as declared.`].join('\n'))
}

function status({ steps }: Migration, database: string): number {
  if (steps.length === 0) return said(`${database} is as declared.`)
  said([`${database} is not as declared. Missing:`, ...steps.map(({ about }) => `  - ${about}`)].join('\n'))
  return 1
}

function said(text: string): number {
  console.log(text)
  return 0
}
