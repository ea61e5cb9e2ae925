/** JSON Patch: reads the operations of RFC 6902 and applies them to a document, all or none. Part 4, methods. R118. */
import { escapePointer, shortName } from '../errors/pointer.ts'
import { invalidBody, Problem, type Violation } from '../errors/problem.ts'
import { isObject, typeInWords } from '../fields/value-check.ts'

type Document = Record<string, unknown>

/** The unescaped names of a JSON Pointer; empty for the whole document. */
type Path = readonly string[]

/** One operation. `value` is that of add, replace and test, `from` that of move and copy. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: Path
  readonly from: Path
  readonly value: unknown
}

export interface PatchBounds {
  /** How deep the document may be nested. */
  readonly depth: number
  /** The total size of all added and copied values: otherwise each copy could double the document. */
  readonly size: number
}

const operationNames: readonly string[] = ['add', 'remove', 'replace', 'move', 'copy', 'test']

/** Reads the content of a request as operations. Throws all its mistakes. */
export function readJsonPatch(content: unknown, most: number): readonly PatchOperation[] {
  const faults: Violation[] = []
  const listed = Array.isArray(content) ? content : []
  if (!Array.isArray(content))
    addFault(faults, '', 'invalid-type', `must be a list of operations, not ${typeInWords(content)}.`)
  if (listed.length > most) addFault(faults, '', 'too-many-items', `must have at most ${most} operations.`)
  const patch = listed.slice(0, most).map((one, i) => readOperation(one, `/${i}`, faults))
  if (faults.length > 0) throw invalidBody(faults)
  return patch
}

/** Reads one operation; members without a meaning for it are ignored. */
function readOperation(operation: unknown, at: string, faults: Violation[]): PatchOperation {
  const op = readName(operation, at, faults)
  if (op === null) return { op: 'test', path: [], from: [], value: null }
  const members = operation as Document
  const moves = op === 'move' || op === 'copy'
  const before = faults.length
  const path = readPath(members, 'path', at, faults)
  const from = moves ? readPath(members, 'from', at, faults) : []
  const own = Object.hasOwn(members, 'value')
  if (!moves && op !== 'remove' && !own) addFault(faults, `${at}/value`, 'field-required', 'is required.')
  if (faults.length === before && op === 'remove' && path.length === 0)
    addFault(faults, `${at}/path`, 'invalid-value', 'cannot be the whole item.')
  if (faults.length === before && op === 'move' && path.length > from.length && from.every((one, i) => one === path[i]))
    addFault(faults, `${at}/path`, 'invalid-value', 'is inside of the value that it moves.')
  return { op, path, from, value: own ? members.value : undefined }
}

/** The name of an operation; null after a mistake. */
function readName(operation: unknown, at: string, faults: Violation[]): PatchOperation['op'] | null {
  if (!isObject(operation)) addFault(faults, at, 'invalid-type', `must be an object, not ${typeInWords(operation)}.`)
  else if (!Object.hasOwn(operation, 'op')) addFault(faults, `${at}/op`, 'field-required', 'is required.')
  else if (operationNames.includes(operation.op as string)) return operation.op as PatchOperation['op']
  else addFault(faults, `${at}/op`, 'invalid-value', `must be one of ${operationNames.join(', ')}.`)
  return null
}

/** The names in a JSON Pointer; empty after a mistake. */
function readPath(members: Document, name: 'path' | 'from', at: string, faults: Violation[]): Path {
  const text = Object.hasOwn(members, name) ? members[name] : undefined
  if (text === undefined) addFault(faults, `${at}/${name}`, 'field-required', 'is required.')
  else if (typeof text !== 'string')
    addFault(faults, `${at}/${name}`, 'invalid-type', `must be a text, not ${typeInWords(text)}.`)
  else if (!/^(?:\/(?:[^/~]|~[01])*)*$/.test(text))
    addFault(faults, `${at}/${name}`, 'invalid-format', 'must be a JSON Pointer, as /address/city.')
  else
    return text
      .split('/')
      .slice(1)
      .map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))
  return []
}

