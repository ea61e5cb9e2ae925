/** Promises: checks the promises of every version with one item. Part 9, versioning. */

import type { Member } from '../resources/resource.ts'
import { isSameJson } from '../rows/collection.ts'
import { pickOne } from './chance.ts'
import { derivedFieldsAt, derivedFieldsFrom } from './derived.ts'
import type { PromiseFault } from './fault.ts'
import { checkFilter } from './filter-promise.ts'
import { type ItemTrial, labelOf, misfitFault, refusalFault } from './item-trial.ts'
import { makeValue } from './make.ts'
import { checkOrder } from './order.ts'
import {
  identifiersIn,
  type JsonBody,
  operationPath,
  type ResourceInVersion,
  type TrialAnswer,
  type TrialRequest,
} from './version-service.ts'

/** The first promise that does not hold; null if all hold. */
export async function firstBrokenPromise(creation: TrialAnswer, life: ItemTrial): Promise<PromiseFault | null> {
  const { writer, reader, request, send } = life
  if (creation.status === 409 || isRefusedByRules(creation, writer)) return null // or a unique value is taken
  if (creation.status !== 201) return refusalFault(writer, creation, 'refuses what it declares')
  const item = creation.body as JsonBody
  const fault =
    misfitFault(writer, item) ??
    lossFault(writer, request.body as JsonBody, item, life) ??
    (await checkSettled(item, life))
  if (fault !== null) return fault
  const path = operationPath(reader, 'read', identifiersIn(item, writer, reader))
  if (path === undefined) return null
  const read = await send(reader, { method: 'GET', path })
  if (read.status !== 200 || !read.body)
    return refusalFault(reader, read, `does not read what ${labelOf(writer)} wrote`, 'response')
  return (
    misfitFault(reader, read.body) ??
    (await checkPutBack(read, path, life)) ??
    (await checkChange(read.body, path, life)) ??
    (await checkFilter(path, life)) ??
    (await checkOrder(read.body, life))
  )
}

/** A sent value that comes back different; for a derived field the difference is only noted in `lossy`. */
function lossFault(
  { version, resource }: ResourceInVersion,
  sent: JsonBody,
  answered: JsonBody,
  { name: newest, run }: Pick<ItemTrial, 'name' | 'run'>,
): PromiseFault | null {
  const { label } = version
  const derived = derivedFieldsAt(run.service.changes, newest, label)
  for (const { name, check, writeOnly } of resource.members) {
    if (writeOnly || !Object.hasOwn(sent, name)) continue
    const [was, is] = [JSON.stringify(check(sent[name], '', [])), JSON.stringify(answered[name])]
    if (was === is) continue
    if (!derived.has(name))
      return {
        says: `${label}: \`${name}\` of ${resource.name} does not come back as it was sent.`,
        label,
        field: name,
        by: 'response',
      }
    const place = `${label}: ${name} of ${resource.name}`
    const example = `${was} comes back as ${is}`
    if (example.length < (run.lossy.get(place)?.length ?? Number.POSITIVE_INFINITY)) run.lossy.set(place, example)
  }
  return null
}

/** Checks that derived values which come back different are stable: when they are sent again, they come back the same. */
async function checkSettled(
  item: JsonBody,
  { writer, request, send, another, name: newest, run }: ItemTrial,
): Promise<PromiseFault | null> {
  const { version, resource } = writer
  const derived = derivedFieldsAt(run.service.changes, newest, version.label)
  const own = resource.members.filter(
    ({ name, writeOnly }) => !writeOnly && derived.has(name) && Object.hasOwn(item, name),
  )
  const names = own.filter(({ from }) => from === 'caller').map(({ name }) => name)
  const turned = names.filter(
    (name) => Object.hasOwn(request.body ?? {}, name) && !isSameJson(request.body?.[name], item[name]),
  )
  const seen = [request.body as JsonBody, item]
  while (turned.length > 0 && seen.length < mostRounds) {
    const [next, last] = [another(), seen.at(-1) as JsonBody]
    if (!next) return null
    const body = { ...next.body, ...Object.fromEntries(names.map((name) => [name, last[name]])) }
    const again = await send(writer, { ...next, body })
    if (again.status === 409) return null // a unique value is taken
    if (again.status !== 201 || !again.body) return refusalFault(writer, again, 'refuses what it answered')
    if (turned.every((one) => isSameJson(last[one], again.body?.[one]))) return null
    seen.push(again.body)
  }
  const name = turned.find((one) => !isSameJson(seen.at(-1)?.[one], seen.at(-2)?.[one]))
  if (name === undefined) return null
  const values = seen.map((one) => JSON.stringify(one[name])).join(', then ')
  const says = `${version.label}: \`${name}\` of ${resource.name} does not settle: sent back again and again, it is ${values}.`
  return { says, label: version.label, field: name, by: 'both' }
}

