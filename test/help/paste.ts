/** Sends the request of a printed curl command, without a shell and without curl. */
import assert from 'node:assert/strict'

export function pasted(line: string): Promise<Response> {
  const words = [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted?.replaceAll("'\\''", "'") ?? (bare as string),
  )
  const [curl, ...rest] = words
  assert.equal(curl, 'curl')
  const url = rest.find((word) => word.startsWith('http://')) as string
  const after = (flag: string): string | undefined => (rest.includes(flag) ? rest[rest.indexOf(flag) + 1] : undefined)
  const body = after('-d')
  const given = rest.flatMap((word, i) => (rest[i - 1] === '-H' ? [word] : []))
  const headers = Object.fromEntries(
    given.map((one) => [one.split(':', 1)[0] as string, one.slice(one.indexOf(':') + 1).trim()]),
  )
  const method = after('-X') ?? (body === undefined ? 'GET' : 'POST')
  return fetch(url, body === undefined ? { method, headers } : { method, headers, body })
}
