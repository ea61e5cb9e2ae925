/** Verb nouns: the plural noun for a verb, to propose as the name of a transition. Part 4, path rules. */
const nouns = new Map(
  [
    'accept acceptances, activate activations, apply applications, approve approvals, archive archivals, assign assignments',
    'authorize authorizations, book bookings, cancel cancellations, clear clearances, close closures, complete completions',
    'confirm confirmations, create creations, deactivate deactivations, decline refusals, delete deletions, deliver deliveries',
    'disable deactivations, enable activations, expire expiries, fail failures, finish completions, fulfil fulfilments',
    'hold holds, lock locks, open openings, pay payments, place placements, publish publications, refund refunds',
    'register registrations, reject rejections, release releases, remove removals, reopen reopenings, resolve resolutions',
    'restore restorations, resume resumptions, return returns, revoke revocations, send dispatches, ship shipments',
    'sign signatures, start starts, stop stops, submit submissions, suspend suspensions, unlock unlocks',
    'unsubscribe cancellations, validate validations, verify verifications',
  ]
    .join(', ')
    .split(', ')
    .map((pair) => pair.split(' ') as [verb: string, noun: string]),
)

/** The noun for a verb, or for a name that begins with one (`cancel-order`); undefined if it is not known. */
export const nounOf = (name: string): string | undefined => nouns.get(name) ?? nouns.get(name.split('-')[0] as string)
