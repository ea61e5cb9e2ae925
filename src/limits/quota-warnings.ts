/** Quota warnings: names public operations without a quota in a service that declares quotas. Part 8, request counts. */

import { listInWords } from '../formats/naming.ts'
import { ruleFor } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import type { Quotas } from './tier.ts'

/** A warning if callers without credentials have no quota; empty otherwise. R181. */
export function quotaWarnings(quotas: Quotas | null, resources: Iterable<Resource>): string[] {
  if (quotas === null || quotas.anonymous !== null) return []
  const open = [...resources]
    .filter(({ access, methods }) => methods.some((operation) => ruleFor(access, operation) === 'public'))
    .map(({ name }) => name)
  if (open.length === 0) return []
  return [
    `Callers without credentials have no quota, and operations of ${listInWords(open, 'and')} are public. Declare the tier \`anonymous\`, as tiers: { anonymous: { hourly: 1000 } }.`,
  ]
}
