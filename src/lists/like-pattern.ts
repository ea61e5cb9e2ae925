/** Like pattern: reads a pattern in which % stands for any run of characters. Part 4, filtering. */

const mostWildcards = 5
const mostLength = 256

/** The literal parts between the wildcards, or a message if the pattern is invalid. R69, R70. */
export function likePatternParts(pattern: string): readonly string[] | string {
  if ([...pattern].length > mostLength) return `A pattern has at most ${mostLength} characters.`
  const parts = ['']
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i] as string
    if (character === '%') parts.push('')
    else if (character !== '\\') parts.push((parts.pop() as string) + character)
    else if (pattern[i + 1] === '%' || pattern[i + 1] === '\\') parts.push((parts.pop() as string) + pattern[++i])
    else return 'A backslash in a pattern must come before a percent sign or another backslash: \\% or \\\\.'
  }
  if (parts.length - 1 > mostWildcards) return `A pattern has at most ${mostWildcards} wildcards.`
  return parts.length === 1 ? ['', parts[0] as string, ''] : parts
}
