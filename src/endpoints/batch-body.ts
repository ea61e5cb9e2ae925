/** Batch body: the members of a batch as they are sent, and their references to earlier results. Part 4, methods. R229. */
import { addViolation, escapePointer, shortName } from '../errors/pointer.ts'
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import type { Document } from '../flow/intent.ts'
import { listInWords } from '../formats/naming.ts'

/** One operation of a batch. */
export interface BatchMember {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Document | null
  /** Values of earlier results by the pointer to their place in the body: `/customerId` from `customer.id`. */
  readonly refs: readonly (readonly [pointer: string, source: string])[]
  /** Its name for later members and in the answer; otherwise it is its index. */
  readonly as: string
}

const memberKeys = ['method', 'path', 'headers', 'body', 'refs', 'as']
export const batchMethods = ['POST', 'PUT', 'PATCH', 'DELETE']
const headerNames = ['if-match', 'if-none-match', 'idempotency-key', 'prefer']
const sourcePattern = /^([A-Za-z][\w-]{0,49})\.([A-Za-z][\w-]{0,99})$/
const namePattern = /^[A-Za-z][\w-]{0,49}$/

/** Reads the members of a body. Throws all mistakes in their structure. */
export function readBatchMembers(body: Document, most: number): readonly BatchMember[] {
  const faults: Violation[] = []
  const { operations, ...others } = body
  for (const name of Object.keys(others))
    addViolation(faults, `/${escapePointer(name)}`, 'unknown-field', 'is not a field of a batch.')
  if (!Array.isArray(operations)) addViolation(faults, '/operations', 'invalid-type', 'must be a list of operations.')
  else if (operations.length === 0) addViolation(faults, '/operations', 'too-short', 'must have at least 1 operation.')
  else if (operations.length > most)
    addViolation(faults, '/operations', 'too-many-items', `must have at most ${most} operations.`)
  if (faults.length > 0) throw invalidBody(faults)
  const names = new Set<string>()
  const members = (operations as unknown[]).map((one, i) => {
    const member = readMember(one, i, names, faults)
    if (member) names.add(member.as)
    return member
  })
  if (faults.length > 0) throw invalidBody(faults)
  return members as BatchMember[]
}

/** Reports a mistake in a part of a member. */
type Fault = (part: string, type: string, says: string) => undefined

/** `names` are the names of earlier members. */
function readMember(
  member: unknown,
  index: number,
  names: ReadonlySet<string>,
  faults: Violation[],
): BatchMember | undefined {
  const at = `/operations/${index}`
  if (!isObject(member)) return addViolation(faults, at, 'invalid-type', 'must be an object.')
  const fault: Fault = (part, type, says) => addViolation(faults, `${at}/${part}`, type, says)
  for (const name of Object.keys(member))
    if (!memberKeys.includes(name))
      fault(escapePointer(name), 'unknown-field', `is not allowed here; allowed are ${listInWords(memberKeys)}.`)
  const { method, path, headers = {}, body = null, refs = {}, as } = member
  if (typeof method !== 'string' || !batchMethods.includes(method))
    fault('method', 'invalid-value', `must be one of ${listInWords(batchMethods)}.`)
  if (body !== null && !isObject(body)) fault('body', 'invalid-type', 'must be an object.')
  if (as !== undefined && (typeof as !== 'string' || !namePattern.test(as) || names.has(as)))
    fault('as', 'invalid-value', 'must be a new name: a letter, then letters, digits and dashes.')
  return {
    ...{ method: String(method), path: readPath(path, names, fault), as: String(as ?? index) },
    headers: readHeaders(headers, fault),
    body: isObject(body) ? body : null,
    refs: readRefs(refs, names, fault),
  }
}

