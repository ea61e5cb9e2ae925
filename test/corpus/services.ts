/** The services of the corpus, each with its callers. Names and holders must not change, because the corpus refers to them. */
import type { Service } from 'bylaw'
import { archive, archivist, keeper, museum } from '../help/archive.ts'
import { callers, hidingService } from '../help/hiding-service.ts'
import history from '../help/history.ts'
import { keyService } from '../help/key-service.ts'
import large from '../help/large.ts'
import { listService } from '../help/list-service.ts'
import orders from '../help/orders.ts'
import { unversioned, versions } from '../help/pairs.ts'
import shop from '../help/shop.ts'
import { holders as clerks, staff } from '../help/staff.ts'
import { holders as renters, tenants } from '../help/tenants.ts'
import { listedServices } from '../lists/listed-services.ts'
import { factors, type Setup } from '../pairs/factors.ts'
import { shopOf } from '../pairs/shop.ts'
import { orderedService } from '../store/ordered-service.ts'
import torture from '../torture/api.ts'
import { club, narrow, store, theatre, tiered } from './odd.ts'
import { tokenService, tokens } from './token-service.ts'

export interface Holder {
  readonly account?: string | null
  readonly scopes?: readonly string[]
  readonly tier?: string | null
}

export interface CorpusService {
  readonly service: Service
  readonly holders: Readonly<Record<string, Holder>>
  /** Access tokens of further holders. */
  readonly tokens?: Readonly<Record<string, string>>
  /** The holder with all rights; missing if every caller has them. */
  readonly main?: string
}

const everybody = (service: unknown): CorpusService => ({ service: service as Service, holders: {} })
const known = (service: unknown, main: string, holders: CorpusService['holders']): CorpusService => ({
  service: service as Service,
  holders,
  main,
})

/** Combinations of levels of test/pairs that contain each level of each factor that changes the declaration. */
const rows: readonly Partial<Setup>[] = [
  { key: 'made', account: 'own', scope: 'held', cascade: 'yes', 'moved field': 'yes', 'hidden field': 'takes a scope' },
  {
    key: 'chosen',
    'idempotency mode': 'replay',
    account: 'own',
    scope: 'not needed',
    cascade: 'yes',
    'moved field': 'yes',
    quota: 'plenty',
  },
  { key: 'own', account: 'none', scope: 'held', 'moved field': 'yes', 'hidden field': 'write-only' },
  { key: 'made', account: 'none', scope: 'lacking', cascade: 'yes', quota: 'used up' },
  { key: 'chosen', account: 'none', scope: 'held', 'hidden field': 'write-only', quota: 'plenty' },
  { key: 'own', account: 'own', scope: 'held', cascade: 'yes', 'moved field': 'no', 'hidden field': 'takes a scope' },
]

function paired(row: Partial<Setup>): CorpusService {
  const first = Object.fromEntries(Object.entries(factors).map(([name, [level]]) => [name, level])) as Setup
  const setup = { ...first, ...row }
  const account = setup.account === 'own' ? 'north' : null
  const scopes = setup.scope === 'lacking' ? [] : ['things:use']
  return known(shopOf(setup, 'https://issuer.example.com'), 'amy', {
    amy: { account, scopes: ['things:use', 'pii'], tier: 'quick' },
    ann: { account, scopes, tier: 'few' },
  })
}

const files = { vic: { account: 'south', scopes: [] } }
const [older, newer] = versions()
const [before, after] = unversioned()

export const corpusServices: Readonly<Record<string, CorpusService>> = {
  shop: everybody(shop),
  orders: everybody(orders),
  market: everybody(listService),
  desk: everybody(keyService),
  history: everybody(history),
  archive: known(archive, 'archivist', { archivist, reader: { scopes: ['books:read'], tier: 'free' } }),
  museum: known(museum, 'keeper', { keeper, guest: { account: 'acc_2', scopes: ['pieces:read'], tier: 'free' } }),
  tenants: known(tenants, 'ann', renters),
  clinic: known(hidingService(), 'amy', callers),
  'clinic, shared': known(hidingService({ sharedPlans: true, sharedRooms: true }), 'amy', callers),
  staff: known(staff, 'ann', { ...clerks, ...files }),
  board: everybody(orderedService),
  large: everybody(large),
  torture: everybody(torture),
  club: everybody(club),
  tiered: known(tiered, 'pia', {
    pia: { tier: 'pro', scopes: ['notes:write'] },
    ann: { tier: 'free' },
    tim: { tier: 'team', scopes: ['notes:write'] },
    sid: { tier: 'site' },
    old: { tier: 'gold' },
  }),
  'tiered, few': known(tiered, 'tim', {
    tim: { tier: 'team', scopes: ['notes:write'] },
    tom: { tier: 'team' },
    ann: { tier: 'free' },
  }),
  store: known(store, 'amy', {
    amy: { account: 'north', scopes: ['clear', 'trim'] },
    ann: { account: 'north', scopes: [] },
    sam: { account: 'south', scopes: ['trim'] },
  }),
  office: {
    service: tokenService as unknown as Service,
    holders: { key: { scopes: ['files:read'] } },
    tokens,
    main: 'writer',
  },
  theatre: known(theatre, 'north', { north: { account: 'north' }, south: { account: 'south' } }),
  narrow: everybody(narrow),
  'pairs of versions, old': everybody(older),
  'pairs of versions': everybody(newer),
  'pairs, old': everybody(before),
  pairs: everybody(after),
  ...Object.fromEntries(listedServices.map(({ service }) => [`hall ${service.name}`, everybody(service)])),
  ...Object.fromEntries(rows.map((row, i) => [`pairs shop ${i + 1}`, paired(row)])),
}
