/** NATS publisher: wrong options and missing packages are refused when the service is declared. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { natsPublisher } from './nats-publisher.ts'

test('right options make two functions, and nothing is connected', () => {
  for (const servers of ['nats://127.0.0.1:1', ['nats://a:4222', 'nats://b:4222']]) {
    const made = natsPublisher({ servers, stream: 'SHOP', subject: 'shop.events', connection: { token: 't' } })
    assert.deepEqual(Object.keys(made), ['publish', 'close'])
  }
})

test('all wrong options are refused together', () => {
  const wrong = { servers: [], stream: 'a.b', subject: 'shop.>', connection: 1, topic: 'x' }
  assert.throws(
    () => natsPublisher(wrong as never),
    ({ message }: Error) => {
      for (const part of ['5 mistakes', '.servers', '.stream', '.subject', '.connection', '.topic'])
        assert.ok(message.includes(part), part)
      return true
    },
  )
  assert.throws(() => natsPublisher(undefined as never), /natsPublisher: This is missing/)
})

test('the missing packages are named with the command that installs them', () => {
  const hook = `import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (name.startsWith('@nats-io/')) throw Object.assign(new Error('missing'), { code: 'ERR_MODULE_NOT_FOUND' })
  return next(name, context)
} })
const { natsPublisher } = await import(${JSON.stringify(new URL('nats-publisher.ts', import.meta.url).href)})
try { natsPublisher({ servers: 'nats://127.0.0.1', stream: 'SHOP' }) } catch ({ message }) { console.log(message) }`
  const said = execFileSync(process.execPath, ['--conditions=bylaw-source', '--input-type=module', '-e', hook], {
    encoding: 'utf8',
  })
  assert.match(said, /needs @nats-io\/transport-node and @nats-io\/jetstream, which npm has not installed/)
  assert.match(said, /npm install @nats-io\/transport-node @nats-io\/jetstream/)
})
