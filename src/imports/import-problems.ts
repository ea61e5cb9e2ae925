/** Import problems: why an import as a whole is refused, or ends early. R238. */
import { Problem } from '../errors/problem.ts'

export const emptyImport = (): Problem =>
  new Problem(
    'body-required',
    'The content has no items: send each as a line of JSON, or as CSV below a line of names.',
  )

export const importInProgress = (): Problem =>
  new Problem('idempotency-in-progress', 'An import with this key is still running.', {
    headers: { 'Retry-After': '1' },
  })

const mismatchType = 'idempotency-key-payload-mismatch'

export const otherContent = (line: number): Problem =>
  new Problem(
    mismatchType,
    `This idempotency key was used to import other content, which differs in its first ${line} lines or in their number. Use a new key for new content.`,
    { under: 'unprocessable' },
  )

interface RefusedLines {
  readonly failed: number
  readonly errors: readonly Readonly<Record<string, unknown>>[]
}

export const allRefused = ({ failed, ...report }: RefusedLines): Problem =>
  new Problem(
    report.errors.some(({ type }) => type === 'internal-error') ? 'internal-error' : 'validation-failed',
    `${failed === 1 ? 'The only line is' : `All ${failed} lines are`} wrong; nothing was imported.`,
    {
      extra: { ...report, failed },
    },
  )

/** The error that ends an import after some of its lines. Other content needs another key, so it does not go on. */
export function brokenOff(error: unknown, line: number, hasKey: boolean): unknown {
  if (!(error instanceof Problem) || error.type === mismatchType) return error
  const { type, message, violations, headers, extra, under, bare } = error
  const mend = hasKey
    ? `Send it again with the same Idempotency-Key: it goes on after line ${line}.`
    : `Lines up to ${line} were imported; send an Idempotency-Key, so that an import can go on where it ended.`
  const rest = { violations, headers, extra, bare, cause: error.cause, ...(under !== undefined && { under }) }
  return new Problem(type, `${message} ${mend}`, rest)
}
