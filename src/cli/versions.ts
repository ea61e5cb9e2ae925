/** `bylaw versions`: lists the versions of a service, and the callers of each of them. Part 9, versions. */
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument, formatTable } from '../terminal/command.ts'
import { databaseFlag, databaseOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'
import { deprecatedOperations } from '../terminal/retirement.ts'
import { openStoreUnchanged } from '../terminal/start.ts'
import { readVersionUses, type VersionUse } from '../versions/usage.ts'
import { isReleased } from '../versions/version-choice.ts'

export const versionsCommand: Command = {
  name: 'versions',
  about: 'Lists the versions, and who uses each of them.',
  details:
    'For each caller it shows the number of requests and the time of the last one. Servers store these every few seconds.',
  arguments: [declarationArgument],
  flags: { database: databaseFlag, json: { about: 'Prints JSON.' } },
  examples: ['bylaw versions api.ts', 'bylaw versions api.ts --json'],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [file = ''] = input.arguments
  const service = await loadService(file)
  const store = await openStoreUnchanged(service, databaseOf(input, service))
  try {
    const reports = versionReports(service, await readVersionUses(store), store.clock.due())
    console.log(input.isOn('json') ? JSON.stringify(reports, null, 2) : reportTable(reports))
    return 0
  } finally {
    await store.close()
  }
}

interface VersionReport {
  readonly version: string
  readonly state: string
  readonly released: string | null
  readonly deprecated: string | null
  readonly sunset: string | null
  /** Its deprecated operations. */
  readonly operations: readonly {
    readonly resource: string
    readonly operation: string
    readonly state: string
    readonly deprecated: string
    readonly sunset: string | null
  }[]
  readonly requests: number
  readonly callers: readonly { readonly caller: string; readonly requests: number; readonly last: string }[]
}

/** R202. */
function versionReports(
  { declaration, choice, editions }: Service,
  uses: readonly VersionUse[],
  now: number,
): VersionReport[] {
  const { versions = {} } = declaration
  const labels = [...new Set([...choice.served, ...Object.keys(versions), ...uses.map(({ version }) => version)])]
  return labels
    .sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)))
    .map((version) => {
      const { released = null, deprecated = null, sunset = null } = versions[version] ?? {}
      const own = uses.filter((one) => one.version === version)
      const ended = !choice.served.includes(version) || (choice.ended.get(version) ?? now + 1) <= now
      const stateOf = (from: string | null) => (from !== null && Date.parse(from) <= now ? 'deprecated' : 'served')
      const state = ended ? 'retired' : isReleased(choice, version, now) ? stateOf(deprecated) : 'unreleased'
      const operations = (ended ? [] : deprecatedOperations(editions.get(version))).map((one) => ({
        resource: one.resource,
        operation: one.operation,
        state: stateOf(one.deprecated),
        deprecated: one.deprecated,
        sunset: one.sunset ?? null,
      }))
      return {
        version,
        state,
        released,
        deprecated,
        sunset,
        operations,
        requests: own.reduce((sum, { requests }) => sum + requests, 0),
        callers: own.map(({ caller, requests, last }) => ({ caller, requests, last: new Date(last).toISOString() })),
      }
    })
}

function reportTable(all: readonly VersionReport[]): string {
  const rows = all.flatMap(({ version, state, deprecated, sunset, operations, requests, callers }) => [
    [version, state, deprecated ?? '', sunset ?? '', String(requests), callers[0]?.last ?? ''],
    ...operations.map((one) => [
      `  ${one.operation} ${one.resource}`,
      one.state,
      one.deprecated,
      one.sunset ?? '',
      '',
      '',
    ]),
    ...callers.map((one) => [
      `  ${one.caller === '' ? '(anonymous)' : one.caller}`,
      '',
      '',
      '',
      String(one.requests),
      one.last,
    ]),
  ])
  return formatTable([['VERSION', 'STATE', 'DEPRECATED', 'SUNSET', 'REQUESTS', 'LAST USE'], ...rows])
}
