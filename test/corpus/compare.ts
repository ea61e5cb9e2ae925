/** Compares two answers to one request, and says what differs in words. */
import type { Answer, Exchange, Session } from './exchange.ts'
import { plain } from './names.ts'

export interface Difference {
  /** For example `status`, `header ETag` or `member /data/name`. */
  readonly kind: string
  readonly about: string
}

/** All differences between a recorded answer and the present one. */
export function differencesOf(was: Answer, is: Answer): Difference[] {
  return [
    ...(was.status === is.status ? [] : [{ kind: 'status', about: `was ${was.status}, is ${is.status}` }]),
    ...inHeaders(was.headers.map(withoutPhases), is.headers.map(withoutPhases)),
    ...inBodies(was.body, is.body),
  ]
}

/** `Server-Timing` without the times of phases, as older recordings have only the total. */
const withoutPhases = (line: string): string => line.replace(/^(server-timing: total;dur=[\d.]+), .*$/i, '$1')

const nameOf = (line: string): string => line.slice(0, line.indexOf(':'))

function inHeaders(was: readonly string[], is: readonly string[]): Difference[] {
  if (was.join('\n') === is.join('\n')) return []
  const found: Difference[] = []
  for (const name of new Set([...was, ...is].map(nameOf))) {
    const own = (lines: readonly string[]) =>
      lines.filter((line) => nameOf(line) === name).map((line) => line.slice(name.length + 2))
    const [before, now] = [own(was), own(is)]
    if (before.join('\n') === now.join('\n')) continue
    const shown = (values: readonly string[]) => (values.length === 0 ? 'missing' : values.join(' | '))
    found.push({ kind: `header ${name}`, about: `was ${shown(before)}, is ${shown(now)}` })
  }
  if (found.length > 0) return found
  return [{ kind: 'order of headers', about: `was ${was.map(nameOf).join(', ')}, is ${is.map(nameOf).join(', ')}` }]
}

function inBodies(was: string, is: string): Difference[] {
  if (was === is) return []
  const [before, now] = [parsed(was), parsed(is)]
  if (before === undefined || now === undefined) return [{ kind: 'body', about: `was ${short(was)}, is ${short(is)}` }]
  const members = inValues(before, now, '')
  return members.length > 0
    ? members.slice(0, 20)
    : [{ kind: 'bytes of the body', about: `the same members, written otherwise: was ${short(was)}, is ${short(is)}` }]
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function inValues(was: unknown, is: unknown, pointer: string): Difference[] {
  if (isObject(was) && isObject(is) && Array.isArray(was) === Array.isArray(is)) {
    const names = [...new Set([...Object.keys(was), ...Object.keys(is)])]
    return names.flatMap((name) => inValues(was[name], is[name], `${pointer}/${name}`))
  }
  if (JSON.stringify(was) === JSON.stringify(is)) return []
  const kind = `member ${pointer.replace(/\/\d+(?=\/|$)/g, '/…')}`
  return [
    { kind, about: `${pointer || 'the body'} was ${short(JSON.stringify(was))}, is ${short(JSON.stringify(is))}` },
  ]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const short = (text: string | undefined): string =>
  text === undefined ? 'missing' : text === '' ? 'empty' : text.length > 300 ? `${text.slice(0, 300)}…` : text

export interface Verdict {
  readonly requests: number
  readonly differing: number
  readonly kinds: Readonly<Record<string, number>>
  readonly shown: readonly string[]
}

/** How many differences of one request are shown. */
const mostOfOne = 5

/** Collects differences: each kind is counted, and the first ones are shown with their requests. */
export class Judge {
  private requests = 0
  private differing = 0
  private readonly kinds = new Map<string, number>()
  private readonly shown: string[] = []
  private readonly most: number

  constructor(most = 20) {
    this.most = most
  }

  compare(
    { setting }: Pick<Session, 'setting'>,
    number: number,
    { request, kind, fault, answer }: Exchange,
    is: Answer,
  ): void {
    this.requests++
    const found = differencesOf(answer, is)
    if (found.length === 0) return
    this.differing++
    for (const one of found) this.kinds.set(one.kind, (this.kinds.get(one.kind) ?? 0) + 1)
    if (this.shown.length >= this.most) return
    const { method, target, headers, body = '', raw, who } = request
    const said = raw !== undefined ? JSON.stringify(raw.slice(0, 600)) : `${method} ${target}${who ? ` as ${who}` : ''}`
    const lines = headers.map(([name, value]) => `    ${name}: ${value}`)
    const about = found.slice(0, mostOfOne).map((one) => `  ${one.kind}: ${one.about}`)
    if (found.length > mostOfOne) about.push(`  and ${found.length - mostOfOne} more`)
    const head = `${setting.name}, request ${number} (${kind}${fault ? `, ${fault}` : ''})\n    ${said}`
    this.shown.push(plain([head, ...lines, ...(body ? [`    ${short(body)}`] : []), ...about].join('\n')))
  }

  verdict(): Verdict {
    return {
      requests: this.requests,
      differing: this.differing,
      kinds: Object.fromEntries(this.kinds),
      shown: this.shown,
    }
  }
}

export function reportOf({ requests, differing, kinds, shown }: Verdict): string {
  if (differing === 0) return `${requests} requests, each answered as recorded.`
  const counts = Object.entries(kinds)
    .sort((a, b) => b[1] - a[1])
    .map(([kind, count]) => `${String(count).padStart(7)}  ${kind}`)
  return `${shown.join('\n\n')}\n\n${differing} of ${requests} requests are answered otherwise than recorded:\n${counts.join('\n')}`
}

/** Adds up the verdicts of several processes. */
export function joined(verdicts: readonly Verdict[], most: number): Verdict {
  const kinds: Record<string, number> = {}
  for (const verdict of verdicts)
    for (const [kind, count] of Object.entries(verdict.kinds)) kinds[kind] = (kinds[kind] ?? 0) + count
  const sum = (of: (verdict: Verdict) => number) => verdicts.reduce((all, verdict) => all + of(verdict), 0)
  return {
    requests: sum(({ requests }) => requests),
    differing: sum(({ differing }) => differing),
    kinds,
    shown: verdicts.flatMap(({ shown }) => shown).slice(0, most),
  }
}
