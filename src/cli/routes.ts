/** `bylaw routes` and `bylaw openapi`: what a service offers, as a table and as a description. Part 4, endpoints; part 13. */
import { styleText } from 'node:util'
import type { Place } from '../flow/route.ts'
import { nearest, oneOf } from '../resources/naming.ts'
import type { Service } from '../service.ts'
import { type Command, declarationFile, type Given, table } from '../terminal/command.ts'
import { complaint } from '../terminal/complaint.ts'
import { load } from '../terminal/load.ts'
import { numbersOf } from '../terminal/place.ts'

export const routes: Command = {
  name: 'routes',
  about: 'Lists what can be done at which path, and who may.',
  details: 'HEAD comes with every GET and OPTIONS with every path; they are not listed.',
  arguments: [declarationFile],
  flags: { json: { about: 'Prints a list of {"method", "path", "operation", "access"}.' } },
  examples: ['bylaw routes api.ts', 'bylaw routes api.ts --json'],
  run,
}

async function run(given: Given): Promise<number> {
  const [file = ''] = given.arguments
  const found = operationsOf(await load(file))
  if (given.on('json')) console.log(JSON.stringify(found, null, 2))
  else {
    const [head = '', ...lines] = table([
      ['method', 'path', 'operation', 'access'],
      ...found.map((one) => Object.values(one)),
    ]).split('\n')
    console.log([styleText('bold', head), ...lines].join('\n'))
  }
  return 0
}

export interface Offer {
  readonly method: string
  readonly path: string
  readonly operation: string
  readonly access: string
}

/** A collection before its items. */
export const inOrder = (places: readonly Place[]): Place[] =>
  places.toSorted((a, b) => (a.template < b.template ? -1 : 1))

export function operationsOf({ places }: Service): Offer[] {
  return inOrder(places).flatMap(({ template, methods }) =>
    [...methods]
      .filter(([method]) => method !== 'HEAD')
      .map(([method, { operation, rule }]) => ({ method, path: template, operation, access: rule })),
  )
}

export const openapi: Command = {
  name: 'openapi',
  about: 'Prints the OpenAPI document of a version.',
  details: 'It is what the service answers at /openapi.json and, for each version, at /openapi/v1.json and so on.',
  arguments: [declarationFile],
  flags: {
    version: { value: 'V', about: 'The version, as v1; the newest one unless given.' },
    openapi: { value: 'N', about: 'The version of OpenAPI, 3.1 or 3.2; that of the settings unless given.' },
  },
  examples: ['bylaw openapi api.ts', 'bylaw openapi api.ts --version v1 --openapi 3.2 > v1.json'],
  run: describe,
}

async function describe(given: Given): Promise<number> {
  const [file = ''] = given.arguments
  const service = await load(file)
  const label = labelOf(given, service)
  const told = toldIn(given)
  const version = (await numbersOf(file, service)).get(label)
  const { openapi: described } = await import('../describe/openapi.ts')
  const document = described(service, label, { ...told, ...(version === undefined ? {} : { version }) })
  console.log(JSON.stringify(document, null, 2))
  return 0
}

function labelOf(given: Given, { choice: { served } }: Service): string {
  const { text, from } = given.worth('version') ?? { text: served.at(-1) as string, from: '' }
  if (served.includes(text)) return text
  const guess = nearest(text, served)
  throw complaint(`${from} has to be ${oneOf(served)}, not "${text}".`, guess ? `Did you mean ${guess}?` : '')
}

function toldIn(given: Given): { openapi?: '3.1' | '3.2' } {
  const { text, from } = given.worth('openapi') ?? {}
  if (text === undefined) return {}
  if (text === '3.1' || text === '3.2') return { openapi: text }
  throw complaint(`${from} has to be 3.1 or 3.2, not "${text}".`, '')
}
