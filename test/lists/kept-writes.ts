/** The lists and the writes of a trial of cached answers. */
import type { Service } from 'bylaw'
import { erased } from '../help/erasing.ts'
import type { Place } from '../help/places.ts'
import { callers, type Trial, type Who } from './kept-trial.ts'

export const officeLists = (trial: Trial): readonly string[] => {
  const order = trial.item('orders').id
  const tag = trial.item('tags').id
  const client = trial.item('clients').id
  return [
    '/v2/orders?sort=number&cursor=&limit=4',
    '/v2/orders?sort=number&order=desc&offset=2&limit=3',
    '/v2/orders?status=open&page=1&page_size=3',
    '/v2/orders?status=paid&sort=total&page=1&page_size=3',
    '/v2/orders?or=(status=lapsed;number[lte]=4)&page=1&page_size=3',
    '/v2/orders?total[gte]=2&sort=lineCount&page=1&page_size=4',
    '/v2/orders?lineCount=1&page=1&page_size=4&fields=number',
    '/v2/orders?price[gte]=1&sort=price&page=1&page_size=4',
    '/v2/orders?search=blue&limit=100&cursor=',
    '/v2/orders?limit=5&cursor=&embed=client,lines,tags',
    '/v2/orders?sort=updatedAt&order=desc&limit=3&cursor=',
    `/v2/orders?clientId=${client}&page=1&page_size=3`,
    '/v2/orders/summaries/by-status',
    '/v2/orders/summaries/by-status?number[gte]=3',
    '/v1/orders?town=Rome&page=1&page_size=3',
    '/v1/orders?sort=town&limit=4&cursor=',
    '/v1/orders?status=open&page=1&page_size=3',
    '/v1/orders/summaries/by-status?town=Rome',
    `/v2/orders/${order}`,
    `/v1/orders/${order}`,
    `/v2/orders/${order}?embed=client,lines,tags`,
    `/v2/orders/${order}/lines?page=1&page_size=3`,
    `/v2/orders/${order}/tags?page=1&page_size=3`,
    `/v2/orders/${order}/tags?embed=orders&sort=name`,
    `/v2/tags/${tag}/orders?page=1&page_size=3`,
    `/v2/tags/${tag}/orders?status=open&sort=number`,
    `/v1/tags/${tag}/orders?town=Rome`,
    `/v1/tags/${tag}?embed=orders`,
    '/v2/lines?amount=1&page=1&page_size=3',
    '/v2/lines?embed=order&limit=4&cursor=',
    '/v2/clients?name[like]=%25a%25&page=1&page_size=2',
    '/v2/clients?sort=city&limit=3&cursor=',
    `/v2/orders/${order}/revisions`,
    '/v2/tags?sort=name&page=1',
  ]
}

