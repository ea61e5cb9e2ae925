/** The operations of an OpenAPI document, with everything that is needed to make requests. Part 13. */
import type { Document } from './described.ts'
import type { Doc, Schema } from './schemas.ts'

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
}

export interface Operation {
  readonly path: string
  readonly method: string
  readonly id: string
  readonly parameters: readonly Parameter[]
  readonly content: Readonly<Record<string, { schema: Schema }>>
  readonly bodyRequired: boolean
  readonly creates: boolean
  /** Whether its path names the item that was created last, and not any of them. */
  readonly newest?: boolean
}

/** Creations come first, removals last. */
const order = ['post', 'get', 'head', 'patch', 'put', 'delete']

export function operationsOf(described: Doc, { schemas }: Document): Operation[] {
  const paths = Object.entries(described.paths as Record<string, Schema>)
  const all = paths.flatMap(([path, item]) =>
    order.flatMap((method): Operation[] => {
      const operation = item[method] as Schema | undefined
      if (!operation) return []
      const listed = [...((item.parameters ?? []) as unknown[]), ...((operation.parameters ?? []) as unknown[])]
      const body = operation.requestBody ? schemas.at(operation.requestBody) : {}
      return [
        {
          ...{ path, method, id: String(operation.operationId ?? `${method} ${path}`) },
          parameters: listed.map((one) => schemas.at(one) as unknown as Parameter),
          content: (body.content ?? {}) as Operation['content'],
          bodyRequired: body.required === true,
          creates: method === 'post' && '201' in (operation.responses as object),
        },
      ]
    }),
  )
  return all.sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method))
}
