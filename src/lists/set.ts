/** Set: reads a set of values, `in:(a, "b, c")`. Part 4, filtering. */

/** The members of a set as texts, or a message if it is invalid. R65 to R68. */
export function setMembers(text: string, most: number): readonly string[] | string {
  if (!text.endsWith(')')) return 'A set must end with a closing parenthesis, as in:(a,b).'
  const inner = text.slice('in:('.length, -1)
  const members: string[] = []
  if (!/[^ ]/.test(inner)) return members
  for (let at = 0; ; ) {
    const member = memberAt(inner, at)
    if (typeof member === 'string') return `Member ${members.length + 1} of the set ${member}`
    members.push(member.value)
    if (members.length > most) return `A set has at most ${most} members.`
    if (member.end === inner.length) return members
    at = member.end + 1
  }
}

const quotedMember = /"((?:[^"\\]|\\["\\])*)" *(?=,|$)/y

/** A member and its end. It takes linear time, however many spaces there are. */
function memberAt(text: string, at: number): { value: string; end: number } | string {
  let start = at
  while (text[start] === ' ') start++
  if (text[start] === '"') {
    quotedMember.lastIndex = start
    const [, quoted] = quotedMember.exec(text) ?? []
    if (quoted === undefined)
      return 'is not one text in double quotes; write a quote inside as \\" and a backslash as \\\\.'
    return { value: quoted.replace(/\\(["\\])/g, '$1'), end: quotedMember.lastIndex }
  }
  const comma = text.indexOf(',', start)
  const end = comma < 0 ? text.length : comma
  let last = end
  while (last > start && text[last - 1] === ' ') last--
  const value = text.slice(start, last)
  if (value === '') return 'is empty; write the empty text as "".'
  if (/[()"\\]/.test(value))
    return 'has a parenthesis, quote or backslash; write it in double quotes, with \\" and \\\\ inside.'
  return { value, end }
}
