/** Lock: a published contract with its number, and the file that keeps it. Part 9, versioning. */
import { isObject } from '../fields/value-check.ts'
import type { Contract } from './contract.ts'
import { type Difference, heaviestWeight } from './difference.ts'
import { differences } from './differences.ts'
import type { Weight } from './weight.ts'

export interface Lock extends Contract {
  /** The full number: major.minor.patch. R187. */
  readonly version: string
}

/** A contract as the next lock of a version, and its differences from the former lock. */
export interface NextLock {
  readonly lock: Lock
  readonly found: readonly Difference[]
}

/** The gate refuses a breaking difference under the same major; if it is locked anyway, numbers start again at N.0.0. */
export function nextLock(contract: Contract, label: string, before: Lock | null): NextLock {
  const first = `${label.slice(1)}.0.0`
  if (!before) return { lock: { version: first, ...contract }, found: [] }
  const found = differences(before, contract)
  return {
    lock: {
      version: nextNumber(before.version, heaviestWeight(found), found.length > 0, first),
      ...contract,
      ...lockedFunctions(contract, before),
    },
    found,
  }
}

/** Functions that changed under the same revision keep their locked text, so that the gate still asks for a new revision. */
function lockedFunctions({ functions }: Contract, before: Lock): Pick<Contract, 'functions'> {
  if (functions === undefined) return {}
  const kept = Object.entries(functions).map(([place, now]) => {
    const was = before.functions?.[place]
    return [place, was?.revision === now.revision ? was : now] as const
  })
  return { functions: Object.fromEntries(kept) }
}

function nextNumber(before: string, weight: Weight, differs: boolean, first: string): string {
  const [major = 0, minor = 0, patch = 0] = before.split('.').map(Number)
  if (weight === 'breaking') return first
  if (weight === 'additive') return `${major}.${minor + 1}.0`
  return differs ? `${major}.${minor}.${patch + 1}` : before
}

const mostWidth = 110

/** The text of a lock, with short values on one line. */
export const lockText = (lock: Lock): string => `${writeJson(lock, '')}\n`

function writeJson(value: unknown, indent: string): string {
  if (!isObject(value) && !Array.isArray(value)) return JSON.stringify(value)
  const short = writeOnOneLine(value)
  if (indent !== '' && indent.length + short.length <= mostWidth) return short
  const deeper = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const members = Array.isArray(value)
    ? value.map((one) => writeJson(one, deeper))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${writeJson(one, deeper)}`)
  return `${open}\n${members.map((one) => deeper + one).join(',\n')}\n${indent}${close}`
}

function writeOnOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeOnOneLine).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${writeOnOneLine(one)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

const lockParts: readonly (keyof Lock)[] = [
  'version',
  'service',
  'settings',
  'scopes',
  'errors',
  'tiers',
  'resources',
  'more',
]

/** Parses a lock; returns the reason as text if it is not a lock. */
export function parseLock(text: string): Lock | string {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (error) {
    return `it is not JSON (${(error as Error).message})`
  }
  if (!isObject(read)) return 'it is not an object'
  const lost = lockParts.filter((part) => !Object.hasOwn(read, part))
  if (lost.length > 0) return `it has no ${lost.map((part) => `\`${part}\``).join(', ')}`
  if (!/^\d+\.\d+\.\d+$/.test(String(read.version))) return 'its `version` is not a number like 1.0.0'
  return read as unknown as Lock
}
