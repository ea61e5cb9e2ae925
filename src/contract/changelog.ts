/** Changelog: differences as text for people. Part 9, versioning. */
import { type Difference, heaviestWeight } from './difference.ts'
import type { Weight } from './weight.ts'

const titles: Readonly<Record<Weight, string>> = {
  breaking: 'Breaking',
  additive: 'Added',
  none: 'Without effect on consumers',
}
const digits: Readonly<Record<Weight, string>> = { breaking: 'major', additive: 'minor', none: 'patch' }

/** Markdown, with breaking differences first. */
export function changelog(from: string, to: string, found: readonly Difference[]): string {
  if (found.length === 0) return `# ${from} to ${to}\n\nNo difference.\n`
  const parts = (['breaking', 'additive', 'none'] as const).flatMap((weight) => {
    const lines = found.filter((one) => one.weight === weight).map(({ place, says }) => `- \`${place}\`: ${says}`)
    return lines.length === 0 ? [] : [`## ${titles[weight]}\n\n${lines.join('\n')}`]
  })
  return `# ${from} to ${to}\n\nThis asks for a new ${digits[heaviestWeight(found)]} number.\n\n${parts.join('\n\n')}\n`
}