export const officeWrites = (trial: Trial, place: Place, api: Service) => {
  const { next, pick } = { next: trial.next, pick: <T>(all: readonly T[]): T => trial.pick(all) }
  const change = (name: string, json: () => object, version = 'v2') => {
    const { id, who } = trial.item(name)
    return trial.send(who, 'PATCH', `/${version}/${name}/${id}`, { json: json() })
  }
  const who = () => pick(Object.keys(callers))
  const order = () => {
    const maker = who()
    const own = (trial.items.clients ?? []).filter((one) => callers[one.who]?.account === callers[maker]?.account)
    const clientId = next(3) && own.length > 0 ? pick(own).id : null
    return [
      maker,
      { number: next(12), note: pick(['a blue one', 'red']), clientId, labels: pick([[], ['red'], ['red', 'big']]) },
    ] as const
  }
  return {
    client: () => trial.create('clients', who(), { name: pick(['Ada', 'Bo', 'Cara']), city: pick(['Rome', 'Bern']) }),
    order: () => trial.create('orders', ...order()),
    line: () => {
      const { id, who: own } = trial.item('orders')
      return trial.create('lines', own, { amount: next(3) }, `/v2/orders/${id}/lines`)
    },
    tag: () => trial.create('tags', who(), { name: pick(['x', 'y', 'z']) }),
    free: () => change('orders', () => ({ free: `${next(1000)}` })),
    memo: () => change('orders', () => ({ memo: `${next(1000)}` }), 'v1'),
    town: () => change('orders', () => ({ town: pick(['Rome', 'Bern']) }), 'v1'),
    city: () => change('clients', () => ({ city: pick(['Rome', 'Bern', null]) })),
    name: () => change('clients', () => ({ name: pick(['Ada', 'Bo', 'Cara']) })),
    number: () => change('orders', () => ({ number: next(12) })),
    labels: () => change('orders', () => ({ labels: pick([[], ['red'], ['big']]) })),
    note: () => change('orders', () => ({ note: pick(['blue', 'green', null]) })),
    price: () => change('orders', () => ({ price: next(4) })),
    amount: () => change('lines', () => ({ amount: next(3) })),
    tagName: () => change('tags', () => ({ name: pick(['x', 'y', 'z']) })),
    state: () => {
      const { id, who: own } = trial.item('orders')
      return trial.send(own, 'POST', `/v2/orders/${id}/${pick(['payments', 'reopenings'])}`)
    },
    unline: () => {
      const { id, who: own } = trial.item('lines')
      return trial.send(own, 'DELETE', `/v2/lines/${id}`)
    },
    remove: () => {
      const { id, who: own } = trial.item('orders')
      return next(4) ? Promise.resolve() : trial.send(own, 'DELETE', `/v2/orders/${id}`)
    },
    link: () => {
      const { id, who: own } = trial.item('orders')
      const tag = trial.item('tags').id
      const paths = [`/v2/orders/${id}/tags/${tag}`, `/v2/tags/${tag}/orders/${id}`]
      const method = pick(['PUT', 'PUT', 'DELETE'])
      return trial.send(own, method, pick(paths), method === 'PUT' ? { json: { weight: next(3) } } : {})
    },
    upload: () => {
      const { id, who: own } = trial.item('orders')
      if (next(3) === 0) return trial.send(own, 'DELETE', `/v2/orders/${id}/scan`)
      return trial.send(own, 'PUT', `/v2/orders/${id}/scan`, {
        body: pick(['a', 'b']),
        headers: { 'content-type': 'text/plain' },
      })
    },
    batch: () => {
      const orders = (trial.items.orders ?? []).filter((one) => one.who === 'ann').map(({ id }) => id)
      const operations = Array.from({ length: 1 + next(3) }, () =>
        pick([
          { method: 'POST', path: '/orders', body: { number: next(12) } },
          { method: 'PATCH', path: `/orders/${pick(orders)}`, body: { free: `${next(100)}` } },
          { method: 'PATCH', path: `/orders/${pick(orders)}`, body: { number: next(12) } },
          { method: 'POST', path: `/orders/${pick(orders)}/lines`, body: { amount: next(3) } },
        ]),
      )
      return orders.length === 0
        ? Promise.resolve()
        : trial.send('ann', 'POST', '/v2/batches', { json: { operations } })
    },
    imports: () => {
      const body = Array.from({ length: 2 }, () => JSON.stringify({ number: next(12) })).join('\n')
      return trial.send(who(), 'POST', '/v2/orders/imports', {
        body,
        headers: { 'content-type': 'application/x-ndjson' },
      })
    },
    time: () => (next(6) ? Promise.resolve() : pick(trial.doors).pass('P2D')),
    erase: async () => {
      const name = pick(['orders', 'clients'])
      const { id, who: own } = trial.item(name)
      if (next(3)) return
      await erased(api, place, name, { id, account: callers[own]?.account as string })
      trial.done.push(`erase ${name} ${id}`)
    },
  }
}

export const deskLists = (trial: Trial): readonly string[] => {
  const task = trial.item('tasks').id
  return [
    '/v2/tasks?sort=number&cursor=&limit=4',
    '/v2/tasks?sort=number&page=1&page_size=3',
    '/v2/tasks?number[gte]=3&page=1&page_size=3',
    '/v2/tasks?assigneeId=ann&page=1&page_size=3',
    '/v2/tasks?or=(assigneeId=bob;number[lte]=4)&page=1&page_size=3',
    '/v2/tasks?price[gte]=1&page=1&page_size=3',
    '/v2/tasks?steps=1&page=1&page_size=3',
    '/v2/tasks?embed=steps&limit=5&cursor=',
    '/v2/tasks?fields=free&limit=5&cursor=',
    '/v1/tasks?sort=number&page=1&page_size=3',
    '/v2/notes?embed=task&sort=number&page=1&page_size=3',
    `/v2/notes?taskId=${task}&page=1`,
    `/v2/tasks/${task}`,
    `/v2/tasks/${task}?embed=steps`,
    `/v2/tasks/${task}/steps?page=1&page_size=3`,
    '/v2/steps?amount=1&page=1&page_size=3',
    '/v2/steps?embed=task&limit=4&cursor=',
  ]
}

