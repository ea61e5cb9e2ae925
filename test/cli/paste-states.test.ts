/** The changes that `check` proposes for states are accepted unchanged, and keep the locked version. R195. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, input, now, type Service, service, sum } from 'bylaw'
import { contractAt, gateMistakes, type LocksByLabel } from '../../src/contract/gate.ts'
import { nextLock } from '../../src/contract/lock.ts'
import { verifyService } from '../../src/proof/verify.ts'
import { openSandbox } from '../../src/terminal/sandbox.ts'
import { runsOf } from '../help/runs.ts'

const versions = { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } }
type Part = Readonly<Record<string, unknown>>

const transitions = {
  placements: { from: ['draft'], to: 'placed', set: { placedAt: now } },
  shipments: {
    from: ['placed'],
    to: 'shipped',
    input: { carrier: f.text({ max: 20 }) },
    set: { carrier: input('carrier') },
  },
  cancellations: { from: ['draft', 'placed'], to: 'cancelled' },
  voids: { from: ['draft'], to: 'cancelled', input: { reason: f.text({ max: 9, optional: true }) } },
  expiries: { from: ['draft'], to: 'cancelled', after: 'P7D' },
}
const { placements, shipments, cancellations, voids, expiries } = transitions
const status = { field: 'status', initial: 'draft', transitions }
const total = f.integer({ derived: sum('order-lines', 'quantity'), filter: true })
const placedAt = f.timestamp({ optional: true, readOnly: true })
const carrier = f.text({ max: 50, optional: true, readOnly: true })

/** Orders with these states (none if null), and lines that are written in some of them. */
function shop(states: Part | null, { fields = {}, lines = {}, ...more }: Part = {}): Service {
  const orders = {
    prefix: 'ord',
    fields: { carrier, placedAt, ...(fields as object) },
    ...(states && { states }),
    access: 'public',
  }
  const parent = { resource: 'orders', ...(lines as object) }
  const children = { prefix: 'lin', parent, fields: { quantity: f.integer() }, access: 'public' }
  return service({ name: 'shop', resources: { orders, 'order-lines': children }, ...more } as never) as never
}

const lockOf = (made: Service): LocksByLabel => new Map([['v1', nextLock(contractAt(made, 'v1'), 'v1', null).lock]])
const reported = (made: Service, locks: LocksByLabel): string =>
  gateMistakes(made, locks)
    .map(({ place, reason, mend }) => `${place}\n${reason}\n${mend}`)
    .join('\n\n')

/** Pastes all proposed changes. */
function pasted(before: Service, after: Service): { made: Service; text: string } {
  const locks = lockOf(before)
  const texts = gateMistakes(after, locks).map(({ mend }) => mend.slice(mend.indexOf('.change(')))
  assert.ok(texts.length > 0 && texts.every((one) => one.startsWith('.change(')), reported(after, locks))
  const text = texts.join('')
  const made = new Function('api', 'f', `return api${text}`)(after, f) as Service
  assert.equal(reported(made, locks), '', text)
  return { made, text }
}

