/** Four versions that keep their promises, and what is found if one of them does not. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { f, type Service, service } from '../index.ts'
import type { ResourceChange } from '../resources/change.ts'
import { openSandbox } from '../terminal/sandbox.ts'
import { replayExchanges } from './exchanges.ts'
import { recordExchanges } from './record.ts'
import { type VerifyReport, verifyService } from './verify.ts'
import { versionServices } from './version-service.ts'

type ChangeParts = Partial<ResourceChange>

/** A service of four versions with changes of every kind; `last` replaces parts of the newest change. */
const shop = (last: ChangeParts = {}): Service => {
  const made = service({
    name: 'shop',
    versions: {
      v1: { released: '2026-01-15' },
      v2: { released: '2026-06-01' },
      v3: { released: '2026-11-20' },
      v4: { released: '2026-11-21' },
    },
    resources: {
      accounts: { fields: { country: f.country(), label: f.text({ max: 20 }) }, access: 'public' },
      customers: {
        fields: {
          name: f.text({ max: 50, filter: true, sort: true }),
          email: f.email({ unique: true, filter: true }),
          status: f.enum(['active', 'paused', 'closed'], { filter: true }),
          accountId: f.ref('accounts', { filter: true }),
          score: f.integer({ min: 0, max: 1000 }),
          note: f.text({ default: '' }),
        },
        access: 'public',
      },
      slots: {
        parent: 'accounts',
        key: 'number',
        fields: { number: f.integer({ min: 0, max: 99_999 }), size: f.integer({ min: 1 }) },
        access: 'public',
      },
      notes: {
        parent: 'customers',
        key: 'code',
        fields: { code: f.text({ pattern: '^[a-z]{1,9}$' }), text: f.text() },
        access: 'public',
      },
    },
  }) as unknown as { change: (...given: unknown[]) => typeof made } & Service
  return made
    .change('v4', 'customers', {
      about: '`score` is wider.',
      retyped: { score: f.integer({ min: 0, max: 100 }) },
      request: (old: { score: number }) => ({ score: old.score }),
      response: (now: { score: number }) => ({ score: Math.min(100, now.score) }),
      ...last,
    })
    .change('v4', 'notes', { about: '`code` was `mark`.', renamed: { mark: 'code' } })
    .change('v4', 'slots', { about: '`size` was `width`.', renamed: { width: 'size' } })
    .change('v3', 'customers', {
      about: 'Clients are customers.',
      was: 'clients',
      renamed: { mail: 'email' },
      mapped: { status: { open: 'active', frozen: 'paused' } },
      added: ['note'],
    })
    .change('v2', 'clients', {
      about: 'The country is that of the account.',
      moved: { country: { by: 'accountId', to: 'country' } },
    })
}

const tried = (made: Service): Promise<VerifyReport> =>
  verifyService(made, () => openSandbox(made), { seed: 5, runs: 50 })

test('the promises of all versions hold', async () => {
  const { failure, versions, cases } = await tried(shop())
  assert.equal(failure, null, JSON.stringify(failure, null, 1))
  assert.deepEqual(versions, ['v4', 'v3', 'v2', 'v1'])
  assert.equal(cases.get('customers'), 50)
  assert.equal(cases.get('notes'), 50)
})

test('each version gives its recorded answers', async () => {
  for (const release of versionServices(shop())) {
    const [first, second] = [await openSandbox(shop()), await openSandbox(shop())]
    const exchanges = await recordExchanges(release, first.ask).finally(first.close)
    assert.ok(exchanges.some(({ request, answer }) => request.method === 'PATCH' && answer.status === 200))
    assert.equal(await replayExchanges(exchanges, release.label, second.ask).finally(second.close), null)
  }
})

describe('a change that breaks a version is found:', () => {
  const mutants: [string, ChangeParts, RegExp][] = [
    [
      'an answer beyond the old bound',
      { response: ((now: { score: number }) => ({ score: now.score })) as never },
      /^v[123]: an answer of (customers|clients) does not fit: \/score/,
    ],
    [
      'a request beyond the new one',
      { request: ((old: { score: number }) => ({ score: old.score * 20 })) as never },
      /refuses what it (declares|answered)/,
    ],
  ]
  for (const [name, last, says] of mutants)
    test(name, async () => {
      const { failure } = await tried(shop(last))
      assert.match(String(failure?.says), says)
    })
})
