/** Mistakes in the parts of a change about transitions and states, and names that collide only in an older version. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, service } from '../index.ts'

const versions = { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' } }
const declared = {
  name: 'shop',
  versions,
  settings: { resource: { links: 'all' } },
  resources: {
    sites: {
      prefix: 'sit',
      fields: { phase: f.enum(['open', 'shut'], { default: 'open', filter: true, sort: true }) },
      access: 'public',
    },
    sheep: { prefix: 'she', plural: true, singular: 'voids', fields: {}, access: 'public' },
    orders: {
      prefix: 'ord',
      parent: 'sheep',
      fields: { siteId: f.ref('sites', { optional: true }) },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: {
          placements: {
            from: ['draft'],
            to: 'placed',
            input: { note: f.text({ max: 9 }), fast: f.boolean({ optional: true }) },
          },
          closures: { from: ['draft'], to: 'closed' },
          expiries: { from: ['draft'], to: 'closed', after: 'P1D' },
        },
      },
      access: 'public',
    },
    notes: { prefix: 'not', parent: 'orders', fields: {}, access: 'public' },
  },
}

function mistakes(change: object, resource = 'orders'): string[] {
  const made = service(declared as never) as unknown as { change: (...given: unknown[]) => { resources: unknown } }
  try {
    void made.change('v2', resource, { about: 'It changed.', ...change }).resources
    return []
  } catch (error) {
    const all = (error as { mistakes: { place: string; reason: string }[] }).mistakes
    return all.map(({ place, reason }) => `${place.replace('changes.v2.orders.', '')}: ${reason}`)
  }
}

const transitions = (parts: object) => ({ transitions: parts })
const withdrawn = (more: object) => transitions({ withdrawn: { voids: { from: ['draft'], to: 'closed', ...more } } })
const inputs = (input: object) => transitions({ changed: { placements: { input } } })
const cases: readonly (readonly [change: object, mistake: string])[] = [
  [transitions({ gone: {} }), 'transitions.gone: `gone` is not known here.'],
  [transitions({ added: ['ends'] }), 'transitions: There is no transition "ends" in v2.'],
  [transitions({ changed: { ends: {} } }), 'transitions: There is no transition "ends" in v2.'],
  [withdrawn({}), 'transitions.withdrawn.voids: It does not say what its requests get.'],
  [withdrawn({ refused: 404 }), 'transitions.withdrawn.voids: `refused` is 404.'],
  [withdrawn({ by: 'ends' }), 'transitions.withdrawn.voids: There is no transition "ends" that callers carry out.'],
  [
    withdrawn({ by: 'expiries' }),
    'transitions.withdrawn.voids: There is no transition "expiries" that callers carry out.',
  ],
  [
    withdrawn({ by: 'placements' }),
    'transitions.withdrawn.voids: It leads to closed, but `placements` leads to placed.',
  ],
  [
    withdrawn({ to: 'placed', by: 'placements' }),
    'transitions.withdrawn.voids: Its requests do not give `placements` what it needs: `note`.',
  ],
  [
    withdrawn({ after: 'P1D', refused: 410 }),
    'transitions.withdrawn.voids: It took place by the clock, so no request is refused or carried out.',
  ],
  [
    transitions({ withdrawn: { closures: { from: ['draft'], to: 'closed', refused: 410 } } }),
    'transitions.withdrawn.closures: Before v2 there would be two transitions `closures`.',
  ],
  [inputs({ added: ['speed'] }), 'transitions.changed.placements.input.added: There is no field "speed" in v2.'],
  [
    inputs({ added: ['note'] }),
    'transitions.changed.placements.input.added: Old requests do not contain `note`, which is required.',
  ],
  [
    inputs({ retyped: { note: f.text({ max: 20 }) } }),
    'transitions.changed.placements.input.retyped.note: Old values of `note` may not fit the new input.',
  ],
  [{ states: { field: 'status', initial: 'draft' } }, 'states: orders still has states.'],
  [
    transitions({ added: ['placements'] }),
    'transitions: Before v2 there is no state `placed`, but items can be in it.',
  ],
  [
    transitions({ written: { closed: 'closures' } }),
    'transitions.written: Before v2 nobody wrote `status`, as it was a state.',
  ],
  [{ writable: { change: null } }, 'writable: Every state allows writes now.'],
  [{ while: null }, 'while: Every state of the owner allows writes now.'],
  [
    { renamed: { notesId: 'siteId' } },
    'v1: resources.orders.fields.notesId: Its link would be called `notes`, as that of the list of `notes`.',
  ],
  [
    withdrawn({ by: 'closures' }),
    'v1: resources.orders.states.transitions.voids: Its link would be called `voids`, as that of its owner.',
  ],
  [
    transitions({ renamed: { notes: 'closures' } }),
    'v1: resources.orders.states.transitions.notes: The list of `notes` has the same URL.',
  ],
]
for (const [change, mistake] of cases) test(mistake, () => assert.deepEqual(mistakes(change), [mistake]))

const adopted = { retyped: { status: f.enum(['draft', 'placed', 'closed'], { default: 'draft' }) } }
const written: readonly (readonly [written: object, mistake: string])[] = [
  [{ closed: 'expiries' }, 'transitions.written.closed: `expiries` is not a transition that callers carry out.'],
  [{ placed: 'placements' }, 'transitions.written.placed: `placements` needs input, which no write of a value has.'],
  [{ draft: 'closures' }, 'transitions.written.draft: `closures` leads to closed and not to draft.'],
]
for (const [parts, mistake] of written)
  test(mistake, () => assert.deepEqual(mistakes({ ...adopted, ...transitions({ written: parts }) }), [mistake]))

const ended: readonly (readonly [change: object, mistake: string])[] = [
  [{ states: 'status' }, 'changes.v2.sites.states: It is "status".'],
  [{ states: { field: 'status' } }, 'changes.v2.sites.states: It is an object.'],
  [{ states: { field: 'status', initial: 'open' } }, 'changes.v2.sites.states: There is no field `status`.'],
  [
    {
      states: { field: 'phase', initial: 'open' },
      transitions: { withdrawn: { closures: { from: ['open'], to: 'shut' } } },
    },
    'changes.v2.sites.transitions.withdrawn.closures: It does not say what its requests get.',
  ],
  [
    {
      states: { field: 'phase', initial: 'open' },
      transitions: { withdrawn: { closures: { from: ['open'], to: 'shut', by: 'ends' } } },
    },
    'changes.v2.sites.transitions.withdrawn.closures: There is no transition "ends" that callers carry out.',
  ],
]
for (const [change, mistake] of ended) test(mistake, () => assert.deepEqual(mistakes(change, 'sites'), [mistake]))

test('what is right is accepted', () => {
  assert.deepEqual(mistakes({ ...adopted, ...transitions({ written: { closed: 'closures' } }) }), [])
  const made = {
    removed: { phase: f.enum(['a', 'b']) },
    added: ['status'],
    request: ({ phase }: { phase: string }) => ({ status: phase === 'a' ? 'draft' : 'closed' }),
    response: ({ status }: { status: string }) => ({ phase: status === 'draft' ? 'a' : 'b' }),
  }
  assert.deepEqual(mistakes({ ...made, ...transitions({ written: { b: 'closures' } }) }), [])
  assert.deepEqual(mistakes(inputs({ renamed: { text: 'note' }, added: ['fast'] })), [])
  assert.deepEqual(
    mistakes({ transitions: { withdrawn: { ends: { from: ['draft'], to: 'closed', by: 'closures' } } } }),
    [],
  )
})
