/** `bylaw routes`: lists what can be done at which path, and who may. Part 4, endpoints. */
import { styleText } from 'node:util'
import type { Place } from '../flow/route.ts'
import type { Service } from '../service.ts'
import { type Command, declarationFile, type Given, table } from '../terminal/command.ts'
import { load } from '../terminal/load.ts'

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
