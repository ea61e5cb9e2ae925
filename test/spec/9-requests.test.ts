/** Contract section 13: requests made from descriptions are accepted if valid, else refused; all answers are described. R217. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { f, service } from 'bylaw'
import orders from '../../examples/orders/handlers.ts'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import type { Service } from '../../src/service.ts'
import { type As, testing } from '../../src/testing.ts'
import { archive, archivist, keeper, museum } from '../help/archive.ts'
import { type Answer, type Door, spec } from '../help/door.ts'
import { elsewhere } from '../help/elsewhere.ts'
import { eventShop, hookShop, thinShop } from '../help/events.ts'
import history from '../help/history.ts'
import { keyService } from '../help/key-service.ts'
import { listService } from '../help/list-service.ts'
import { tried } from '../help/requests.ts'
import { runsOf } from '../help/runs.ts'
import type { Doc } from '../help/schemas.ts'
import shop from '../help/shop.ts'
import { tenants } from '../help/tenants.ts'

const hookScopes = ['order-notes:read', 'webhook-endpoints:read', 'webhook-endpoints:write']
const hookCaller: As = { account: 'acc_a', scopes: hookScopes }

const searched = service({
  name: 'library',
  resources: {
    books: {
      prefix: 'bok',
      fields: {
        title: f.text({ max: 80, search: true, sort: true }),
        tags: f.list(f.text({ max: 20 }), { max: 5, search: true }),
      },
      access: 'public',
    },
  },
})

/** Services with the caller, and messages for values that only an older version accepts. */
const services: readonly [Service, As?, RegExp?][] = [
  [shop],
  [orders],
  [listService],
  [searched],
  [keyService],
  [history, {}, /(?:firstName|lastName) must be at most 200 characters long/],
  [archive, archivist],
  [museum, keeper],
  [eventShop, { scopes: ['orders:read', 'orders:write'] }],
  [thinShop],
  // Nothing is delivered, as no time passes.
  [hookShop, hookCaller, /There are no events of the type/],
  [tenants, { account: 'acc_a', scopes: ['deals:read', 'deals:write'] }],
]

/** Sends requests to one version of a service as a caller with all rights. */
function asking(
  service: Service,
  version: string,
  as: As | undefined,
): { send: Door['send']; close: () => Promise<void> } {
  const { call, close } = testing(service)
  const send: Door['send'] = async (method, path, { json, headers = {} } = {}) => {
    const init = { method, headers: { version, ...headers }, ...(json === undefined ? {} : { json }) }
    const response = await call(path, as ? { ...init, as } : init)
    const text = await response.text()
    const bytes = Buffer.from(text)
    const parsed: unknown = text === '' ? null : JSON.parse(text)
    const answer: Answer = {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text,
      bytes,
      json: parsed,
    }
    return answer
  }
  return { send, close }
}

/** The requests are the same in each run, unless a seed is given. */
const seed = Number(process.env.BYLAW_TEST_SEED ?? 2026)

for (const [service, as, narrow] of services)
  describe(`requests from the description of ${service.name} (BYLAW_TEST_SEED=${seed})`, () => {
    for (const label of service.editions.keys())
      spec('R215 R217', `${label} does what its description says, and nothing else`, async () => {
        const { send, close } = asking(service as Service, label, as)
        try {
          const verdict = await tried({
            document: openapiDocument(service, label, standardCorridor) as Doc,
            send,
            seed,
            runs: runsOf(4),
            ...(narrow && { narrow }),
          })
          const { complaints, right, done, wrong } = verdict
          assert.ok(complaints.length === 0, `${complaints.length} complaints:\n${complaints.slice(0, 12).join('\n')}`)
          assert.ok(
            done > right / 3 && wrong > 50,
            `Of ${right} right requests ${done} were done, and ${wrong} wrong ones were sent.`,
          )
        } finally {
          await close()
        }
      })

    if (service.editions.size > 1)
      spec('R194 R215', 'no version accepts what only others describe', async () => {
        const documents = new Map(
          [...service.editions.keys()].map((label) => [label, openapiDocument(service, label, standardCorridor)]),
        )
        for (const [label, document] of documents) {
          const { send, close } = asking(service, label, as)
          try {
            const { complaints, asked } = await elsewhere(document, [...documents.values()], send)
            assert.deepEqual([label, complaints], [label, []])
            assert.ok(asked > 5, `Only ${asked} operations and parameters of other versions were asked for.`)
          } finally {
            await close()
          }
        }
      })
  })
