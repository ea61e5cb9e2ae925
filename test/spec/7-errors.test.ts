/** Part 7 of the contract: the form of all errors. */
import assert from 'node:assert/strict'
import { f, Problem, service } from 'bylaw'
import { catalogue } from '../../src/errors/catalogue.ts'
import { doors, spec } from '../help/door.ts'
import { isError } from '../help/errors.ts'

const fields = { name: f.text() }
const api = service({ name: 'errors', resources: { things: { prefix: 'thg', fields, access: 'public' } } })

/** Appendix A, and the class of ranges of files: status, class, parent class, and types. */
const table: readonly (readonly [status: number, name: string, above: string, types: string])[] = [
  [
    400,
    'invalid-request',
    '',
    'malformed-request invalid-host invalid-url-encoding unexpected-body body-required malformed-json duplicate-json-key invalid-encoding invalid-precondition credentials-in-url ambiguous-credentials',
  ],
  [
    400,
    'validation-failed',
    'invalid-request',
    'field-required unknown-field read-only-field immutable-field invalid-type invalid-format invalid-value out-of-range too-long too-short too-many-items',
  ],
  [
    400,
    'invalid-query',
    'invalid-request',
    'unknown-parameter repeated-parameter invalid-parameter-value unsupported-filter unsupported-operator unsupported-sort unsupported-embed unsupported-field unsupported-pagination pagination-conflict invalid-cursor cursor-mismatch cursor-expired',
  ],
  [
    400,
    'invalid-idempotency-key',
    'invalid-request',
    'idempotency-key-missing idempotency-key-invalid idempotency-key-mismatch',
  ],
  [400, 'invalid-version', 'invalid-request', 'unsupported-version version-conflict version-required'],
  [401, 'unauthenticated', '', 'credentials-missing invalid-credentials'],
  [403, 'forbidden', '', 'access-denied insufficient-scope'],
  [404, 'not-found', '', 'resource-not-found route-not-found unknown-version'],
  [405, 'method-not-allowed', '', ''],
  [406, 'not-acceptable', '', ''],
  [408, 'request-timeout', '', ''],
  [
    409,
    'conflict',
    '',
    'idempotency-key-reused idempotency-key-payload-mismatch idempotency-in-progress already-exists invalid-state patch-conflict has-dependents',
  ],
  [410, 'gone', '', 'resource-deleted version-retired'],
  [412, 'precondition-failed', '', ''],
  [413, 'content-too-large', '', ''],
  [414, 'uri-too-long', '', ''],
  [415, 'unsupported-media-type', '', 'unsupported-charset unsupported-content-coding'],
  [416, 'range-not-satisfiable', '', ''],
  [417, 'expectation-failed', '', ''],
  [421, 'misdirected-request', '', ''],
  [422, 'unprocessable', '', ''],
  [428, 'precondition-required', '', ''],
  [429, 'too-many-requests', '', 'quota-exceeded too-many-concurrent-requests'],
  [431, 'header-fields-too-large', '', ''],
  [500, 'internal-error', '', 'version-conversion-failed'],
  [501, 'not-implemented', '', ''],
  [503, 'unavailable', '', 'timeout overloaded maintenance dependency-unavailable'],
]

const rows = table.flatMap(([status, name, above, types]) => {
  const chain = [name, above, status < 500 ? 'client-error' : 'server-error', 'error'].filter(Boolean)
  const below = types
    .split(' ')
    .filter(Boolean)
    .map((type) => ({ status, type, chain: [type, ...chain] }))
  return [{ status, type: name, chain }, ...below]
})

let thrown: Problem | null = null
const thing = '/things/thg_00000000000000000000000000'

doors(
  'the catalogue',
  api,
  (door) => {
    spec('R149 R150 R152', 'every type has its status and its chain from special to general', async () => {
      for (const { type, status, chain } of rows) {
        thrown = new Problem(type, 'Said in words.')
        const answer = await door.send('GET', thing)
        assert.equal(answer.status, status, type)
        const requestId = status >= 500 ? { requestId: answer.headers['request-id'] } : {}
        const message = type === 'internal-error' ? 'The service failed to handle the request.' : 'Said in words.'
        assert.deepEqual(answer.json, { message, ...requestId, type, types: chain })
        isError(answer)
      }
    })
    spec('R150', 'the catalogue has these types and no others', () => {
      const general = ['error', 'client-error', 'server-error']
      assert.deepEqual([...catalogue.keys()].sort(), [...rows.map(({ type }) => type), ...general].sort())
    })
    spec('R98 R150', 'a type with two classes has the class and the status of its use', async () => {
      const twice = [
        ['version-retired', undefined, 410, ['version-retired', 'gone', 'client-error', 'error']],
        [
          'version-retired',
          'invalid-version',
          400,
          ['version-retired', 'invalid-version', 'invalid-request', 'client-error', 'error'],
        ],
        [
          'idempotency-key-payload-mismatch',
          'unprocessable',
          422,
          ['idempotency-key-payload-mismatch', 'unprocessable', 'client-error', 'error'],
        ],
      ] as const
      for (const [type, under, status, types] of twice) {
        thrown = new Problem(type, 'Said.', under === undefined ? {} : { under })
        const answer = await door.send('GET', thing)
        assert.deepEqual([answer.status, answer.json.types], [status, types])
      }
    })
    spec(
      'R149',
      'a refusal that caused a refusal is its cause, at most five deep; a failure is not shown',
      async () => {
        const deep = (n: number): Problem =>
          new Problem('conflict', `Level ${n}.`, {
            cause: n < 8 ? deep(n + 1) : new Error('inside'),
            extra: { level: n },
          })
        thrown = deep(0)
        const { json } = await door.send('GET', thing)
        const levels: number[] = []
        for (let one = json; one; one = one.cause) levels.push(one.level)
        assert.deepEqual(levels, [0, 1, 2, 3, 4, 5])
        assert.deepEqual(json.cause.types, ['conflict', 'client-error', 'error'])
        for (const cause of [new Error('inside'), 'inside', new Problem('unavailable', 'inside')]) {
          thrown = new Problem('conflict', 'No.', { cause })
          assert.deepEqual(Object.keys((await door.send('GET', thing)).json), ['message', 'type', 'types'])
        }
      },
    )
    spec('R149 R160', 'further members never take the place of those that every error has', async () => {
      const extra = {
        message: 'x',
        type: 'x',
        types: 'x',
        status: 'x',
        detail: 'x',
        title: 'x',
        instance: 'x',
        old_id: 'ord_1',
      }
      thrown = new Problem('conflict', 'No.', { extra })
      const plain = (await door.send('GET', thing)).json
      assert.deepEqual(
        [plain.message, plain.type, plain.types, plain.old_id],
        ['No.', 'conflict', ['conflict', 'client-error', 'error'], 'ord_1'],
      )
      const rich = (await door.send('GET', thing, { headers: { accept: 'application/problem+json, */*' } })).json
      assert.deepEqual(
        [rich.type, rich.title, rich.status, rich.detail, rich.types, rich.old_id],
        ['/problems/conflict', 'Conflict', 409, 'No.', ['conflict', 'client-error', 'error'], 'ord_1'],
      )
      assert.match(rich.instance, /^urn:uuid:/)
    })
  },
  {
    store: (store) => ({
      ...store,
      execute: () => {
        throw thrown
      },
    }),
  },
)