/** The names of the fields that a patch mentions. */
export function patchedNames(patch: readonly PatchOperation[]): ReadonlySet<string> {
  const names = patch.flatMap(({ path, from, value }) => [
    ...path.slice(0, 1),
    ...from.slice(0, 1),
    ...(path.length === 0 && isObject(value) ? Object.keys(value) : []),
  ])
  return new Set(names)
}

/**
 * The members of a document that the operations change, with their new values; undefined for those that are gone. Together
 * they may be as large as one body. Any value counts as a change of a member of `concealed`, as the document may not have
 * its real value.
 */
export function changesByPatch(
  document: Document,
  patch: readonly PatchOperation[],
  bounds: PatchBounds,
  concealed: ReadonlySet<string> = new Set(),
): readonly (readonly [name: string, value: unknown])[] {
  const after = applyJsonPatch(document, patch, bounds)
  const set = new Set(patch.flatMap(({ op, path }) => (op === 'test' || op === 'remove' ? [] : path.slice(0, 1))))
  const changed = Object.entries(after).filter(
    ([name, value]) =>
      !Object.hasOwn(document, name) || !isEqualJson(document[name], value) || (concealed.has(name) && set.has(name)),
  )
  if (Buffer.byteLength(JSON.stringify(changed)) > bounds.size)
    throw refusal('', 'too-long', `changes values that have more than ${bounds.size} bytes together.`)
  const gone = Object.keys(document).filter((name) => !Object.hasOwn(after, name))
  return [...changed, ...gone.map((name) => [name, undefined] as const)]
}

/** The document after all operations, or a refusal. Neither the document nor the patch is changed. */
export function applyJsonPatch(document: Document, patch: readonly PatchOperation[], bounds: PatchBounds): Document {
  const root = { '': copyValue(document, { size: Number.POSITIVE_INFINITY, depth: Number.POSITIVE_INFINITY }, 0, '') }
  const left = { ...bounds }
  for (const [i, operation] of patch.entries()) applyOperation(root, operation, `/${i}`, left)
  const { '': after } = root
  if (isObject(after)) return after
  throw refusal('', 'invalid-type', `would make the item ${typeInWords(after)}; it must stay an object.`)
}

/** The remaining part of the bounds. */
interface PatchBudget {
  size: number
  readonly depth: number
}

/** Applies one operation; `root` holds the document under an empty name, so that each value has a container. */
function applyOperation(
  root: Document,
  { op, path, from, value }: PatchOperation,
  at: string,
  left: PatchBudget,
): void {
  const target = () => placeOf(root, path, at, 'path')
  if (op === 'test') {
    if (!isEqualJson(valueAt(target()), value)) throw conflict(at, `${nameOf(path)} has another value.`)
  } else if (op === 'remove') takeFrom(target(), left)
  else if (op === 'replace') {
    const place = target()
    valueAt(place)
    setAt(place, copyValue(value, left, path.length, at))
  } else {
    const source = op === 'add' ? null : placeOf(root, from, at, 'from')
    const added = copyValue(source ? valueAt(source) : value, left, path.length, at)
    if (source && op === 'move') takeFrom(source, left)
    addAt(target(), added, left)
  }
}

/** A place in the document: the container of its value, and the name or index there. */
interface Place {
  readonly inside: unknown
  readonly name: string
  readonly path: Path
  /** The pointer to the operation, and the member that names the place. */
  readonly at: string
  readonly member: 'path' | 'from'
}

function placeOf(root: Document, path: Path, at: string, member: Place['member']): Place {
  let place: Place = { inside: root, name: '', path: [], at, member }
  for (const [i, name] of path.entries()) place = { ...place, inside: valueAt(place), name, path: path.slice(0, i + 1) }
  return place
}

function valueAt(place: Place): unknown {
  const { inside, name, path, at } = place
  if (Array.isArray(inside)) {
    const index = indexAt(place, inside)
    if (index < inside.length) return inside[index]
  } else if (isObject(inside) && Object.hasOwn(inside, name)) return inside[name]
  throw conflict(at, `${nameOf(path)} does not exist.`)
}

