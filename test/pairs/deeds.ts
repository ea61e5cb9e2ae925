/** Random actions of the caller, chosen by numbers, and their requests. */
import { chooser } from '../help/chooser.ts'
import type { Sent } from '../help/door.ts'
import { factors, type Setup } from './factors.ts'
import { type Deed, type Model, namesIn } from './model.ts'

const texts = ['a', 'b', 'é', 'N1'] as const
const unknown = { made: 'thg_00000000000000000000000000', chosen: 'thg_unknown', own: 'unknown' } as const

/** A request of the caller, chosen by numbers: half of the requests are of the operation of the row. */
export function deedOf(numbers: readonly number[], setup: Setup, model: Model): Deed {
  const choose = chooser(numbers)
  const operation = choose.once(2) ? setup.operation : choose.one(factors.operation)
  const version = choose.once(3) ? choose.one(factors.version) : setup.version
  const item = choose.one([...model.things.keys(), ...model.things.keys(), ...model.gone, unknown[setup.key]])
  const id = operation === 'list' || operation === 'query' || operation === 'create' ? null : item
  const writes = ['create', 'replace', 'change'].includes(operation)
  const body = writes ? bodyOf(choose, { operation, id, setup, model }) : null
  const key =
    operation !== 'create' || setup['idempotency key'] === 'none' || choose.once(4)
      ? null
      : setup['idempotency key'] === 'new'
        ? `key-${model.keys.size}-${numbers.join('').slice(0, 60)}`
        : choose.one(['k1', 'k2'])
  const isPriced = writes && version === 'v1' && setup['moved field'] === 'yes' && choose.once(2)
  return { operation, version, id, body, key, price: isPriced ? choose.one(['1.00', '2.50']) : null }
}

interface About {
  readonly operation: Setup['operation']
  readonly id: string | null
  readonly setup: Setup
  readonly model: Model
}

function bodyOf(choose: ReturnType<typeof chooser>, { operation, id, setup, model }: About): Record<string, unknown> {
  const whole = operation !== 'change'
  const isWanted = (): boolean => choose.once(2)
  const own = setup.key === 'own'
  const fresh = choose.one(['x1', 'x2', 'x3', 'x4'])
  const name = own && id !== null && !choose.once(8) ? id : own ? fresh : choose.one(texts)
  const chosen = setup.key === 'chosen' && operation === 'create' ? { id: `thg_${fresh}` } : {}
  return {
    ...chosen,
    ...((whole || isWanted()) && !choose.once(12) && { name }),
    ...(isWanted() && { note: choose.one([...texts, null]) }),
    ...(isWanted() && { size: choose.one([0, 1, 2, 99, 'x']) }),
    ...((whole || isWanted()) && {
      planId: choose.once(10) ? 'pln_00000000000000000000000000' : choose.one([...model.plans.keys()]),
    }),
    ...(choose.once(5) && { secret: choose.one(texts) }),
    ...(isWanted() && { grade: choose.one(['a', 'b', 'z']) }),
    ...(choose.once(model.hasHint ? 2 : 8) && { hint: choose.one([...texts, null]) }),
  }
}

export function requestOf({
  operation,
  version,
  id,
  body,
  key,
  price,
}: Deed): [method: string, path: string, sent: Sent] {
  const methods = {
    list: 'GET',
    read: 'GET',
    create: 'POST',
    replace: 'PUT',
    change: 'PATCH',
    remove: 'DELETE',
    query: 'QUERY',
  } as const
  const names = namesIn(version)
  const json = body && {
    ...Object.fromEntries(Object.entries(body).map(([name, value]) => [names[name] ?? name, value])),
    ...(price !== null && { price }),
  }
  const path = id === null ? `/${version}/things` : `/${version}/things/${id}`
  const query = operation === 'list' ? '?page_size=100' : ''
  if (operation === 'query')
    return ['QUERY', path, { body: 'page_size=100', headers: { 'content-type': 'application/x-www-form-urlencoded' } }]
  return [
    methods[operation],
    path + query,
    { ...(json && { json }), ...(key && { headers: { 'idempotency-key': key } }) },
  ]
}
