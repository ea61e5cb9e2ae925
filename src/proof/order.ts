/** Order: whether a list that is sorted by a field is in the order of the values that it shows. Part 9, versioning. */
import { folded } from '../resources/collection.ts'
import type { Field } from '../resources/field.ts'
import { scaled } from '../resources/texts.ts'
import type { Fault } from './blame.ts'
import { type Chance, one } from './chance.ts'
import { type Answer, type Body, pathOf, type Request, type Stand } from './trial.ts'

interface Reading {
  readonly reader: Stand
  readonly chance: Chance
  readonly tell: (stand: Stand, request: Request) => Promise<Answer>
}

/** Asks for a list in the order of one of its fields, or in the reverse of it. */
export async function inOrder(item: Body, { reader, chance, tell }: Reading): Promise<Fault | null> {
  const { resource, release } = reader
  const sorts = resource.members.filter(({ field, hidden }) => field.options.sort && !hidden)
  const path = resource.methods.includes('list') ? pathOf(reader, 'list', item) : undefined
  if (path === undefined || sorts.length === 0) return null
  const { name, field } = one(chance, sorts)
  const descending = chance.below(2) === 1
  const { status, body } = await tell(reader, {
    method: 'GET',
    path: `${path}?sort=${encodeURIComponent(name)}${descending ? '&order=desc' : ''}`,
  })
  const fault = (says: string): Fault => ({ says, label: release.label, field: name, by: 'sorts' })
  if (status !== 200) return fault(`${release.label} refuses a sort by \`${name}\` that it declares: ${status}`)
  const all = (Array.isArray(body?.data) ? (body.data as Body[]) : []).map((one) => one[name])
  const values = all.filter((value) => value !== null && value !== undefined)
  const order = comparing(field)
  const at = values.findIndex((value, i) => i > 0 && order(values[i - 1], value) * (descending ? -1 : 1) > 0)
  if (at < 0) return null
  const [first, second] = [values[at - 1], values[at]].map((value) => JSON.stringify(value))
  return fault(
    `${release.label}: a list of ${resource.name} that is sorted by \`${name}\`${descending ? ', the greatest first,' : ''} has ${first} ahead of ${second}.`,
  )
}

/** Compares two values as lists do: numbers by what they are, texts by their characters. */
function comparing({ kind, options }: Field): (a: unknown, b: unknown) => number {
  const numbers = (value: unknown): bigint | number =>
    kind === 'decimal'
      ? scaled(String(value), options.scale ?? 0)
      : kind === 'bigint'
        ? BigInt(String(value))
        : Number(value)
  if (['integer', 'boolean', 'bigint', 'decimal'].includes(kind))
    return (a, b) => (numbers(a) < numbers(b) ? -1 : numbers(a) > numbers(b) ? 1 : 0)
  const text = (value: unknown) => Buffer.from(options.fold ? folded(String(value)) : String(value))
  return (a, b) => Buffer.compare(text(a), text(b))
}
