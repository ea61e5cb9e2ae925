/** `bylaw explain`: explains to operators why a request is refused or allowed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { f, service, caller as who } from 'bylaw'
import { type Explanation, explainRequest } from '../../src/cli/explanation.ts'
import { callerOf } from '../../src/flow/credential.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import type { Store } from '../../src/flow/store.ts'
import { type ServiceWorld, serviceWorld } from '../../src/flow/world.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { folder, run } from '../help/command.ts'

const clinic = service({
  name: 'clinic',
  settings: { list: { or: true } },
  scopes: { 'patients:read': 'Read patients', 'patients:write': 'Change patients', pii: 'See personal data' },
  tiers: { free: { hourly: 100 }, pro: { hourly: 9000 }, anonymous: { hourly: 5 } },
  resources: {
    patients: {
      prefix: 'pat',
      owner: 'clinicId',
      fields: { name: f.text(), ssn: f.text({ max: 20, optional: true, filter: true, read: 'pii' }) },
      summaries: { byState: { group: ['state'] }, numbers: { group: ['ssn'] } },
      states: {
        field: 'state',
        initial: 'new',
        transitions: {
          admissions: { from: ['new'], to: 'admitted' },
          discharges: { from: ['admitted'], to: 'new' },
        },
      },
      access: { read: 'patients:read', write: 'patients:write' },
    },
    visits: {
      prefix: 'vis',
      parent: 'patients',
      fields: { on: f.date() },
      embed: ['patient.visits'],
      access: 'authenticated',
    },
    shifts: {
      prefix: 'shi',
      owner: 'clinicId',
      fields: {
        nurseId: f.text({ max: 50, optional: true, personal: true }),
        notes: f.list(f.object({ text: f.text({ optional: true, personal: true }) })),
        open: f.boolean({ default: true }),
      },
      access: {
        read: [{ scope: 'patients:write' }, { where: { nurseId: who } }],
        write: [{ scope: 'patients:write' }, { where: { nurseId: who, open: true } }],
      },
    },
    news: {
      fields: { text: f.text() },
      access: { read: 'public', write: 'authenticated' },
      methods: ['list', 'create'],
    },
  },
})
const scopes = ['patients:read', 'patients:write']
const unknown = 'pat_01h455vb4pex5vsknk084sn02q'

describe('reasons', () => {
  let store: Store
  let world: ServiceWorld
  let [there, gone, shift, mine] = ['', '', '', '']

  before(async () => {
    store = await openStore(clinic, 'sqlite::memory:', 'apply')
    const north = callerOf('test', { account: 'north', scopes, tier: null, features: [] })
    const log = { error: (_: object, says: string) => assert.fail(says), warn: () => {}, info: () => {} }
    world = serviceWorld(realWorld, store)
    const door = fetchDoor({ service: clinic, store, world, log, authenticate: () => north, open: () => true })
    const send = async (method: string, path: string, body?: string) =>
      door(
        new Request(`http://localhost${path}`, {
          method,
          ...(body && { body, headers: { 'content-type': 'application/json', 'content-length': String(body.length) } }),
        }),
      )
    const made = async () => ((await (await send('POST', '/patients', '{"name":"Ann"}')).json()) as { id: string }).id
    ;[there, gone] = [await made(), await made()]
    await send('DELETE', `/patients/${gone}`)
    const madeShift = async (nurseId: string) =>
      ((await (await send('POST', '/shifts', JSON.stringify({ nurseId, open: false }))).json()) as { id: string }).id
    ;[shift, mine] = [await madeShift('ann'), await madeShift('x')]
  })
  after(() => store.close())

  const asked = (
    line: string,
    who: { account?: string; scopes?: string[]; tier?: string } | null,
    invalid: string | null = null,
  ): Promise<Explanation> => {
    const [method = '', target = ''] = line
      .replace('{there}', there)
      .replace('{gone}', gone)
      .replace('{shift}', shift)
      .replace('{mine}', mine)
      .split(' ')
    const caller = who && callerOf('x', { account: null, scopes: [], tier: null, features: [], ...who })
    return explainRequest({ method, target, caller, invalid }, { service: clinic, store, world })
  }
  /** The phase where the request ends, its status, and the reason. */
  const end = async (...given: Parameters<typeof asked>): Promise<string> => {
    const { steps, refusal } = await asked(...given)
    const last = steps.findLast(({ passes }) => passes !== null) ?? assert.fail()
    assert.equal(last.passes, refusal === null)
    return `${refusal?.status ?? 'goes on'} at ${last.step}: ${last.says}`
  }
  const north = { account: 'north', scopes }
  const south = { account: 'south', scopes }

  for (const [line, who, says] of [
    ['GET /nowhere', north, /^404 at route/],
    ['BREW /patients', north, /^405 at route: .*GET, HEAD, OPTIONS, POST/],
    ['GET /patients', null, /^401 at credentials/],
    ['GET /news', null, /^goes on at rule: public/],
    ['POST /news', {}, /^goes on at rule: for all authenticated callers/],
    ['GET /patients', { account: 'north' }, /^403 at rule: .*patients:read/],
    ['GET /patients', { scopes }, /^403 at account: .*belong to accounts/],
    ['GET /patients?ssn=1', north, /^403 at query: .*ssn.*pii/],
    ['GET /patients?sn=1', north, /^400 at query: .*sn is not a parameter here.*Did you mean ssn/],
    ['GET /patients?ssn=1', { account: 'north', scopes: [...scopes, 'pii'] }, /^goes on at query/],
    ['GET /patients?or=(state=new;ssn=1)', north, /^403 at query: .*ssn.*pii/],
    ['GET /patients?fields=name,ssn', north, /^403 at query: .*ssn.*pii/],
    ['GET /patients/{there}?fields=ssn', north, /^403 at query: .*ssn.*pii/],
    ['GET /patients/{there}?fields=sn', north, /^400 at query: .*`sn` is not a field/],
    ['GET /patients/{there}?fields=name', north, /^goes on at item: .* exists/],
    ['GET /patients/summaries/by-state?state=new', north, /^goes on at query/],
    ['GET /patients/summaries/by-state?ssn=1', north, /^403 at query: .*ssn.*pii/],
    ['GET /patients/summaries/by-state?sort=ssn', north, /^400 at query: /],
    ['GET /patients/summaries/by-state', { account: 'north' }, /^403 at rule: .*patients:read/],
    ['GET /patients/summaries/numbers', north, /^403 at query: .*ssn.*pii/],
    ['GET /visits?embed=patient', { account: 'north', scopes: [] }, /^403 at query: .*embed patient.*patients:read/],
    ['GET /visits?embed=patient.nurse', north, /^400 at query: /],
    ['GET /visits?embed=patient.visits', north, /^goes on at query: .*; it embeds patient, patient\.visits/],
    ['GET /shifts', { account: 'north' }, /^goes on at account/],
    ['GET /shifts/{shift}', { account: 'north' }, /^404 at item: .* exists, but not for this caller/],
    ['GET /shifts/{shift}', north, /^goes on at item: .* exists/],
    ['GET /shifts/{mine}', { account: 'north' }, /^goes on at item: .* exists/],
    ['PATCH /shifts/{mine}', { account: 'north' }, /^403 at item: .*nurseId is the id of the caller and open is true/],
    ['DELETE /shifts/{shift}', { account: 'north' }, /^404 at item: .* exists, but not for this caller/],
    ['GET /patients/nonsense', north, /^404 at item/],
    [`GET /patients/${unknown}`, north, /^404 at item: there is no pat_01h455vb4pex5vsknk084sn02q/],
    ['GET /patients/{gone}', north, /^410 at item: .* was deleted/],
    ['GET /patients/{gone}', south, /^404 at item: there is no/],
    ['GET /patients/{there}', south, /^404 at item: .* belongs to another account \(north\)/],
    ['GET /patients/{there}', north, /^goes on at item: .* exists/],
    ['DELETE /patients/{there}', south, /^404 at item: .* belongs to another account/],
    ['GET /patients/{there}/visits', south, /^404 at item: .* belongs to another account/],
    ['POST /patients/{there}/visits', north, /^goes on at item: .* exists/],
    ['POST /patients/{there}/admissions', north, /^goes on at item: .* exists/],
    [
      'POST /patients/{there}/discharges',
      north,
      /^409 at item: Patient is new; discharges are possible while it is admitted/,
    ],
    ['PUT /patients/{there}', south, /^404 at item: .* belongs to another account \(north\)/],
    ['GET /patients?access_token=x', north, /^400 at credentials: access_token looks like a credential/],
    [`PUT /patients/${unknown}`, north, /^goes on at item: .* may be created/],
  ] as const)
    test(`${line} as ${JSON.stringify(who)}`, async () => assert.match(await end(line, who as never), says))

  test('parameters of events are explained', async (t) => {
    const fields = { text: f.text() }
    const shop = service({
      name: 'shop',
      events: true,
      resources: { notes: { prefix: 'not', fields, access: 'public' } },
    })
    const own = await openStore(shop, 'sqlite::memory:', 'apply')
    t.after(() => own.close())
    const endOf = async (target: string) => {
      const given = { service: shop, store: own, world: serviceWorld(realWorld, own) }
      const { steps, refusal } = await explainRequest({ method: 'GET', target, caller: null, invalid: null }, given)
      return `${refusal?.status ?? 'goes on'} at ${steps.findLast(({ passes }) => passes !== null)?.step}`
    }
    assert.equal(await endOf('/events?type=note.created'), 'goes on at query')
    for (const wrong of ['type=note.craeted', 'resource=note', 'since=now', 'cursor=abc', 'limit=0', 'sort=id'])
      assert.equal(await endOf(`/events?${wrong}`), '400 at query', wrong)
  })

  test('paths outside of the resources are explained, with their access', async () => {
    const ask = async (target: string, own: object, caller: object | null) =>
      explainRequest(
        { method: 'GET', target, caller, invalid: null } as never,
        { service: { ...clinic, documents: new Map(), ...own }, store, world } as never,
      )
    for (const target of ['/', '/healthz', '/openapi.json', '/openapi/v1.json?x=1'])
      assert.equal((await ask(target, { settings: clinic.settings }, null)).refusal, null, target)
    const closed = { settings: { ...clinic.settings, openapi: { ...clinic.settings.openapi, public: false } } }
    assert.equal((await ask('/openapi.json', closed, null)).refusal?.type, 'credentials-missing')
    assert.equal((await ask('/openapi.json', closed, {})).refusal, null)
  })
  test('an invalid credential is reported with its reason', async () => {
    assert.match(await end('GET /patients', {}, 'It expired.'), /^401 at credentials: It expired\.$/)
  })

  test('quotas, fields and limits are shown, though they refuse nothing', async () => {
    const reported = async (...given: Parameters<typeof asked>) =>
      Object.fromEntries(
        (await asked(...given)).steps.filter(({ passes }) => passes === null).map(({ step, says }) => [step, says]),
      )
    const change = await reported('PATCH /patients/{there}', { ...north, tier: 'pro' })
    assert.match(change.quota as string, /tier pro: 9000 in 3600 s/)
    assert.match(change.fields as string, /ssn is not shown: it needs pii/)
    assert.match(change.limits as string, /1048576 bytes as application\/merge-patch\+json/)
    assert.equal((await reported('GET /shifts', north)).personal, '`bylaw erase` empties nurseId and notes.text')
    assert.equal(change.personal, undefined)
    assert.match((await reported('GET /news', null)).quota as string, /tier anonymous: 5/)
    assert.match((await reported('GET /patients', { ...north, tier: 'gone' })).quota as string, /tier free: 100/)
  })
})

