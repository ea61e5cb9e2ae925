/** Filter promise: filters find an item by the values that it shows. Part 4, filtering. */

import { filterParameter } from '../lists/list-rules.ts'
import { isSameJson } from '../rows/collection.ts'
import { pickOne } from './chance.ts'
import type { PromiseFault } from './fault.ts'
import { type ItemTrial, labelOf, misfitFault, refusalFault } from './item-trial.ts'
import { isScalar, type JsonBody, operationPath, type ResourceInVersion, type TrialAnswer } from './version-service.ts'

/** Checks that a list finds an item by one of its own values. */
export async function checkFilter(at: string, { reader, chance, send }: ItemTrial): Promise<PromiseFault | null> {
  const { resource } = reader
  const { body: item } = await send(reader, { method: 'GET', path: at })
  if (!item) return null
  const path = operationPath(reader, 'list', item)
  const filtered = resource.members.filter(
    ({ name, field }) => field.options.filter && isScalar(item[name]) && name !== 'id',
  )
  if (path === undefined || filtered.length === 0) return null
  const { name, field } = pickOne(chance, filtered)
  const filter = `${encodeURIComponent(filterParameter(name))}=${encodeURIComponent(String(item[name]))}`
  const sorts = resource.members.filter((one) => one.field.options.sort)
  const sort = sorts.length > 0 && chance.below(2) === 1 ? `&sort=${pickOne(chance, sorts).name}` : ''
  const ask = (query: string) => send(reader, { method: 'GET', path: `${path}?${filter}${query}` })
  const list = await ask(`&id=${encodeURIComponent(String(item.id))}${sort}`)
  if (list.status !== 200)
    return { ...refusalFault(reader, list, 'refuses a filter that it declares'), field: name, by: 'filters' }
  const fault = (says: string): PromiseFault => ({ says, label: labelOf(reader), field: name, by: 'filters' })
  const [first] = itemsIn(list)
  if (!first || first.id !== item.id)
    return fault(`${labelOf(reader)} does not find an item of ${resource.name} by its \`${name}\`.`)
  const items = itemsIn(await ask(sort))
  for (const other of items) {
    const odd = misfitFault(reader, other)
    if (odd) return odd
  }
  const stray = field.options.fold ? undefined : items.find((other) => !isSameJson(other[name], item[name]))
  if (stray)
    return fault(
      `${labelOf(reader)} finds items of ${resource.name} by a \`${name}\` of ${JSON.stringify(item[name])} that have ${JSON.stringify(stray[name])}.`,
    )
  return misfitFault(reader, first) ?? (isSameJson(first, item) ? null : listFault(reader, item, first))
}

const itemsIn = ({ body }: TrialAnswer): readonly JsonBody[] =>
  Array.isArray(body?.data) ? (body.data as JsonBody[]) : []

/** The fault of an item that a list shows differently than a read does. */
function listFault(
  { version: { label }, resource }: ResourceInVersion,
  item: JsonBody,
  listed: JsonBody,
): PromiseFault {
  const field = Object.keys(item).find((name) => !isSameJson(item[name], listed[name])) ?? ''
  return {
    says: `${label}: \`${field}\` of ${resource.name} has another value in a list.`,
    label,
    field,
    by: 'response',
  }
}
