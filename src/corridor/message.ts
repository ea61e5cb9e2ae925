/** Message: checks the form, size, expectation and host of a request before anything else. Part 8, limits. */
import { redact } from '../auth/credentials.ts'
import { Problem } from '../errors/problem.ts'
import { type Call, headerLines } from '../flow/call.ts'
import { Memo } from '../flow/memo.ts'
import type { ServiceWorld } from '../flow/world.ts'
import type { Settings } from '../settings.ts'
import { check } from './phase.ts'

/** The checks that come before all others. */
export const messagePhase = check({
  name: 'message',
  pass: ({ call, context }) => admitMessage(call, context.service.settings),
  refuses: () => [
    ...['malformed-request', 'invalid-host', 'invalid-url-encoding', 'uri-too-long', 'header-fields-too-large'],
    ...['expectation-failed', 'request-timeout'],
  ],
})

export const hostPhase = check({
  name: 'host',
  pass: ({ call, context }) => admitHost(call, context.hosts),
  refuses: () => ['misdirected-request'],
})

function admitMessage(call: Call, { limits }: Settings): void {
  admitForm(call) //          400
  admitFraming(call) //       400
  admitSize(call, limits) //  414, 431
  admitExpectation(call) //   417
  admitHostLine(call) //      400
}

/** The refusal of a malformed message; closes the connection, as it is uncertain where the next request begins. R18. */
const malformedMessage = (message: string): Problem =>
  new Problem('malformed-request', message, { headers: { Connection: 'close' } })

const targetPattern = /^\/[!"$-~]*$/ // visible ASCII without '#'

function admitForm({ http, method, target }: Call): void {
  if (http !== '1.1' && http !== '1.0') throw malformedMessage(`HTTP/${http} is not supported. Send HTTP/1.1.`)
  if (method === 'CONNECT' || (method === 'OPTIONS' && target === '*') || targetPattern.test(target)) return
  throw malformedMessage(
    'The target of the request must be a path that begins with a slash, in ASCII and without a fragment. Write other characters as escapes of their UTF-8 bytes.',
  )
}

/** Refuses a message whose length a proxy could read differently (request smuggling). R18. */
function admitFraming({ http, headers }: Call): void {
  const length = headers['content-length']
  if (length !== undefined && !/^\d+$/.test(length))
    throw malformedMessage('Content-Length must be one number of bytes.')
  const coding = headers['transfer-encoding']
  if (coding === undefined) return
  if (length !== undefined)
    throw malformedMessage('Content-Length and Transfer-Encoding exclude each other. Send one of them.')
  if (coding.toLowerCase() !== 'chunked' || http === '1.0')
    throw malformedMessage('Transfer-Encoding can only be chunked, and only in HTTP/1.1. Send Content-Length instead.')
}

/** R179. */
function admitSize({ target, raw }: Call, { url, headers, headerFields }: Settings['limits']): void {
  if (target.length > url) throw urlTooLong(target, url)
  const fields = raw.length / 2
  let bytes = raw.length * 2 // a colon and a space, and the end of a line
  for (const text of raw) bytes += text.length
  if (fields <= headerFields && bytes <= headers) return
  const message = `The header has ${fields} fields and ${bytes} bytes; at most ${headerFields} fields and ${headers} bytes are accepted.`
  throw new Problem('header-fields-too-large', message)
}

export const urlTooLong = ({ length }: string, most: number): Problem =>
  new Problem('uri-too-long', `The URL has at least ${length} bytes; at most ${most} are accepted.`)

/** Refuses all expectations except `100-continue`. R19. HTTP/1.0 has no expectations. */
function admitExpectation({ http, headers: { expect } }: Call): void {
  if (expect === undefined || http === '1.0' || expect.toLowerCase() === '100-continue') return
  throw new Problem(
    'expectation-failed',
    'The only expectation that can be met is 100-continue. Leave the others out.',
    {
      headers: { Connection: 'close' }, // the content may follow or not
    },
  )
}

const authorityPattern = /^(?:\[([\da-f:.]+)\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+)(?::(\d{0,5}))?$/i

function isAuthority(text: string): boolean {
  const [match, address, port = ''] = authorityPattern.exec(text) ?? []
  return match !== undefined && (address === undefined || URL.canParse(`http://[${address}]`)) && Number(port) <= 65_535
}

/** Whether an allowed host can be that of a request: a name or an address, with or without a port, and no pattern. */
export const isHostName = (text: string): boolean => isAuthority(text) && !text.includes('*')

/** Pure: hosts that are well-formed; nearly all requests name the same one. */
const authorities = new Memo<string, true>(100)
const longestKept = 300

/** R17: exactly one Host line; HTTP/1.0 may leave it out. */
function admitHostLine(call: Call): void {
  const lines = headerLines(call, 'host')
  if (lines.length > 1) throw invalidHost('The request has more than one Host line.')
  if (lines.length === 0 && call.http === '1.1') throw invalidHost('The request has no Host line.')
  const named = call.authority === null ? lines : [...lines, call.authority]
  for (const name of named) {
    if (authorities.get(name)) continue
    if (!isAuthority(name)) throw invalidHost('The host of the request is malformed.')
    if (name.length <= longestKept) authorities.set(name, true)
  }
}

const invalidHost = (fault: string): Problem =>
  new Problem('invalid-host', `${fault} Send one, as Host: api.example.com or Host: [2001:db8::1]:3000.`, {
    headers: { Connection: 'close' },
  })

/** Refuses a host that is not one of the service's; the host of an absolute target overrides the header. R17. */
function admitHost({ authority, headers }: Call, hosts: readonly string[] | undefined): void {
  if (!hosts) return
  const host = (authority ?? headers.host ?? '').toLowerCase()
  const name = host.replace(/:\d*$/, '')
  if (hosts.some((one) => [host, name].includes(one.toLowerCase()))) return
  throw new Problem('misdirected-request', `This service does not answer for the host ${host}.`)
}

const originPattern = /^https?:\/\/([^/?#]*)/i

/** Splits a request target into the path with its query, and the authority, null if it names none. R17. */
export function parseTarget(sent: string): Pick<Call, 'target' | 'authority'> {
  if (sent.startsWith('/')) return { target: sent, authority: null }
  const [match, authority] = originPattern.exec(sent) ?? []
  if (match === undefined || authority === undefined) return { target: sent, authority: null }
  const target = sent.slice(match.length)
  return { target: target.startsWith('/') ? target : `/${target}`, authority }
}

const requestIdPattern = /^[\w.-]{1,128}$/

/** The Request-Id of a call: the client's, unless it is malformed or looks like a credential. R27. */
export const requestIdOf = (id: string | undefined, world: ServiceWorld): string =>
  id !== undefined && requestIdPattern.test(id) && redact(id) === id ? id : world.newRequestId()

const traceparentPattern = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/

/** The trace id of `traceparent`; null if it is invalid. Only versions after 00 may have more parts. R26. */
export function traceOf({ headers: { traceparent } }: Call): { traceId: string } | null {
  if (traceparent === undefined) return null
  const [, version, traceId, more] = traceparentPattern.exec(traceparent) ?? []
  return traceId === undefined || (version === '00' && more !== undefined) ? null : { traceId }
}