describe('bylaw explain', { concurrency: 2 }, () => {
  const cwd = folder({
    'api.ts': `import { caller as who, f, service } from 'bylaw'
export default service({ name: 'c', scopes: { see: 'See' }, resources: { notes: { fields: { a: f.text() }, access: 'see' } } })
`,
    'old.ts': `import { caller as who, f, service } from 'bylaw'
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
export default service({ name: 'c', versions, settings: { list: { or: true } }, resources: { notes: { fields: { a: f.text() }, access: 'public' } } })
  .change('v2', 'notes', { about: 'b went.', removed: { b: f.text({ filter: true }) }, response: ({ a }) => ({ b: a }) })
`,
  })
  const said = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(['explain', 'api.ts', ...words], { cwd })
    return `${code} ${stdout}${stderr}`
  }

  test('fields of older versions use columns of their own', async () => {
    const memory = ['--database', 'sqlite::memory:']
    const { stdout } = await run(['explain', 'old.ts', 'GET', '/v1/notes?b=x', ...memory], { cwd })
    assert.match(stdout, /query +passes +.* columns of their own: b:v2/)
    const any = await run(['explain', 'old.ts', 'GET', '/v1/notes?or=(b=x;b=y)', ...memory], { cwd })
    assert.match(any.stdout, /columns of their own: b:v2/)
  })

  test('a key is explained by its state in this database', async () => {
    const made = await run(['keys', 'create', 'api.ts', '--name', 'ci', '--scopes', 'see', '--json'], { cwd })
    const { key } = JSON.parse(made.stdout)
    assert.match(
      await said('get', '/notes', '--as', key),
      /^0 GET \/notes\n\n.*no account, see.*All checks that need no content pass\.\n$/s,
    )
    assert.match(
      await said('GET', '/notes', '--as', `${key}x`),
      /refuses {2}The checksum of the key is wrong.*The answer is 401/s,
    )
    const other = key.slice(0, -7)
    assert.match(await said('GET', '/notes', '--as', other), /checksum/)
    await run(['keys', 'revoke', 'api.ts', '--name', 'ci'], { cwd })
    const revoked = await said('GET', '/notes', '--as', key)
    assert.match(revoked, /The key ci \(key_\w+\) was revoked at 20/)
    assert.ok(!revoked.includes(key))
  })

  test('wrong arguments are reported with the mend', async () => {
    assert.match(
      await said('GET', '/notes', '--as', 'sea', '--database', 'sqlite::memory:'),
      /^1 .*no scope "sea".*Did you mean see\?/s,
    )
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const token = `${part({ alg: 'ES256' })}.${part({ sub: 'ann' })}.c2lnbmF0dXJl`
    const refused = await said('GET', '/notes', '--as', token, '--database', 'sqlite::memory:')
    assert.match(
      refused,
      /^1 .*an access token, which this command does not verify.*--as SCOPES --account ID --id SUBJECT/s,
    )
    assert.ok(!refused.includes(token))
    assert.match(await said('GET', 'notes'), /^1 .*begins with a slash/s)
    assert.match(await said('GET'), /^1 .*needs the path of a request/s)
  })
})
