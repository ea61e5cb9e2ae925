/** Order: whether a list that is sorted by a field is in the order of the values that it shows. Part 9, versioning. */

import type { Member, Resource } from '../resources/resource.ts'
import { columnOf } from '../rows/collection.ts'
import { type Chance, pickOne } from './chance.ts'
import type { PromiseFault } from './fault.ts'
import {
  type JsonBody,
  operationPath,
  type ResourceInVersion,
  type TrialAnswer,
  type TrialRequest,
} from './version-service.ts'

interface OrderTrial {
  readonly reader: ResourceInVersion
  readonly chance: Chance
  readonly send: (inVersion: ResourceInVersion, request: TrialRequest) => Promise<TrialAnswer>
}

/** Requests a list sorted by one of its fields, ascending or descending, and checks its order. */
export async function checkOrder(item: JsonBody, { reader, chance, send }: OrderTrial): Promise<PromiseFault | null> {
  const { resource, version } = reader
  const sorts = resource.members.filter(({ field, writeOnly }) => field.options.sort && !writeOnly)
  const path = operationPath(reader, 'list', item)
  if (path === undefined || sorts.length === 0) return null
  const member = pickOne(chance, sorts)
  const { name } = member
  const descending = chance.below(2) === 1
  const { status, body } = await send(reader, {
    method: 'GET',
    path: `${path}?sort=${encodeURIComponent(name)}${descending ? '&order=desc' : ''}`,
  })
  const fault = (says: string): PromiseFault => ({ says, label: version.label, field: name, by: 'sorts' })
  if (status !== 200) return fault(`${version.label} refuses a sort by \`${name}\` that it declares: ${status}`)
  const all = (Array.isArray(body?.data) ? (body.data as JsonBody[]) : []).map((one) => one[name])
  const values = all.filter((value) => value !== null && value !== undefined)
  const order = comparatorFor(member, resource.rules)
  const at = values.findIndex((value, i) => i > 0 && order(values[i - 1], value) * (descending ? -1 : 1) > 0)
  if (at < 0) return null
  const [first, second] = [values[at - 1], values[at]].map((value) => JSON.stringify(value))
  return fault(
    `${version.label}: a list of ${resource.name} that is sorted by \`${name}\`${descending ? ' in descending order' : ''} has ${first} ahead of ${second}.`,
  )
}

/** Compares two values as lists do: numbers by value, texts by their UTF-8 bytes. */
function comparatorFor({ name, field }: Member, { kinds }: Resource['rules']): (a: unknown, b: unknown) => number {
  const { cell } = columnOf(name, field, kinds)
  return (a, b) => {
    const [one, other] = [cell(a) ?? 0, cell(b) ?? 0]
    if (typeof one === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(String(other)))
    return Number(BigInt(one) > BigInt(other)) - Number(BigInt(one) < BigInt(other))
  }
}
