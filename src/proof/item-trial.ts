/** Item trial: an item on which promises are checked, and faults that any answer can have. Part 9, versions. */
import type { Violation } from '../errors/problem.ts'
import type { Service } from '../service.ts'
import type { Chance } from './chance.ts'
import type { PromiseFault } from './fault.ts'
import type { JsonBody, ResourceInVersion, TrialAnswer, TrialRequest } from './version-service.ts'

/** The life of one item: written in one version, read in another and in the newest one. */
export interface ItemTrial {
  /** The name of the resource in the newest version. */
  readonly name: string
  readonly run: { readonly service: Service; readonly lossy: Map<string, string> }
  readonly writer: ResourceInVersion
  readonly reader: ResourceInVersion
  readonly newest: ResourceInVersion
  readonly request: TrialRequest
  readonly chance: Chance
  readonly send: SendRequest
  /** Makes another request of the same kind. */
  readonly another: () => TrialRequest | undefined
}

export const labelOf = ({ version }: ResourceInVersion): string => version.label

export function refusalFault(
  inVersion: ResourceInVersion,
  { status, body }: TrialAnswer,
  what: string,
  by: PromiseFault['by'] = 'request',
): PromiseFault {
  const label = labelOf(inVersion)
  const errors = body?.errors
  const first = Array.isArray(errors) ? (errors[0] as JsonBody) : undefined
  const pointer = String(first?.pointer ?? '')
  const reason = first ? `${first.pointer ?? first.name ?? ''} ${first.message}` : errorText(body)
  const says = `${label} ${what}: ${status} ${reason}`
  // An internal error names the code that threw; that code may convert in either direction.
  return status >= 500 ? { says, label, by: 'both' } : { says, label, field: pointer.split('/')[1] || undefined, by }
}

/** The message and place of the error that was thrown, or else the message of the answer. */
function errorText(body: JsonBody | null): string {
  const { message = '' } = (body?.cause ?? body ?? {}) as JsonBody
  return String(message)
    .split('\n')
    .slice(0, 2)
    .map((line) => line.trim())
    .join(' ')
}

/** Why a document does not fit a version; null if it does. */
export function misfitFault(inVersion: ResourceInVersion, document: JsonBody): PromiseFault | null {
  const { version, resource } = inVersion
  const { label } = version
  const fault = (says: string, field?: string): PromiseFault => ({ says, label, field, by: 'response' })
  const seen = resource.members.filter(({ writeOnly }) => !writeOnly)
  const lost = seen.find(({ name }) => !Object.hasOwn(document, name))
  if (lost) return fault(`${label} promises \`${lost.name}\` in ${resource.name}, and it is not answered.`, lost.name)
  const strange = Object.keys(document).find((name) => name !== '_links' && !seen.some((one) => one.name === name))
  if (strange) return fault(`${label} does not know \`${strange}\` in ${resource.name}, and it is answered.`)
  for (const { name, check, field } of seen) {
    const faults: Violation[] = []
    const value = document[name]
    if (name === 'id' && !resource.isId(String(value)))
      return fault(`${label}: \`id\` is not an id of ${resource.name}.`)
    if (value === null && field.options.readOnly) continue // not yet set
    const read = check(value, `/${name}`, faults)
    const [first] = faults
    if (first)
      return fault(`${label}: an answer of ${resource.name} does not fit: ${first.pointer} ${first.message}`, name)
    if (JSON.stringify(read) !== JSON.stringify(value))
      return fault(
        `${label}: \`${name}\` of ${resource.name} is answered in another form than ${label} writes it.`,
        name,
      )
  }
  return null
}

export type SendRequest = (inVersion: ResourceInVersion, request: TrialRequest) => Promise<TrialAnswer>