const changed = (more: Part, { voids: _, ...rest }: Part = transitions) => ({
  ...status,
  transitions: { ...rest, ...more },
})
const cases: Readonly<Record<string, readonly [before: Service, after: Service, proposed: RegExp]>> = {
  'a field that becomes a state': [
    shop(null, {
      fields: {
        status: f.enum(['draft', 'placed', 'shipped', 'lost'], { default: 'draft', filter: true, sort: true }),
      },
    }),
    shop(status, { versions }),
    /retyped: \{ status: f\.enum\(\['draft', 'lost', 'placed', 'shipped'\], [\s\S]*transitions: \{ written: \{ placed: 'placements' \} \}/,
  ],
  'a transition that another one stands for': [
    shop(status),
    shop(changed({}), { versions }),
    /withdrawn: \{ voids: \{ from: \['draft'\], to: 'cancelled', input: \{ reason: f\.text\(\{ max: 9, optional: true \}\) \}, by: 'cancellations' \} \}/,
  ],
  'a transition that went': [
    shop(status),
    shop({ ...status, transitions: { placements, voids, expiries, cancellations } }, { versions }),
    /withdrawn: \{ shipments: \{ from: \['placed'\], to: 'shipped', input: \{ carrier: f\.text\(\{ max: 20 \}\) \}, refused: 410 \} \}/,
  ],
  'a transition with another name': [
    shop(status),
    shop(
      { ...status, transitions: { placements, voids, expiries, cancellations, dispatches: shipments } },
      { versions },
    ),
    /transitions: \{ renamed: \{ shipments: 'dispatches' \} \}/,
  ],
  'a transition of fewer states': [
    shop(status),
    shop(
      { ...status, transitions: { ...transitions, cancellations: { from: ['draft'], to: 'cancelled' } } },
      { versions },
    ),
    /changed: \{ cancellations: \{ from: \['draft', 'placed'\] \} \}/,
  ],
  'inputs that changed': [
    shop(status),
    shop(
      {
        ...status,
        transitions: {
          ...transitions,
          shipments: { ...shipments, input: { carrier: f.text({ max: 9 }), fast: f.boolean() } },
        },
      },
      { versions },
    ),
    /changed: \{ shipments: \{ input: \{ added: \['fast'\], retyped: \{ carrier: f\.text\(\{ max: 20 \}\) \}, request: \(old\) => \(/,
  ],
  'fewer states that allow writes': [
    shop(status, { lines: { while: ['draft', 'placed'] } }),
    shop({ ...status, writable: { change: ['draft'] } }, { versions, lines: { while: ['draft'] } }),
    /while: \['draft', 'placed'\],[\s\S]*about: 'fewer states allow writes\.',\n\s+writable: \{ change: null \}/,
  ],
  'a state with another name': [
    shop(status),
    shop(
      {
        ...status,
        initial: 'open',
        transitions: {
          placements: { ...placements, from: ['open'] },
          shipments,
          voids: { ...voids, from: ['open'] },
          cancellations: { ...cancellations, from: ['open', 'placed'] },
          expiries: { ...expiries, from: ['open'] },
        },
      },
      { versions },
    ),
    /mapped: \{ status: \{ draft: 'open' \} \},\n\s+\}\)/,
  ],
  'a new state': [
    shop(status),
    shop(changed({ voids, returns: { from: ['shipped'], to: 'returned' } }), { versions }),
    /shown: \{ status: \{ returned: '/,
  ],
  'a state that went': [
    shop(changed({ voids, returns: { from: ['shipped'], to: 'returned' } })),
    shop(status, { versions }),
    /mapped: \{ status: \{ .*returned: '.*withdrawn: \{ returns: \{ from: \['shipped'\], to: 'returned', refused: 410 \}/s,
  ],
  'a shorter timer': [
    shop(status),
    shop({ ...status, transitions: { ...transitions, expiries: { ...expiries, after: 'P1D' } } }, { versions }),
    /changed: \{ expiries: \{ after: 'P7D' \} \}/,
  ],
  'a timer that is new': [
    shop(status),
    shop(
      { ...status, transitions: { ...transitions, losses: { from: ['placed'], to: 'cancelled', after: 'P9D' } } },
      { versions },
    ),
    /transitions: \{ added: \['losses'\] \}/,
  ],
  'a timer that went': [
    shop(status),
    shop({ ...status, transitions: { placements, shipments, cancellations, voids } }, { versions }),
    /withdrawn: \{ expiries: \{ from: \['draft'\], to: 'cancelled', after: 'P7D' \} \}/,
  ],
  'a transition that leads to another state': [
    shop(changed({ voids, archives: { from: ['shipped'], to: 'cancelled' } })),
    shop(changed({ voids, archives: { from: ['shipped'], to: 'placed' } }), { versions }),
    /added: \['archives'\], withdrawn: \{ archives: \{ from: \['shipped'\], to: 'cancelled', refused: 410 \} \}/,
  ],
  'a transition whose former end has another one': [
    shop(status),
    shop(changed({ voids: { ...voids, to: 'placed' } }), { versions }),
    /added: \['voids'\], withdrawn: \{ voids: \{ from: \['draft'\], to: 'cancelled', .*by: 'cancellations' \} \}/,
  ],
  'a timer that leads to another state': [
    shop(status),
    shop(changed({ voids, expiries: { ...expiries, to: 'shipped' } }), { versions }),
    /added: \['expiries'\], withdrawn: \{ expiries: \{ from: \['draft'\], to: 'cancelled', after: 'P7D' \} \}/,
  ],
  'a transition that leads to a new state': [
    shop(status),
    shop(
      changed({
        voids,
        placements: { ...placements, to: 'reviewed' },
        approvals: { from: ['reviewed'], to: 'placed' },
      }),
      { versions },
    ),
    /shown: \{ status: \{ reviewed: 'placed' \} \},\n\s+\}\)/,
  ],
  'a new state that items begin in': [
    shop(status),
    shop(
      { ...status, initial: 'open', transitions: { ...transitions, starts: { from: ['open'], to: 'draft' } } },
      { versions },
    ),
    /shown: \{ status: \{ open: 'draft' \} \},\n\s+\}\)/,
  ],
  'states that ended, whose field is left': [
    shop(status, { lines: { while: ['draft'] } }),
    shop(null, {
      versions,
      fields: {
        status: f.enum(['draft', 'placed', 'shipped', 'cancelled'], { default: 'draft', filter: true, sort: true }),
      },
    }),
    /states: \{ field: 'status', initial: 'draft' \},\n\s+transitions: \{ withdrawn: \{ cancellations: \{ from: \['draft', 'placed'\], to: 'cancelled', refused: 410 \}, .*expiries: \{ from: \['draft'\], to: 'cancelled', after: 'P7D' \} \} \}/,
  ],
  'states that ended with their field': [
    shop(status),
    shop(null, { versions }),
    /removed: \{ status: f\.enum\(.*states: \{ field: 'status', initial: 'draft' \}/s,
  ],
  'a total that clients write then': [
    shop(status, { fields: { total } }),
    shop(status, { versions, fields: { total: f.integer() } }),
    /retyped: \{ total: f\.integer\(\{ default: 0, readOnly: true, filter: true \}\) \},/,
  ],
  'a total that ended': [
    shop(status, { fields: { total } }),
    shop(status, { versions }),
    /removed: \{ total: .*default: 0, readOnly: true.*\},\n\s+response: \(now\) => \(\{ total: 0 \}\),/,
  ],
}

for (const [title, [before, after, proposed]] of Object.entries(cases))
  test(`R195: the proposed change for ${title} is accepted unchanged`, async () => {
    const { made, text } = pasted(before, after)
    assert.match(text, proposed)
    const { ask, close } = await openSandbox(made)
    const created = await ask('v1', { method: 'POST', path: '/orders', body: {} })
    assert.deepEqual([created.status, created.body?.status], [201, 'draft'], text)
    await close()
    const { failure } = await verifyService(made, () => openSandbox(made), { seed: 1, runs: runsOf(20) })
    assert.equal(failure, null, `${text}\n${failure?.says}\n${JSON.stringify(failure?.steps, null, 1)}`)
  })

test('R195: a timer that fires later is no break', () => {
  const later = { ...status, transitions: { ...transitions, expiries: { ...expiries, after: 'P8D' } } }
  assert.equal(reported(shop(later), lockOf(shop(status))), '')
})
