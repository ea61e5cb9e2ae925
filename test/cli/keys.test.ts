/** `bylaw keys`, and the key that `bylaw dev` creates. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, launch, run, served } from '../help/command.ts'
import { pasted } from '../help/paste.ts'

const files = `import { f, service } from 'bylaw'

export default service({
  name: 'office',
  scopes: { 'files:read': 'Read files', 'files:write': 'Change files' },
  resources: {
    files: { prefix: 'fil', fields: { text: f.text() }, access: { read: 'files:read', write: 'files:write' } },
  },
})
`

interface Shown {
  readonly key: string
  readonly id: string
  readonly state: string
  readonly expires: string | null
  readonly [name: string]: unknown
}

const cwd = folder({ 'api.ts': files })
const keys = async (words: string, env = {}) => {
  const [word = '', ...flags] = words.split(' ')
  return run(['keys', word, 'api.ts', ...flags], { cwd, env })
}
const json = async <T = Shown>(words: string): Promise<T> => {
  const { code, stdout, stderr } = await keys(`${words} --json`)
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as T
}
const get = async (url: string, key: string) =>
  (await fetch(`${url}/files`, { headers: { authorization: `Bearer ${key}` } })).status

describe('keys', () => {
  test('a key is made, shown once, used, rotated and revoked, while the service runs', async () => {
    const { url, stop, said } = await served(['api.ts'], { cwd })
    const first = await json('create --name ci --scopes files:read --account acc_1 --features a,b --expires P90D')
    assert.match(first.key, /^bylaw_[0-9A-Za-z]{49}$/)
    const { id, created, expires, key, ...rest } = first
    assert.deepEqual(rest, {
      name: 'ci',
      account: 'acc_1',
      scopes: ['files:read'],
      tier: null,
      features: ['a', 'b'],
      state: 'in force',
      revoked: null,
    })
    assert.equal(Date.parse(expires as string) - Date.parse(created as string), 90 * 86_400_000)
    assert.equal(await get(url, key), 200)
    const second = await json('rotate --name ci')
    assert.deepEqual([second.account, second.scopes, second.name], ['acc_1', ['files:read'], 'ci'])
    assert.equal(await get(url, second.key), 200)
    assert.equal(await get(url, key), 200)
    const third = await keys('rotate --name ci')
    assert.equal(third.code, 1)
    assert.match(third.stderr, new RegExp(`Two keys ci .*\n.*bylaw keys revoke api\\.ts --id ${id}`))
    assert.equal((await keys(`revoke --id ${id}`)).stdout, `${id} (ci) is revoked.\n`)
    assert.equal(await get(url, key), 401)
    assert.equal(await get(url, second.key), 200)
    const all = await json<Shown[]>('list')
    assert.deepEqual(
      all.map(({ id, state }) => [id, state]),
      [
        [id, 'revoked'],
        [second.id, 'in force'],
      ],
    )
    assert.ok(!JSON.stringify(all).includes('hash') && !JSON.stringify(all).includes(second.key))
    assert.equal((await keys('revoke --name ci')).code, 0)
    assert.equal(await get(url, second.key), 401)
    assert.equal(await stop(), 0)
    for (const secret of [key, second.key]) assert.ok(!said.stdout.includes(secret))
  })
  test('the output is a table, with how to send a key', async () => {
    const made = await keys('create --name shop --scopes files:read')
    const [key = ''] = made.stdout.split('\n')
    assert.match(made.stdout, /This is the key shop \(key_\w+\), shown this once\. It has files:read\./)
    assert.ok(made.stdout.includes(`-H 'Authorization: Bearer ${key}'`))
    assert.match(
      made.stderr,
      /^There is no BYLAW_PEPPER, .* With NODE_ENV=production, .* it is refused: .*openssl rand/,
    )
    const { stdout } = await keys('list --name shop')
    assert.match(
      stdout,
      /^name +id +state +scopes +tier +account +created +expires\nshop +key_\w+ +in force +files:read +- +- +\S+Z +never\n$/,
    )
  })
  for (const [words, reason, mend] of [
    ['make', /has no action "make"/, /create, list, revoke and rotate/],
    ['creat --name a', /has no action "creat"/, /bylaw keys create/],
    ['create', /name of the key is missing/, /--name ci/],
    ['create --name a/b', /not a valid name of a key/, /--name ci/],
    ['create --name new --scopes file:read', /--scopes: there is no "file:read"/, /files:read/],
    ['create --name new --tier pro', /--tier: there is no "pro"/, /declares none/],
    ['create --name new --expires tomorrow', /--expires .* not "tomorrow"/, /P90D/],
    ['create --name new --expires 2020-01-01T00:00:00Z', /a time in the future/, /P90D/],
    ['create --name shop', /a key shop in force already/, /bylaw keys rotate api\.ts --name shop/],
    ['rotate --name nobody', /No key nobody is in force/, /bylaw keys create api\.ts --name nobody/],
    ['revoke --name nobody', /No key nobody is in force/, /bylaw keys list api\.ts/],
    ['revoke --id key_1', /no key key_1/, /bylaw keys list api\.ts/],
  ] as const)
    test(`bylaw keys ${words} is refused with the mend`, async () => {
      const { code, stderr } = await keys(words)
      assert.equal(code, 1)
      assert.match(stderr, reason)
      assert.match(stderr, mend)
    })
})

describe('the pepper', () => {
  const production = { NODE_ENV: 'production' }
  test('in production a start without a pepper is refused with the mend', async () => {
    await run(['migrate', 'apply', 'api.ts'], { cwd })
    for (const words of [
      ['serve', 'api.ts', '--port', '0'],
      ['keys', 'create', 'api.ts', '--name', 'x'],
    ]) {
      const { code, stderr } = await run(words, { cwd, env: production })
      assert.equal(code, 1)
      assert.match(stderr, /need a pepper/)
      assert.match(stderr, /openssl rand -base64 32[\s\S]*BYLAW_PEPPER/)
    }
    const short = await run(['serve', 'api.ts', '--port', '0'], { cwd, env: { ...production, BYLAW_PEPPER: 'short' } })
    assert.match(short.stderr, /shorter than 16/)
    const gone = await run(['serve', 'api.ts', '--port', '0'], {
      cwd,
      env: { ...production, BYLAW_PEPPER_FILE: './none' },
    })
    assert.match(gone.stderr, /BYLAW_PEPPER_FILE cannot be read/)
  })
  test('keys belong to their pepper; while it changes, both are accepted', async () => {
    writeFileSync(join(cwd, 'pepper'), 'the first pepper of all\n')
    const old = { ...production, BYLAW_PEPPER_FILE: './pepper' }
    const made = await run(['keys', 'create', 'api.ts', '--name', 'peppered', '--scopes', 'files:read', '--json'], {
      cwd,
      env: old,
    })
    const { key } = JSON.parse(made.stdout) as Shown
    assert.equal(made.stderr, '')
    for (const [pepper, status] of [
      ['the first pepper of all', 200],
      ['another pepper in turn', 401],
      ['another pepper in turn,the first pepper of all', 200],
    ] as const) {
      const { url, stop } = await served(['api.ts'], {
        cwd,
        env: { ...production, BYLAW_PEPPER: pepper },
      })
      assert.equal(await get(url, key), status, pepper)
      await stop()
    }
  })
})

test('bylaw dev makes a key with all scopes, prints it, and accepts it', async () => {
  const place = folder({ 'api.ts': files })
  const { said, hear, stop } = launch(['dev', 'api.ts', '--port', '0'], { cwd: place })
  await hear(/Starts again when api\.ts/)
  const [, key = ''] = /\n {2}(bylaw_\w+)\n/.exec(said.stdout) ?? []
  const [, line = ''] = /\n {2}(curl .*)\n/.exec(said.stdout) ?? []
  assert.ok(line.includes(`-H 'Authorization: Bearer ${key}'`))
  assert.equal((await pasted(line)).status, 201)
  const url = /http:\S+?(?=\/files)/.exec(line)?.[0] as string
  assert.equal(await get(url, key), 200)
  assert.equal((await fetch(`${url}/files`)).status, 401)
  const from = said.stdout.length
  writeFileSync(join(place, 'api.ts'), `${files}\n`)
  await hear(/api\.ts changed, restarted in/, from)
  assert.equal(await get(url, key), 200, 'the same key for the same database')
  await stop()
  const other = await served(['api.ts'], { cwd: place })
  assert.equal(await get(other.url, key), 401, 'only dev takes it')
  await other.stop()
})
