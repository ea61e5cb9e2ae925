/** Reads a set of values, `in:(a, "b, c")`. Part 4, filtering. */

/** The members of a set; a sentence where it cannot be read. R65 to R68. */
export function members(text: string, most: number): readonly string[] | string {
  if (!text.endsWith(')')) return 'A set ends with a closing parenthesis and nothing behind it, as in:(a,b).'
  const found: string[] = []
  const inner = text.slice('in:('.length, -1)
  if (inner.trim() === '') return found
  let at = 0
  for (;;) {
    const member = memberAt(inner, at)
    if (typeof member === 'string') return `Member ${found.length + 1} ${member}`
    if (!found.includes(member.value)) found.push(member.value)
    if (found.length > most) return `A set has at most ${most} members.`
    if (member.end === inner.length) return found
    at = member.end + 1
  }
}

const quoted = /\s*"((?:[^"\\]|\\["\\])*)"\s*(?=,|$)/y
const bare = /\s*([^,()"\\]*?)\s*(?=,|$)/y

function memberAt(text: string, at: number): { value: string; end: number } | string {
  quoted.lastIndex = bare.lastIndex = at
  const inQuotes = quoted.exec(text)
  if (inQuotes) return { value: (inQuotes[1] as string).replace(/\\(["\\])/g, '$1'), end: quoted.lastIndex }
  const plain = bare.exec(text)
  if (!plain)
    return 'has a comma, parenthesis, quote or backslash; write it in double quotes, with \\" and \\\\ inside.'
  if (plain[1] === '') return 'is empty; write the empty text as "".'
  return { value: plain[1] as string, end: bare.lastIndex }
}
