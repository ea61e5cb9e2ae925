/** Changelog: differences as text for people. Part 9, versioning. */
import type { FieldTerms } from '../fields/kind.ts'
import { type Contract, isSameValue, type ResourceContract } from './contract.ts'
import { compareMembers, type Difference, heaviestWeight } from './difference.ts'
import type { Weight } from './weight.ts'

const titles: Readonly<Record<Weight, string>> = {
  breaking: 'Breaking',
  additive: 'Added',
  none: 'Without effect on consumers',
}
const digits: Readonly<Record<Weight, string>> = { breaking: 'major', additive: 'minor', none: 'patch' }

/** Markdown, with breaking differences first. */
export function changelog(from: string, to: string, differences: readonly Difference[]): string {
  if (differences.length === 0) return `# ${from} to ${to}\n\nNo difference.\n`
  const parts = (['breaking', 'additive', 'none'] as const).flatMap((weight) => {
    const lines = differences.filter((one) => one.weight === weight).map(({ place, says }) => `- \`${place}\`: ${says}`)
    return lines.length === 0 ? [] : [`## ${titles[weight]}\n\n${lines.join('\n')}`]
  })
  return `# ${from} to ${to}\n\nThis asks for a new ${digits[heaviestWeight(differences)]} number.\n\n${parts.join('\n\n')}\n`
}

/** What differs, on one line by resource: `orders: + coupon, filter on status; + resource carts`. */
export function changeLine(before: Contract, after: Contract): string {
  const own = (['settings', 'scopes', 'errors', 'tiers', 'more'] as const).flatMap((part) =>
    changedMembers(part === 'more' ? '' : part.replace(/s$/, ''), before[part], after[part]),
  )
  const resources = compareMembers(before.resources, after.resources, (name, had, has) => {
    if (!had || !has) return [`${has ? '+' : '-'} resource ${name}`]
    const changes = resourceChanges(had, has)
    return changes.length === 0 ? [] : [`${name}: ${changes.join(', ')}`]
  })
  return [...resources, ...own].join('; ')
}

function resourceChanges(before: ResourceContract, after: ResourceContract): string[] {
  const fields = compareMembers(before.fields, after.fields, (name, had, has) =>
    had && has ? fieldChanges(name, had, has) : [`${has ? '+' : '-'} ${name}`],
  )
  const parts = compareMembers(partsOf(before), partsOf(after), (part, had, has) => changedMembers(part, had, has))
  return [...fields, ...parts]
}

/** The parts of a resource without its fields, each by the word that a declaration has for it. */
function partsOf({ fields, calls, operations, states, paths, ...rest }: ResourceContract): Record<string, unknown> {
  const { transitions, ...others } = states ?? {}
  const rules = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, rule]) => [`${method} ${path}`, rule]),
  )
  return {
    ...rest,
    method: operations,
    operation: calls,
    transition: transitions,
    states: others,
    access: Object.fromEntries(rules),
  }
}

function fieldChanges(name: string, before: FieldTerms, after: FieldTerms): string[] {
  const changed = compareMembers({ ...before }, { ...after }, (term, had, has) => (isSameValue(had, has) ? [] : [term]))
  const words = { filter: `filter on ${name}`, sort: `sort by ${name}` } as const
  const terms = (['filter', 'sort'] as const).filter((term) => changed.includes(term))
  const others = changed.filter((term) => term !== 'filter' && term !== 'sort')
  return [
    ...terms.map((term) => (after[term] ? words[term] : `no ${words[term]}`)),
    ...(others.length === 0 ? [] : [`${name} (${others.join(', ')})`]),
  ]
}

/** The members that are new, gone or changed; only the word itself for a part without members. */
function changedMembers(word: string, before: unknown, after: unknown): string[] {
  if (isSameValue(before, after)) return []
  const [had, has] = [before, after].map((value) =>
    Array.isArray(value) ? Object.fromEntries(value.map((one) => [String(one), true])) : (value ?? {}),
  )
  if (typeof had !== 'object' || typeof has !== 'object') return [word]
  return compareMembers({ ...had }, { ...has }, (name, one, other) =>
    isSameValue(one, other)
      ? []
      : [`${one === undefined ? '+ ' : other === undefined ? '- ' : ''}${word} ${name}`.trim()],
  )
}