function readPath(path: unknown, names: ReadonlySet<string>, fault: Fault): string {
  if (typeof path !== 'string' || !/^\/[\x21-\x7e]*$/.test(path) || /[?#]/.test(path))
    fault('path', 'invalid-value', 'must be a path without a query, as /orders or /orders/$order.id/lines.')
  else
    for (const segment of path.split('/'))
      if (segment.startsWith('$')) checkSource(segment.slice(1), 'path', names, fault)
  return String(path)
}

function readRefs(refs: unknown, names: ReadonlySet<string>, fault: Fault): BatchMember['refs'] {
  if (!isObject(refs)) {
    fault('refs', 'invalid-type', "must be an object, as { '/customerId': 'customer.id' }.")
    return []
  }
  for (const [pointer, source] of Object.entries(refs)) {
    const part = `refs/${escapePointer(pointer)}`
    if (!pointer.startsWith('/')) fault(part, 'invalid-value', 'must be named by a JSON Pointer, as /customerId.')
    checkSource(source, part, names, fault)
  }
  return Object.entries(refs) as [string, string][]
}

function checkSource(source: unknown, part: string, names: ReadonlySet<string>, fault: Fault): void {
  const [, name = ''] = (typeof source === 'string' && sourcePattern.exec(source)) || []
  const mend = 'write the name of an earlier operation and a member, as customer.id.'
  if (!names.has(name)) fault(part, 'invalid-value', `is ${valueInWords(source)}; ${mend}`)
}

function readHeaders(headers: unknown, fault: Fault): [name: string, value: string][] {
  if (!isObject(headers)) {
    fault('headers', 'invalid-type', 'must be an object of texts.')
    return []
  }
  return Object.entries(headers).map(([name, value]) => {
    if (!headerNames.includes(name.toLowerCase()))
      fault(
        `headers/${escapePointer(name)}`,
        'invalid-value',
        `is not allowed in a batch; allowed are ${listInWords(headerNames)}.`,
      )
    else if (typeof value !== 'string' || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value))
      fault(`headers/${escapePointer(name)}`, 'invalid-value', 'must be a text that a header can have.')
    return [name.toLowerCase(), String(value)]
  })
}

/** The results of earlier members by their names. */
export type BatchResults = ReadonlyMap<string, unknown>

/** The path and the body of a member with the values that they refer to. */
export function resolveMember(
  { path, body, refs }: BatchMember,
  results: BatchResults,
): { readonly path: string; readonly body: Document | null } {
  const segments = path.split('/').map((one) => (one.startsWith('$') ? pathValue(one.slice(1), results) : one))
  if (refs.length === 0) return { path: segments.join('/'), body }
  const resolved = structuredClone(body ?? {})
  for (const [pointer, source] of refs)
    setAt(resolved, pointer, referredValue(source, results, `/refs/${escapePointer(pointer)}`))
  return { path: segments.join('/'), body: resolved }
}

function pathValue(source: string, results: BatchResults): string {
  const value = referredValue(source, results, '/path')
  if (typeof value === 'string' || typeof value === 'number') return encodeURIComponent(String(value))
  throw memberFault('/path', `${shortName(source)} is ${valueInWords(value)}, which cannot be a part of a path.`)
}

function referredValue(source: string, results: BatchResults, place: string): unknown {
  const [, name = '', member = ''] = sourcePattern.exec(source) ?? []
  const result = results.get(name)
  if (isObject(result) && Object.hasOwn(result, member)) return result[member]
  throw memberFault(place, `The result of ${name} has no member ${member}.`)
}

/** Sets a value at a JSON Pointer whose parent exists. */
function setAt(body: Document, pointer: string, value: unknown): void {
  const names = pointer
    .split('/')
    .slice(1)
    .map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = names.pop() as string
  let at: unknown = body
  for (const name of names)
    at = (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, name) ? (at as Document)[name] : undefined
  if (!isObject(at) && !(Array.isArray(at) && /^\d{1,6}$/.test(last) && Number(last) <= at.length))
    throw memberFault(`/refs/${escapePointer(pointer)}`, 'The body has no such place.')
  Object.defineProperty(at, last, { value, enumerable: true, configurable: true, writable: true })
}

const memberFault = (pointer: string, message: string): Problem =>
  invalidBody([{ message, type: 'invalid-value', in: 'body', pointer }])

/** The refusal of a batch by one of its members: pointers lead to the member and its body. */
export function refusalOfMember(problem: Problem, index: number, inBody: boolean): Problem {
  const { type, message, violations, headers, extra, cause } = problem
  const at = `/operations/${index}`
  const placed = violations.map(({ pointer, name, ...one }): Violation => {
    const below = one.in === 'body' && pointer !== undefined ? `${inBody ? '/body' : ''}${pointer}` : ''
    return { ...one, in: 'body', pointer: `${at}${below}` }
  })
  const own: Violation = { message, type, in: 'body', pointer: at }
  return new Problem(type, message, { violations: placed.length > 0 ? placed : [own], headers, extra, cause })
}
