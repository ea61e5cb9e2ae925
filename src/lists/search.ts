/** Search: reads the words of `search`. Part 4, filtering. R235. */
import type { Violation } from '../errors/problem.ts'
import { codePoints } from '../fields/value-check.ts'
import type { Condition } from '../flow/plan.ts'
import { searchedWords } from '../formats/search-words.ts'
import { queryViolation } from './query-string.ts'

/** The most words of a search, and the most characters of the parameter. */
export const [mostWords, longestSearch] = [20, 500]

/** The condition that a row has all words; no condition without the parameter. Adds mistakes to `faults`. */
export function searchConditions(text: string | undefined, faults: Violation[]): Condition[] {
  if (text === undefined) return []
  const length = codePoints(text)
  const words = length > longestSearch ? [] : searchedWords(text)
  const fault = searchFault(length, words)
  if (fault === null) return [{ column: 'id', is: 'search', words }]
  faults.push(queryViolation('invalid-parameter-value', 'search', fault))
  return []
}

function searchFault(length: number, words: readonly string[]): string | null {
  if (length > longestSearch) return `search has ${length} characters; write at most ${longestSearch}.`
  if (words.length === 0) return 'search has no word; write at least one letter, digit or emoji, as search=blue.'
  if (words.length <= mostWords) return null
  const pairs = 'Of scripts that are written without spaces, every two neighbouring characters count as a word.'
  return `search has ${words.length} words; write at most ${mostWords}. ${pairs}`
}
