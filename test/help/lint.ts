/** Runs Redocly's linter with its recommended rules on OpenAPI documents. Part 13. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Report {
  readonly problems: readonly {
    readonly ruleId: string
    readonly message: string
    readonly location: readonly { readonly source: { readonly ref: string }; readonly pointer: string }[]
  }[]
}

/** Rules about parts of a document that a declaration does not have. */
const beyondDeclarations = new Set(['info-license'])
const bin = new URL('../../node_modules/@redocly/cli/bin/cli.js', import.meta.url).pathname

/** The problems that the linter finds in the documents, in one run. */
export async function linted(documents: Readonly<Record<string, object>>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-lint-'))
  try {
    const names = Object.keys(documents).map((name) => `${name}.json`)
    for (const [name, document] of Object.entries(documents))
      writeFileSync(join(folder, `${name}.json`), JSON.stringify(document, null, 1))
    const text = await run(folder, ['lint', '--extends=recommended', '--format=json', '--max-problems=200', ...names])
    const reports = text.trim().split(/(?<=^\})(?=\{)/m) // one for each document
    assert.equal(reports.length, names.length)
    return reports
      .flatMap((report) => (JSON.parse(report) as Report).problems)
      .filter(({ ruleId }) => !beyondDeclarations.has(ruleId))
      .map(({ ruleId, message, location: [at] }) => `${ruleId}: ${message} ${at?.source.ref} ${at?.pointer}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(cwd: string, given: readonly string[]): Promise<string> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }
  const how = { cwd, env, timeout: 60_000, maxBuffer: 1 << 26 }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [bin, ...given], how, (error, out, errors) =>
      out.includes('"problems"') ? resolve(out) : reject(new Error(`The linter said nothing: ${error} ${errors}`)),
    )
  })
}
