/** Alternatives: reads the filters of `or`, `(status=paid;total[gte]=100)`. Part 4, filtering. R234. */
import type { ListParameter } from './where-parameters.ts'

/** The most filters of one `or`. */
export const mostAlternatives = 5

/** The names and values of the filters, or a message if the text is invalid. */
export function readAlternatives(text: string): readonly ListParameter[] | string {
  if (!/^\(.*\)$/s.test(text)) return 'or must be filters in parentheses, as or=(status=paid;total[gte]=100).'
  const parts = text.slice(1, -1).split(';', mostAlternatives + 1)
  if (parts.length > mostAlternatives) return `or has at most ${mostAlternatives} filters.`
  const parameters: ListParameter[] = []
  for (const [i, part] of parts.entries()) {
    const read = readPart(part)
    if (typeof read === 'string') return `Filter ${i + 1} of or ${read}`
    parameters.push(read)
  }
  return parameters
}

function readPart(part: string): ListParameter | string {
  const cut = part.indexOf('=')
  if (part === '') return 'is empty; filters are separated by one semicolon.'
  if (/[()]/.test(part)) return 'has a parenthesis; write it as %28 or %29, which is %2528 or %2529 in the URL.'
  if (cut < 0) return 'has no equals sign; write it as field=value.'
  try {
    return [decodeURIComponent(part.slice(0, cut)), decodeURIComponent(part.slice(cut + 1))]
  } catch {
    return 'has a malformed escape; write a percent sign as %25, which is %2525 in the URL.'
  }
}
