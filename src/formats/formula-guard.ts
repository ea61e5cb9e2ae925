/** Formula guard: the apostrophe in CSV before texts that a spreadsheet could run as formulas. Part 4. R238. */

const formula = /^'*[=+\-@\t\r]/
const plainNumber = /^[+-]?\d+(\.\d+)?$/

/**
 * Puts an apostrophe before a text that a spreadsheet could run. The same text with apostrophes in front gets one more, so that
 * readers restore each text by removing one apostrophe. Numbers need none.
 */
export const guardFormula = (text: string): string =>
  formula.test(text) && !plainNumber.test(text) ? `'${text}` : text

export const unguardFormula = (text: string): string =>
  text.startsWith("'") && formula.test(text) ? text.slice(1) : text
