/** The service of a row of levels. */
import { f, type Service, service } from 'bylaw'
import { audience } from '../help/issuer.ts'
import type { Setup } from './factors.ts'

export const quota = 14

/** How a declaration differs from the newest one. */
export interface DeclarationVariant {
  /** Without the newest version, as before a rolling upgrade. */
  readonly isFormer?: boolean
  /** With one more value of `grade`. */
  readonly isWide?: boolean
  /** Without the field `hint`. */
  readonly isWithoutHint?: boolean
}

/** The types of optional parts of the declaration cannot be inferred. */
type Changing = Service & { change: (...change: unknown[]) => Changing }

const secretOf = (setup: Setup): object => {
  if (setup['hidden field'] === 'none') return {}
  const how = setup['hidden field'] === 'write-only' ? { writeOnly: true } : { read: 'pii' }
  return { secret: f.text({ max: 20, optional: true, ...how } as never) }
}

const keyed = (setup: Setup): object => {
  if (setup.key === 'own') return { key: 'name' }
  return { prefix: 'thg', ...(setup.key === 'chosen' && { settings: { resource: { id: 'client' } } }) }
}

const gradeOf = (setup: Setup, { isWide }: DeclarationVariant) =>
  f.enum(isWide ? ['a', 'b', 'z'] : ['a', 'b'], {
    default: 'a',
    ...(setup['earlier rows'] === 'filled' && !isWide && { fill: 'b' }),
  } as never)

const dates = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }

const settingsOf = (setup: Setup, issuer: string): object => ({
  methods: { query: true },
  idempotency: { mode: setup['idempotency mode'] },
  ...(setup.credential === 'token' && {
    auth: {
      apiKeyHeader: 'X-API-Key',
      tokens: {
        issuer,
        audience,
        jwks: `${issuer}/jwks.json`,
        claims: { scopes: 'scope', account: 'org', tier: 'tier' },
      },
    },
  }),
})

/** The declaration of a row of levels; access tokens are those of the given issuer. */
export function shopOf(setup: Setup, issuer: string, variant: DeclarationVariant = {}): Service {
  const owner = setup.account === 'own' ? { owner: 'accountId' } : {}
  const guarded = setup.scope !== 'not needed'
  const tiers = { quick: { hourly: 100_000 }, few: { hourly: setup.quota === 'used up' ? quota : 100_000 } }
  const made = service({
    name: 'shop',
    versions: { ...dates, ...(!variant.isFormer && { v3: { released: '2026-06-01' } }) },
    settings: settingsOf(setup, issuer),
    scopes: { 'things:use': 'Use things', pii: 'See secrets' },
    ...(setup.quota !== 'none' && { tiers }),
    resources: {
      plans: {
        prefix: 'pln',
        ...owner,
        fields: { title: f.text(), price: f.decimal({ scale: 2, default: '0.00' }) },
        access: 'authenticated',
      },
      things: {
        ...keyed(setup),
        ...owner,
        fields: {
          name: f.text({ max: 50, filter: 'like', sort: true }),
          [variant.isFormer ? 'remark' : 'note']: f.text({ max: 50, optional: true, filter: true }),
          grade: gradeOf(setup, variant),
          ...(!variant.isWithoutHint && { hint: f.text({ max: 50, optional: true, filter: true }) }),
          size: f.integer({ default: 0, min: 0, max: 99, filter: 'range', sort: true }),
          planId: f.ref('plans', { filter: true }),
          ...secretOf(setup),
        },
        access: guarded ? { read: 'things:use', write: 'things:use' } : 'authenticated',
      },
      parts: {
        prefix: 'prt',
        parent: setup.cascade === 'yes' ? { resource: 'things', onDelete: 'cascade' } : 'things',
        fields: { text: f.text() },
        access: guarded ? { read: 'things:use', write: 'things:use' } : 'authenticated',
      },
    },
  } as never) as unknown as Changing
  const moved = setup['moved field'] === 'yes' ? { moved: { price: { by: 'planId', to: 'price' } } } : {}
  const older = variant.isFormer
    ? made
    : made.change('v3', 'things', { about: 'A remark is called `note`.', renamed: { remark: 'note' } })
  return older.change('v2', 'things', { about: 'An amount is called `size`.', renamed: { amount: 'size' }, ...moved })
}
