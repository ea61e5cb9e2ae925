/** Kind options: checks options that limit values: bounds, digits, patterns and enum values. Part 2, fields. */

import type { Field } from '../fields/field.ts'
import { fieldKind, type ValueRules } from '../fields/kind.ts'
import { typeInWords, valueInWords } from '../fields/value-check.ts'
import { listInWords, nearestName } from '../formats/naming.ts'

/** A mistake and its fix. */
export type DeclarationFault = readonly [reason: string, mend: string]
/** An object that is not checked yet, as plain JavaScript may pass anything. */
export type UncheckedObject = Readonly<Record<string, unknown>>
/** Suggests the nearest name, and lists the allowed ones unless there are too many for a message. */
export function nameHint(name: unknown, names: readonly string[], none = 'Leave it out.'): string {
  const guess = typeof name === 'string' ? nearestName(name, names) : undefined
  const allowed = names.length > 0 && names.length <= mostNames ? `Allowed: ${listInWords(names)}.` : none
  return guess === undefined ? allowed : `Did you mean \`${guess}\`? ${allowed}`
}

const mostNames = 30

export function hasMember(object: UncheckedObject, name: unknown): name is string {
  return typeof name === 'string' && Object.hasOwn(object, name)
}

/** The mistakes in bounds and patterns, and those that only the kind of the field can have. */
export function* kindOptionFaults(field: Field, { kinds, settings }: ValueRules): Generator<DeclarationFault> {
  const { min, max, pattern } = field.options
  const { bound, faults, options } = fieldKind(field.kind, kinds)
  const own = [...(faults?.(field) ?? [])]
  yield* own
  if (own.length > 0) return
  const [read, what] = bound?.(field, settings) ?? []
  const [least, most] = [min, max].map((value) => (value === undefined ? undefined : read?.(value)))
  if (read && min !== undefined && least === undefined) yield [`\`min\` is ${valueInWords(min)}.`, `Write ${what}.`]
  if (read && max !== undefined && most === undefined) yield [`\`max\` is ${valueInWords(max)}.`, `Write ${what}.`]
  if (least !== undefined && most !== undefined && least > most)
    yield [`\`min\` (${min}) is above \`max\` (${max}).`, 'Write the smaller one as `min`.']
  if (pattern !== undefined && options.includes('pattern')) {
    const fault = patternFault(pattern)
    if (fault) yield fault
  }
}

const longestPattern = 200

/** A character, a class, or a group with its branches, and how often it may repeat. */
interface PatternPart {
  readonly text: string
  readonly branches: PatternPart[][] | undefined
  few: number
  most: number
}

const patternToken =
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u.{4}|x..|c.|k<[^>]*>|[1-9]\d*|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<?[=!]|<[^>]*>|[a-z-]*:))?|(?:[*+?]|\{\d+(?:,\d*)?\})\??|./gsu

/** Why a pattern is refused, for example as matching a single text could keep the process busy. */
export function patternFault(pattern: unknown): DeclarationFault | undefined {
  if (pattern instanceof RegExp) return ['The pattern is a RegExp.', `Write its text: pattern: '${pattern.source}'.`]
  if (typeof pattern !== 'string')
    return [`The pattern is ${typeInWords(pattern)}.`, "Write a text, as pattern: '^[0-9]+$'."]
  if (pattern.length > longestPattern)
    return [`The pattern has ${pattern.length} characters.`, `Write at most ${longestPattern}.`]
  try {
    new RegExp(pattern, 'u')
  } catch (error) {
    return [
      `The pattern cannot be read: ${(error as Error).message}.`,
      "Write it in the syntax of JavaScript with the flag 'u'.",
    ]
  }
  const tokens = [...pattern.matchAll(patternToken)].map(([text]) => text)
  const strange = tokens.find((text) => /^\\(k<|[1-9])|^\(\?[a-z-]+:/.test(text))
  if (strange)
    return [`The pattern has a back reference or a flag inside: ${strange}.`, 'Write the pattern without it.']
  const doubtful = parsePattern(tokens).flat().find(isDoubtful)
  if (!doubtful) return undefined
  const reason =
    'The pattern repeats a group that matches the same text in several ways, as (a+)+ and (a|ab)* do: one text could keep the service busy for minutes.'
  return [
    reason,
    'Use one repetition only, as in ^[a-z-]+$, or begin each repetition with a separator, as in ^[a-z]+(-[a-z]+)*$.',
  ]
}

function parsePattern(tokens: readonly string[]): PatternPart[][] {
  const alternatives: PatternPart[][] = [[]]
  const open = [alternatives]
  for (const text of tokens) {
    const branches = open.at(-1) as PatternPart[][]
    const branch = branches.at(-1) as PatternPart[]
    const [, few, most = few] = /^\{(\d+)(?:,(\d*))?\}/.exec(text) ?? []
    if (text === ')') open.pop()
    else if (text === '|') branches.push([])
    else if (/^[*+?]/.test(text))
      Object.assign(branch.at(-1) as PatternPart, {
        few: text[0] === '+' ? 1 : 0,
        most: text[0] === '?' ? 1 : Infinity,
      })
    else if (few !== undefined)
      Object.assign(branch.at(-1) as PatternPart, { few: Number(few), most: most === '' ? Infinity : Number(most) })
    else if (text.startsWith('(')) {
      const group: PatternPart[][] = [[]]
      branch.push({ text, branches: group, few: 1, most: 1 })
      open.push(group)
    } else if (!/^(\^|\$|\\[bB])$/.test(text)) branch.push({ text, branches: undefined, few: 1, most: 1 })
  }
  return alternatives
}

/** Whether a repeated group, or one inside it, can match the same text in several ways. */
function isDoubtful({ branches, most }: PatternPart): boolean {
  if (!branches) return false
  return branches.flat().some(isDoubtful) || (most > 1 && !isSteady(branches) && !isSeparated(branches))
}

/** Unambiguous: no part varies in length, and the first character determines the branch. */
function isSteady(branches: readonly PatternPart[][]): boolean {
  const heads = branches.map(([head]) => head && literalCharacter(head))
  if (branches.length > 1 && (heads.includes(undefined) || new Set(heads).size < heads.length)) return false
  return branches.flat().every((part) => part.few === part.most && (!part.branches || isSteady(part.branches)))
}

/** Unambiguous: a character that no other part matches begins or ends each round, and at most one part varies in length. */
function isSeparated([branch = [], ...others]: readonly PatternPart[][]): boolean {
  if (others.length > 0 || branch.some(({ branches }) => branches)) return false
  if (branch.filter(({ few, most }) => few !== most).length > 1) return false
  return [branch[0], branch.at(-1)].some((end) => {
    const mark = end && literalCharacter(end)
    return mark !== undefined && branch.every((part) => part === end || !new RegExp(`^${part.text}$`, 'u').test(mark))
  })
}

/** The character of a part that matches exactly one character once. */
function literalCharacter({ text, branches, few, most }: PatternPart): string | undefined {
  if (branches || few !== 1 || most !== 1) return undefined
  if (/^[^\\.[]$/su.test(text)) return text
  return /^\\[^\w]$/su.test(text) ? text.slice(1) : undefined
}
