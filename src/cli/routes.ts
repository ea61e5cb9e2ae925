/** `bylaw routes` and `bylaw openapi`: the operations of a service, as a table or in OpenAPI. Part 4, endpoints; part 13. */

import { styleText } from 'node:util'
import type { Endpoint, Route } from '../flow/route.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { ruleFor } from '../resources/declaration.ts'
import { revisionSegment } from '../resources/own-operations.ts'
import { rowRuleOf, rowRuleText } from '../rules/row-rules.ts'
import type { Service } from '../service.ts'
import { type Command, type CommandInput, declarationArgument, formatTable } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { versionNumbersOf } from '../terminal/flags.ts'
import { loadService } from '../terminal/load.ts'

export const routesCommand: Command = {
  name: 'routes',
  about: 'Lists the operations at each path, and who may use them.',
  details: 'HEAD comes with every GET and OPTIONS with every path; they are not listed.',
  arguments: [declarationArgument],
  flags: {
    json: { about: 'Prints a list of {"method", "path", "operation", "access"}.' },
    diagram: { about: 'Prints the states of each resource as a Mermaid diagram.' },
  },
  examples: ['bylaw routes api.ts', 'bylaw routes api.ts --json', 'bylaw routes api.ts --diagram'],
  run,
}

async function run(input: CommandInput): Promise<number> {
  const [file = ''] = input.arguments
  const service = await loadService(file)
  if (input.isOn('diagram')) return printDiagrams(service)
  const operations = operationsOf(service)
  if (input.isOn('json')) console.log(JSON.stringify(operations, null, 2))
  else {
    const [head = '', ...lines] = formatTable([
      ['method', 'path', 'operation', 'access'],
      ...operations.map((one) => Object.values(one)),
    ]).split('\n')
    console.log([styleText('bold', head), ...lines].join('\n'))
  }
  return 0
}

async function printDiagrams({ resources }: Service): Promise<number> {
  const { stateDiagram } = await import('../describe/state-diagram.ts')
  const drawn = [...resources].flatMap(([name, one]) => {
    const diagram = stateDiagram(one)
    return diagram === null ? [] : [`%% ${name}\n${diagram}`]
  })
  console.log(drawn.length > 0 ? drawn.join('\n\n') : 'No resource declares states.')
  return 0
}

export interface RouteLine {
  readonly method: string
  readonly path: string
  readonly operation: string
  readonly access: string
}

/** Sorted by path, so a collection comes before its items. */
export const sortByTemplate = (places: readonly Endpoint[]): Endpoint[] =>
  places.toSorted((a, b) => (a.template < b.template ? -1 : 1))

export function operationsOf({ places, settings: { server } }: Service): RouteLine[] {
  return sortByTemplate(places).flatMap(({ template, methods }) =>
    [...methods]
      .filter(([method]) => method !== 'HEAD')
      .map(([method, route]) => ({
        ...{ method, path: server.basePath + template, operation: route.operation, access: accessOf(route) },
      })),
  )
}

/** Who may use an operation. Revisions need their own rule and that of reading the item. */
function accessOf({ at, rule, rowRule, resource }: Route): string {
  const own = rowRule ? rowRuleText(rowRule) : rule
  if (at.split('/', 2)[1] !== revisionSegment) return own
  const reading = rowRuleOf(resource, 'read')
  const both = new Set([own, reading ? rowRuleText(reading) : (ruleFor(resource.access, 'read') ?? own)])
  for (const one of ['public', 'authenticated']) if (both.size > 1) both.delete(one)
  return both.size > 1 && reading ? `${own} and (${rowRuleText(reading)})` : [...both].join(' and ')
}

export const openapiCommand: Command = {
  name: 'openapi',
  about: 'Prints the OpenAPI document of a version.',
  details: 'It is what the service answers at /openapi.json and, for each version, at /openapi/v1.json and so on.',
  arguments: [declarationArgument],
  flags: {
    version: { value: 'V', about: 'The version, as v1; the newest one unless given.' },
    openapi: { value: 'N', about: 'The version of OpenAPI, 3.1 or 3.2; that of the settings unless given.' },
  },
  examples: ['bylaw openapi api.ts', 'bylaw openapi api.ts --version v1 --openapi 3.2 > v1.json'],
  run: printOpenapi,
}

async function printOpenapi(input: CommandInput): Promise<number> {
  const [file = ''] = input.arguments
  const service = await loadService(file)
  const label = versionLabelOf(input, service)
  const openapiVersion = openapiVersionOf(input)
  const version = (await versionNumbersOf(file, service)).get(label)
  const [{ openapiDocument: described }, { standardCorridor }] = await Promise.all([
    import('../describe/openapi.ts'),
    import('../corridor/handle.ts'),
  ])
  const document = described(service, label, standardCorridor, {
    ...openapiVersion,
    ...(version === undefined ? {} : { version }),
  })
  console.log(JSON.stringify(document, null, 2))
  return 0
}

function versionLabelOf(input: CommandInput, { choice: { served } }: Service): string {
  const { text, from } = input.flagValue('version') ?? { text: served.at(-1) as string, from: '' }
  if (served.includes(text)) return text
  const guess = nearestName(text, served)
  throw commandError(`${from} has to be ${listInWords(served)}, not "${text}".`, guess ? `Did you mean ${guess}?` : '')
}

function openapiVersionOf(input: CommandInput): { openapi?: '3.1' | '3.2' } {
  const { text, from } = input.flagValue('openapi') ?? {}
  if (text === undefined) return {}
  if (text === '3.1' || text === '3.2') return { openapi: text }
  throw commandError(`${from} has to be 3.1 or 3.2, not "${text}".`, '')
}