/** The index of a place in a list; `-` is behind the last element. */
function indexAt({ name, at, member }: Place, list: readonly unknown[]): number {
  if (name === '-') return list.length
  if (/^(?:0|[1-9]\d*)$/.test(name)) return Number(name)
  throw refusal(`${at}/${member}`, 'invalid-format', `has ${shortName(name)} where the index of a list must be.`)
}

function takeFrom(place: Place, left: PatchBudget): void {
  valueAt(place)
  const { inside, name, at } = place
  if (Array.isArray(inside)) {
    spend(left, inside.length / elementsPerByte, at)
    inside.splice(Number(name), 1)
  } else delete (inside as Document)[name]
}

function addAt(place: Place, value: unknown, left: PatchBudget): void {
  const { inside, path, at } = place
  if (Array.isArray(inside)) {
    const index = indexAt(place, inside)
    if (index > inside.length) throw conflict(at, `${nameOf(path)} is behind the end of the list.`)
    spend(left, inside.length / elementsPerByte, at)
    inside.splice(index, 0, value)
  } else if (isObject(inside)) setAt(place, value)
  else throw conflict(at, `${nameOf(path.slice(0, -1))} is ${typeInWords(inside)} and has no members.`)
}

/** Sets a value, also under names such as `__proto__`, for which an assignment would not add a member. */
function setAt({ inside, name }: Place, value: unknown): void {
  if (Array.isArray(inside)) inside[Number(name)] = value
  else Object.defineProperty(inside as Document, name, { value, writable: true, enumerable: true, configurable: true })
}

/** The number of shifted elements of a list that count as one byte. */
const elementsPerByte = 64

function spend(left: PatchBudget, size: number, at: string): void {
  left.size -= size
  if (left.size < 0) throw refusal(at, 'too-long', 'and those before it put more into the item than one body may hold.')
}

/** A copy of a value; its size is subtracted from `left`. `level` is the number of containers around it. */
function copyValue(value: unknown, left: PatchBudget, level: number, at: string): unknown {
  spend(left, typeof value === 'string' ? value.length + 1 : 1, at)
  if (typeof value !== 'object' || value === null) return value
  if (level >= left.depth) throw refusal(at, 'too-long', `would nest the item more than ${left.depth} levels deep.`)
  if (Array.isArray(value)) return value.map((one) => copyValue(one, left, level + 1, at))
  const members = Object.entries(value).map(([name, one]) => {
    spend(left, name.length, at)
    return [name, copyValue(one, left, level + 1, at)] as const
  })
  return Object.fromEntries(members)
}

/** Whether two values are equal by RFC 6902: numbers by value, objects in any order of members. */
function isEqualJson(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, i) => isEqualJson(value, other[i]))
  if (!isObject(one) || !isObject(other)) return one === other
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqualJson(one[name], other[name]))
  )
}

/** Adds a mistake in the patch, at a pointer to an operation or to a member of it. */
function addFault(faults: Violation[], at: string, type: string, says: string): void {
  const [, index, member] = at.split('/')
  const about = index === undefined ? 'The patch' : `${member ? `${member} of operation` : 'Operation'} ${index}`
  faults.push({ message: `${about} ${says}`, type, in: 'body', pointer: at })
}

function refusal(at: string, type: string, says: string): Problem {
  const faults: Violation[] = []
  addFault(faults, at, type, says)
  return invalidBody(faults)
}

/** The refusal of an operation that does not fit the current item. */
function conflict(at: string, says: string): Problem {
  const message = `Operation ${at.slice(1)} does not fit the item: ${says}`
  return new Problem('patch-conflict', `${message} Nothing was changed.`, {
    violations: [{ message, type: 'patch-conflict', in: 'body', pointer: at }],
  })
}

const nameOf = (path: Path): string =>
  path.length === 0 ? 'the item' : shortName(`/${path.map(escapePointer).join('/')}`)
