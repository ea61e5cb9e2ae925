/** `bylaw doctor`: reads all rows of a database and lists those that violate the declaration. The store. */

import { convertibleChecker } from '../changes/convertible.ts'
import type { Misfits } from '../fields/bounds.ts'
import { isFileMember } from '../fields/file-kind.ts'
import type { ContentStore } from '../flow/world.ts'
import { withoutPassword } from '../postgres/connection-url.ts'
import { type DeclaredRow, rowLabel } from '../schema/declared-rows.ts'
import { applyMend, type CrossFault, noTablesText } from '../schema/migration.ts'
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { databaseFlag, databaseOf, filesFlag } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { asCommandError, openContentsFor, openMigrationFor } from '../terminal/start.ts'

export const doctorCommand: Command = {
  name: 'doctor',
  about: 'Lists the stored rows that do not fit a declaration; exits with 1 if there are any.',
  details:
    'Reads every row, however long that takes, and changes none; compares index columns, totals, idempotency keys and contents of files with the rows too. It may run while nodes serve, and before a declaration is applied.',
  arguments: [declarationArgument],
  flags: { database: databaseFlag, files: filesFlag },
  examples: ['bylaw doctor api.ts --database sqlite:./data/orders.db'],
  run,
}

/** A check of all rows: it sees each row once, then returns one line per finding. */
export interface Examination {
  readonly see: (row: DeclaredRow) => void
  readonly findings: () => readonly string[]
}

/** The checks of conversions; the store checks values itself. */
const examinations: readonly ((service: Service) => Examination)[] = [conversionExamination, versionExamination]

/** Rows that the changes between versions cannot convert. */
function conversionExamination(): Examination {
  const lines: string[] = []
  let rows = 0
  return {
    see: (row) => {
      if (row.failure === null || ++rows > maxNamed) return
      lines.push(`  ${row.collection.name}: ${rowLabel(row)} cannot be converted: ${row.failure.message}`)
    },
    findings: () => (rows > maxNamed ? [...lines, `  and ${rows - maxNamed} more`] : lines),
  }
}

/** Rows that a served version cannot show, or shows differently than its document describes. */
function versionExamination(service: Service): Examination {
  const lines: string[] = []
  let rows = 0
  const show = convertibleChecker(service)
  return {
    see: (row) => {
      if (row.failure !== null) return
      for (const { version, says } of show(row.collection.name, row.document))
        if (++rows <= maxNamed) lines.push(`  ${row.collection.name}: ${rowLabel(row)} in ${version} ${says}`)
    },
    findings: () => (rows > maxNamed ? [...lines, `  and ${rows - maxNamed} more`] : lines),
  }
}

const maxNamed = 100

/** Rows whose files have no content, or another one than they say. */
class FileExamination {
  readonly #files: { readonly place: string; readonly name: string; readonly length: number }[] = []

  readonly see = (row: DeclaredRow): void => {
    for (const [field, value] of Object.entries(row.document))
      if (isFileMember(value))
        this.#files.push({
          place: `  ${row.collection.name}.${field}: ${rowLabel(row)}`,
          name: value.href,
          length: value.length,
        })
  }

  async findings(contents: ContentStore): Promise<readonly string[]> {
    const lines: string[] = []
    let rows = 0
    // Several at a time, as a bucket takes long for each.
    for (let at = 0; at < this.#files.length; at += 32) {
      const some = this.#files.slice(at, at + 32)
      const lengths = await Promise.all(some.map(({ name }) => contents.length(name)))
      for (const [i, { place, length }] of some.entries()) {
        const stored = lengths[i] ?? null
        if (stored === length || ++rows > maxNamed) continue
        lines.push(`${place} has ${stored === null ? 'no content' : `${stored} of ${length} bytes of its content`}`)
      }
    }
    return rows > maxNamed ? [...lines, `  and ${rows - maxNamed} more without their content`] : lines
  }
}

async function run(input: CommandInput): Promise<number> {
  const [file = ''] = input.arguments
  const service = await loadService(file)
  const database = databaseOf(input, service)
  const migration = await openMigrationFor(service, database, 'require')
  try {
    if (migration.others)
      throw commandError(
        `${withoutPassword(database)} cannot be examined. ${noTablesText(migration.others, applyMend)}`,
        '',
      )
    const contents = await openContentsFor(service, database, input.flagValue('files')?.text, 'require')
    const all = examinations.map((make) => make(service))
    const files = new FileExamination()
    let rows = 0
    const misfits = await migration.inspect((row) => {
      rows++
      for (const { see } of all) see(row)
      if (contents) files.see(row)
    })
    const unreadable = await migration.unreadable()
    const faults = await migration.crossCheck()
    const findings = [
      ...unreadable.map(({ about }) => `  ${about}`),
      ...misfitLines(misfits),
      ...all.flatMap(({ findings }) => findings()),
      ...(faults ?? []).map(faultLine),
      ...(contents ? await asCommandError(() => files.findings(contents)) : []),
    ]
    const where = `${withoutPassword(database)} (${await migration.version()}): ${rows} ${rows === 1 ? 'row' : 'rows'} examined`
    const head = findings.length === 0 ? `${where}, all fit ${file}.` : `${where}.`
    console.log([head, ...findings, ...(faults === null ? [uncomparedText] : [])].join('\n'))
    return findings.length === 0 ? 0 : 1
  } finally {
    migration.close()
  }
}

const uncomparedText =
  'Indexed values, totals and idempotency keys were not compared with the rows, because the tables are not as declared: `bylaw migrate status` shows the difference.'

const faultLine = ({ collection, says, rows }: CrossFault): string => {
  const more = rows.length > maxNamed ? ` and ${rows.length - maxNamed} more` : ''
  return `  ${collection}: ${says} (${rows.slice(0, maxNamed).join(', ')}${more})`
}

/** One line per field, with the ids of rows to look at. */
function misfitLines(misfits: Misfits): string[] {
  return Object.entries(misfits).flatMap(([collection, fields]) =>
    Object.entries(fields).map(([field, { rows, ids, says }]) => {
      const rest = rows > ids.length ? ` and ${rows - ids.length} more` : ''
      return `  ${collection}.${field}: ${rows} ${rows === 1 ? 'row does' : 'rows do'} not fit; ${says} (${ids.join(', ')}${rest})`
    }),
  )
}
