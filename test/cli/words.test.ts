/** The help of the command, and its answers to unknown words. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { checkCommand } from '../../src/cli/check.ts'
import { devCommand } from '../../src/cli/dev.ts'
import { keysCommand } from '../../src/cli/keys.ts'
import { migrateCommand } from '../../src/cli/migrate.ts'
import { routesCommand } from '../../src/cli/routes.ts'
import { serveCommand } from '../../src/cli/serve.ts'
import { type Command, helpText, parseCommand } from '../../src/terminal/command.ts'
import { type CommandError, isCommandError } from '../../src/terminal/command-error.ts'
import { folder, notes, run } from '../help/command.ts'

const cwd = folder({ 'api.ts': notes })
const commands: Readonly<Record<string, Command>> = {
  dev: devCommand,
  serve: serveCommand,
  check: checkCommand,
  routes: routesCommand,
  keys: keysCommand,
  migrate: migrateCommand,
}

/** The error of a command with invalid arguments. */
async function refusal(words: string, env: NodeJS.ProcessEnv = {}): Promise<CommandError> {
  const [name = '', ...rest] = words.replaceAll('api.ts', join(cwd, 'api.ts')).split(' ')
  const command = commands[name] as Command
  try {
    await command.run(parseCommand(command, rest, env))
  } catch (error) {
    assert.ok(isCommandError(error), String(error))
    return error
  }
  return assert.fail('It was not refused.')
}

describe('bylaw', { concurrency: 3 }, () => {
  test('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    for (const word of ['--version', '-v']) {
      const { code, stdout } = await run([word], { cwd })
      assert.equal(code, 0)
      assert.equal(stdout, `${version}\n`)
    }
  })
  test('lists its commands, as help and without a command', async () => {
    const asked = await run(['--help'], { cwd })
    assert.equal(asked.code, 0)
    for (const name of Object.keys(commands)) assert.match(asked.stdout, new RegExp(`\n  bylaw ${name} <`))
    const bare = await run([], { cwd })
    assert.equal(bare.code, 1)
    assert.equal(bare.stdout, '')
    assert.equal(bare.stderr, asked.stdout)
  })
  test('explains a command with --help, whatever the other arguments', async () => {
    const { code, stdout } = await run(['serve', '--help', '--port', '1'], { cwd })
    assert.equal(code, 0)
    assert.equal(stdout, helpText(serveCommand))
  })
  for (const command of Object.values(commands)) {
    test(`${command.name} has examples that it understands`, () => {
      assert.match(helpText(command), /^bylaw [\s\S]*\nFlags\n[\s\S]* --help[\s\S]*\nExamples\n/)
      for (const line of command.examples) {
        const words =
          line
            .split(' bylaw ')
            .at(-1)
            ?.replace(/^bylaw /, '')
            .split(' ') ?? []
        assert.equal(words[0], command.name)
        assert.ok(parseCommand(command, words.slice(1), {}).arguments.includes('api.ts'))
      }
    })
  }

  for (const [words, ...says] of [
    ['srve api.ts', 'no command "srve"', 'Did you mean `bylaw serve`?'],
    ['toString', 'no command "toString"', 'There are init, dev, serve, check, routes, '],
    ['api.ts', '"api.ts" is a file', 'bylaw serve api.ts'],
    ['--prot', 'no flag --prot', '--version and --help'],
    ['serve api.ts --prot 1', 'bylaw serve has no flag --prot', 'Did you mean --port?'],
  ] as const) {
    test(`bylaw ${words} is refused on stderr, with the mend and without a stack`, async () => {
      const { code, stdout, stderr } = await run(words.split(' '), { cwd })
      assert.equal(code, 1)
      assert.equal(stdout, '')
      for (const part of says) assert.ok(stderr.includes(part), stderr)
      assert.doesNotMatch(stderr, /\n +at |node:internal/)
    })
  }
})

for (const [words, reason, mend] of [
  ['check api.ts --port 1', /^bylaw check has no flag --port\.$/, /^It has --json, --indexes and --help\.$/],
  ['serve api.ts --logLevel info', /has no flag --logLevel/, /Did you mean --log-level\?/],
  ['check api.ts --json=yes', /^--json takes no value/, /--json alone/],
  ['serve', /^bylaw serve needs the file of the declaration\.$/, /bylaw serve api\.ts/],
  ['serve api.ts more', /takes no argument "more"/, /bylaw serve api\.ts/],
  ['serve api.ts --port', /^--port needs a value\.$/, /^As in: {2}--port 8080$/],
  ['serve api.ts --port --host x', /^--port needs a value/, /--port 8080/],
  ['serve api.ts --allow-loss a.b --allow-loss c.d', /^--allow-loss is given twice\.$/, /--allow-loss a\.b,c\.d/],
  ['keys create api.ts --name a --scopes b --scopes c', /^--scopes is given twice/, /--scopes b,c/],
  ['serve api.ts --port=', /^--port needs a value/, /--port 8080/],
  ['serve api.ts --port 70000', /^--port has to be a port, not "70000"/, /0 to 65535/],
  ['dev api.ts --port 3e3', /^--port has to be a port, not "3e3"/, /0 to 65535/],
  ['serve api.ts --drain 10', /^--drain has to be a duration/, /PT10S/],
  ['serve api.ts --log-level wran', /trace, debug, .* not "wran"/, /Did you mean warn\?/],
  ['migrate', /needs an action: plan, apply, status or undrop/, /bylaw migrate plan api\.ts/],
  ['migrate aply api.ts', /has no action "aply"/, /Did you mean `bylaw migrate apply`\?/],
  ['migrate plan', /needs the file of the declaration/, /bylaw migrate plan api\.ts/],
  ['serve api.ts --database oracle:x', /"oracle:x" is not known\. Give sqlite:\.\/file\.db.* or postgres:/, /^$/],
  [
    'serve api.ts --allowed-hosts https://a.example',
    /^--allowed-hosts .* "https:\/\/a\.example" is none/,
    /api\.example\.com/,
  ],
  ['serve api.ts --allowed-hosts a.example,*.b.example', /"\*\.b\.example" is none/, /no wildcards/],
  ['serve api.ts --allowed-hosts ::1', /"::1" is none/, /\[::1\]/],
  ['serve api.ts --database sqlite:api.ts/x.db', /x\.db cannot be used/, /^$/],
  ['serve api.ts --host 203.0.113.9 --database sqlite::memory:', /203\.0\.113\.9 is not an address of this/, /--host/],
] as const) {
  test(`bylaw ${words}: ${reason.source}`, async () => {
    const complaint = await refusal(words)
    assert.match(complaint.message, reason)
    assert.match(complaint.mend, mend)
  })
}

test('a value from the environment is named by its variable; an empty one is ignored', async () => {
  assert.match((await refusal('serve api.ts', { PORT: 'http' })).message, /^PORT has to be a port, not "http"/)
  const env = { PORT: '', LOG_LEVEL: '', DRAIN: '', DATABASE_URL: 'oracle:x' }
  assert.match((await refusal('serve api.ts', env)).message, /"oracle:x" is not known/)
})