/** The number of rounds after which a value must be stable: cutting and trimming may take two. */
const mostRounds = 4

/** Checks that putting back an item as it was read changes nothing, not even fields that its version does not know. */
async function checkPutBack(
  read: TrialAnswer,
  path: string,
  { reader, newest, send, name: own, run }: ItemTrial,
): Promise<PromiseFault | null> {
  if (!reader.resource.methods.includes('replace') || !newest.resource.methods.includes('read')) return null
  const item = read.body as JsonBody
  const there = operationPath(newest, 'read', identifiersIn(item, reader, newest)) as string
  const before = await send(newest, { method: 'GET', path: there })
  const put = await send(reader, { method: 'PUT', path, body: item, ...ifUnchanged(read.headers) })
  if (isRefusedByRules(put, reader)) return null
  if (put.status !== 200) return refusalFault(reader, put, 'refuses what it answered')
  const after = await send(newest, { method: 'GET', path: there })
  const derived = derivedFieldsFrom(run.service.changes, own, labelOf(reader))
  const other = newest.resource.members.find(
    ({ name, field }) =>
      !derived.has(name) &&
      field.options.derived === undefined &&
      name !== newest.resource.updated &&
      !isSameJson(before.body?.[name], after.body?.[name]),
  )
  if (!other) return null
  const says = `\`${other.name}\` of ${newest.resource.name} changed when ${labelOf(reader)} put back what it read.`
  return { says, label: labelOf(reader), by: 'request' }
}

/** Whether a write is refused by the state of the item or its owner, or because a derived value would not fit. R222, R225. */
function isRefusedByRules({ body }: TrialAnswer, { resource }: ResourceInVersion): boolean {
  const errors = Array.isArray(body?.errors) ? (body.errors as JsonBody[]) : []
  const isDerived = ({ pointer }: JsonBody) =>
    resource.byName.get(String(pointer).slice(1))?.field.options.derived !== undefined
  return body?.type === 'invalid-state' || (errors.length > 0 && errors.every(isDerived))
}

/** The fields whose values a change can replace by any other value. */
const freeMembers = ({ members, key }: ResourceInVersion['resource']): Member[] =>
  members.filter(
    ({ from, immutable, writeOnly, field, name }) =>
      from === 'caller' && !immutable && !writeOnly && !field.options.unique && field.kind !== 'ref' && name !== key,
  )

/** Checks that a change of one field changes only that field, and fields that are computed from it. */
async function checkChange(
  item: JsonBody,
  path: string,
  { reader, newest, chance, send, name: own, run }: ItemTrial,
): Promise<PromiseFault | null> {
  const { resource } = reader
  const free = freeMembers(resource)
  if (!resource.methods.includes('change') || free.length === 0) return null
  const member = pickOne(chance, free)
  const value = makeValue(member, reader.resource.rules, { chance, idOf: () => undefined })
  if (value === undefined || isMerged(member)) return null
  const { headers } = await send(reader, { method: 'GET', path })
  const patched = await send(reader, { method: 'PATCH', path, body: { [member.name]: value }, ...ifUnchanged(headers) })
  if (patched.status === 409 || isRefusedByRules(patched, reader)) return null // or a unique combination is taken
  if (patched.status !== 200 || !patched.body)
    return refusalFault(reader, patched, `refuses a change of \`${member.name}\` that it declares`)
  const derived = derivedFieldsAt(run.service.changes, own, labelOf(reader))
  // A written state carries out a transition, which may set other fields.
  const moves = newest.resource.machine !== null && resource.machine === null && derived.has(member.name)
  const other = resource.members.find(
    ({ name, field }) =>
      !moves &&
      ![member.name, resource.updated].includes(name) &&
      !derived.has(name) &&
      field.options.derived === undefined &&
      !isSameJson(item[name], patched.body?.[name]),
  )
  if (other) {
    const says = `\`${other.name}\` of ${resource.name} changed when ${labelOf(reader)} changed \`${member.name}\`.`
    return { says, label: labelOf(reader), field: member.name, by: 'request' }
  }
  return (
    misfitFault(reader, patched.body) ?? lossFault(reader, { [member.name]: value }, patched.body, { name: own, run })
  )
}

/** Whether a patch is merged into the stored value, so that more than the patch comes back. */
const isMerged = ({ field: { kind } }: Member): boolean => kind === 'object' || kind === 'metadata'

/** A precondition that holds as long as no other request writes. */
function ifUnchanged({ etag }: TrialAnswer['headers']): Pick<TrialRequest, 'headers'> {
  return etag === undefined || etag.startsWith('W/') ? {} : { headers: { 'if-match': etag } }
}
