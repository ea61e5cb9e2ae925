/** The log names the caller and the reason of a refusal, and holds no values of requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder, run, served } from '../help/command.ts'

const office = (settings = '') => `import { f, service } from 'bylaw'

export default service({
  name: 'office',
  scopes: { 'files:write': 'Change files', 'files:audit': 'Audit files' },
  settings: { ${settings} },
  resources: {
    files: {
      prefix: 'fil',
      fields: {
        text: f.text({ max: 5 }),
        labels: f.metadata({ optional: true }),
        checked: f.boolean({ optional: true, write: 'files:audit' }),
      },
      access: { read: 'public', write: 'files:write', remove: 'files:audit' },
    },
  },
})
`

interface Line {
  readonly status: number
  readonly [name: string]: unknown
}

/** Sends the requests with a key of the account `acc_1`, and returns the key and the lines of the log. */
async function logged(text: string, send: (url: string, headers: Record<string, string>) => Promise<unknown>) {
  const cwd = folder({ 'api.ts': text })
  const { url, stop, said } = await served(['api.ts'], { cwd })
  const flags = ['--name', 'ci', '--account', 'acc_1', '--scopes', 'files:write', '--json']
  const made = await run(['keys', 'create', 'api.ts', ...flags], { cwd })
  const { key } = JSON.parse(made.stdout) as { key: string }
  await send(url, { authorization: `Bearer ${key}`, 'content-type': 'application/json' })
  await stop()
  const lines = said.stdout.trimEnd().split('\n').slice(1)
  return {
    key,
    output: said.stdout,
    lines: lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === 'answered'),
  }
}

/** The parts of a line about the caller and the refusal. */
const told = ({ status, key, account, type, rule, errors }: Line) =>
  JSON.parse(JSON.stringify({ status, key, account, type, rule, errors })) as object

const by = { key: 'ci', account: 'acc_1' }

test('R164, R172: lines name the key and the account, and the type, places and rule of a refusal, but no value', async () => {
  const { key, output, lines } = await logged(office(), async (url, headers) => {
    const post = (body: object, more = headers) =>
      fetch(`${url}/files`, { method: 'POST', headers: more, body: JSON.stringify(body) })
    await post({ text: 'ok' })
    await fetch(`${url}/files`)
    await post({
      text: 'secret text',
      'secret name!': 1,
      labels: { a: 5, 'secret label!': 6, [headers.authorization?.slice(7) as string]: 7 },
    })
    await fetch(`${url}/files?page_size=secret&secret%20parameter=1`)
    await post({ text: 'no' }, { 'content-type': 'application/json' })
    await fetch(`${url}/files/fil_1`, { method: 'DELETE', headers })
    await post({ text: 'ok', checked: true })
    await fetch(`${url}/files`, { headers: { authorization: 'Bearer bylaw_secret' } })
    await fetch(`${url}/files?access_token=secret`)
    await fetch(`${url}/nothing`)
  })
  assert.deepEqual(lines.map(told), [
    { status: 201, ...by },
    { status: 200 },
    {
      status: 400,
      ...by,
      type: 'validation-failed',
      errors: [
        { pointer: '/text', type: 'too-long' },
        { pointer: '/***', type: 'unknown-field' },
        { pointer: '/labels/a', type: 'invalid-type' },
        { pointer: '/labels/***', type: 'invalid-type' },
        { pointer: '/labels/***', type: 'too-long' },
        { pointer: '/labels/***', type: 'invalid-type' },
      ],
    },
    {
      status: 400,
      type: 'invalid-query',
      errors: [
        { in: 'query', name: 'page_size', type: 'invalid-parameter-value' },
        { in: 'query', name: '***', type: 'unknown-parameter' },
      ],
    },
    { status: 401, type: 'credentials-missing', rule: 'files:write' },
    { status: 403, ...by, type: 'insufficient-scope', rule: 'files:audit' },
    { status: 403, ...by, type: 'insufficient-scope', rule: 'files:audit' },
    { status: 401, type: 'invalid-credentials', rule: 'public' },
    { status: 400, type: 'credentials-in-url' },
    { status: 404, type: 'route-not-found' },
  ])
  assert.ok(!output.includes('secret') && !output.includes(key))
})

test('R172: log.account hides the key and the account of each line, or shows digests of them', async () => {
  const send = async (url: string, headers: Record<string, string>) => {
    for (let i = 0; i < 2; i++) await fetch(`${url}/files`, { headers })
  }
  const off = await logged(office(`log: { account: 'off' }`), send)
  assert.deepEqual(off.lines.map(told), [{ status: 200 }, { status: 200 }])
  const hashed = await logged(office(`log: { account: 'hashed' }`), send)
  const [first, second] = hashed.lines.map(told) as [Record<string, string>, object]
  assert.deepEqual(first, second, 'one account has one digest')
  for (const part of [first.key, first.account]) assert.match(part as string, /^[\w-]{16}$/)
  assert.notEqual(first.key, first.account)
  assert.ok(!hashed.output.includes('acc_1'))
})

test('a failure is logged with its causes, each once', async () => {
  const failing = office().replace(
    /\}\)\n$/,
    `}).handlers({
  files: {
    write() {
      throw new Error('The file was not stored.', { cause: new Error('The disk is full.') })
    },
  },
})
`,
  )
  const { output } = await logged(failing, (url, headers) =>
    fetch(`${url}/files`, { method: 'POST', headers, body: JSON.stringify({ text: 'a' }) }),
  )
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  const errors = lines
    .map((line) => JSON.parse(line) as Line)
    .flatMap(({ err }) => (err === undefined ? [] : [err as ErrorLine]))
  assert.equal(errors.length, 1, JSON.stringify(lines))
  const messages: string[] = []
  for (let one = errors[0]; one !== undefined; one = one.cause) messages.push(one.message)
  assert.deepEqual(messages.slice(-2), ['The file was not stored.', 'The disk is full.'])
})

interface ErrorLine {
  readonly message: string
  readonly cause?: ErrorLine
}