export const deskWrites = (trial: Trial) => {
  const { next, pick } = { next: trial.next, pick: <T>(all: readonly T[]): T => trial.pick(all) }
  const whose = () => pick(['ann', 'bob', 'zoe'])
  const as = (who: Who) => (who === 'cat' ? 'cat' : 'eve')
  const change = (name: string, json: () => object) => {
    const { id, who } = trial.item(name)
    return trial.send(as(who), 'PATCH', `/v2/${name}/${id}`, { json: json() })
  }
  return {
    task: () => trial.create('tasks', pick(['eve', 'eve', 'cat']), { number: next(12), assigneeId: whose() }),
    step: () => {
      const { id, who } = trial.item('tasks')
      return trial.create('steps', as(who), { amount: next(3), doerId: whose() }, `/v2/tasks/${id}/steps`)
    },
    note: () => {
      const { id, who } = trial.item('tasks')
      return trial.create('notes', as(who), { number: next(12), taskId: id })
    },
    assign: () => change('tasks', () => ({ assigneeId: whose() })),
    doer: () => change('steps', () => ({ doerId: whose() })),
    free: () => change('tasks', () => ({ free: `${next(100)}` })),
    number: () => change('tasks', () => ({ number: next(12) })),
    price: () => change('tasks', () => ({ price: next(3) })),
    amount: () => change('steps', () => ({ amount: next(3) })),
    unstep: () => {
      const { id, who } = trial.item('steps')
      return trial.send(as(who), 'DELETE', `/v2/steps/${id}`)
    },
  }
}

export const depotLists = (trial: Trial): readonly string[] => {
  const box = trial.item('boxes').id
  const crate = trial.item('crates').id
  return [
    '/v2/boxes?sort=number&cursor=&limit=4',
    '/v2/boxes?sort=rank&order=desc&page=1&page_size=3',
    '/v2/boxes?rank[gte]=5&page=1&page_size=3',
    '/v2/boxes?price[gte]=1&sort=price&page=1&page_size=4',
    '/v2/boxes?status=lapsed&page=1&page_size=3',
    `/v2/boxes?crateId=${crate}&embed=crate&page=1`,
    '/v2/boxes/summaries/by-status',
    '/v1/boxes?sort=rank&page=1&page_size=3',
    '/v1/boxes/summaries/by-status?rank[gte]=4',
    '/v2/crates?sort=load&order=desc&page=1&page_size=3',
    '/v2/crates?load[gte]=1&latest=3&page=1',
    '/v2/marks?text=closed&embed=box&page=1&page_size=3',
    '/v2/marks?sort=text&limit=4&cursor=',
    `/v2/boxes/${box}`,
    `/v1/boxes/${box}?embed=crate`,
    `/v2/crates/${crate}`,
  ]
}

export const depotWrites = (trial: Trial) => {
  const { next, pick } = { next: trial.next, pick: <T>(all: readonly T[]): T => trial.pick(all) }
  const who = () => pick(Object.keys(callers))
  const crateOf = (maker: Who) => {
    const own = (trial.items.crates ?? []).filter((one) => callers[one.who]?.account === callers[maker]?.account)
    return next(4) && own.length > 0 ? pick(own).id : null
  }
  const onBox = (method: string, action = '', json?: object) => {
    const { id, who: own } = trial.item('boxes')
    return trial.send(own, method, `/v2/boxes/${id}${action}`, json === undefined ? {} : { json })
  }
  return {
    crate: () => trial.create('crates', who(), { number: next(12) }),
    box: () => {
      const maker = who()
      return trial.create('boxes', maker, { number: next(12), crateId: crateOf(maker) })
    },
    free: () => onBox('PATCH', '', { free: `${next(100)}` }),
    number: () => onBox('PATCH', '', { number: next(12) }),
    move: () => {
      const { id, who: own } = trial.item('boxes')
      return trial.send(own, 'PATCH', `/v2/boxes/${id}`, { json: { crateId: crateOf(own) } })
    },
    close: () => onBox('POST', '/closings'),
    count: () => onBox('POST', '/counts'),
    dry: () => onBox('PATCH', '?dryRun=true', { number: next(12) }),
    remove: () => (next(4) ? Promise.resolve() : onBox('DELETE')),
    unmark: async () => {
      const { text } = await trial.send('eve', 'GET', '/v2/marks?limit=1&cursor=')
      const [mark] = (JSON.parse(text) as { readonly data: readonly { readonly id: string }[] }).data
      if (mark) await trial.send('eve', 'DELETE', `/v2/marks/${mark.id}`)
    },
    batch: () => {
      const ids = (trial.items.boxes ?? []).filter((one) => one.who === 'ann').map(({ id }) => id)
      const operations = [
        { method: 'POST', path: '/boxes', body: { number: next(12) } },
        ...(ids.length > 0 ? [{ method: 'PATCH', path: `/boxes/${pick(ids)}`, body: { number: next(12) } }] : []),
      ]
      return trial.send('ann', 'POST', '/v2/batches', { json: { operations } })
    },
    imports: () => {
      const body = [1, 2].map(() => JSON.stringify({ number: next(12) })).join('\n')
      return trial.send(who(), 'POST', '/v2/boxes/imports', {
        body,
        headers: { 'content-type': 'application/x-ndjson' },
      })
    },
    time: () => (next(6) ? Promise.resolve() : pick(trial.doors).pass('P2D')),
  }
}
