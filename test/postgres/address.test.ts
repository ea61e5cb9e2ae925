/** Connections to a database: URLs, the environment, passwords, TLS. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { parseConnectionUrl } from '../../src/postgres/connection-url.ts'
import { certificate } from '../help/certificate.ts'
import { cluster } from '../help/cluster.ts'
import { sql } from '../help/postgres.ts'
import { without } from '../help/programs.ts'
import { node } from './service-on-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'bylaw-address-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

test('a URL names the server, and the environment fills the rest', () => {
  const short = (url: string, environment = {}) => {
    const { hosts, user, database, password } = parseConnectionUrl(url, environment)
    return `${user}:${password()}@${hosts.map(({ host, port }) => `${host}:${port}`).join()}/${database}`
  }
  for (const [url, expected, environment] of [
    ['postgres://ann:secret@db.example.com:6543/orders', 'ann:secret@db.example.com:6543/orders', {}],
    ['postgresql://ann@db/orders', 'ann:@db:5432/orders', {}],
    ['postgres://ann:a%40b%2Fc@db/o%20o', 'ann:a@b/c@db:5432/o o', {}],
    ['postgres://ann@[::1]:5433/orders', 'ann:@::1:5433/orders', {}],
    ['postgres://ann@one:1,two,three:3/orders', 'ann:@one:1,two:5432,three:3/orders', {}],
    ['postgres:///orders?host=/var/run/postgresql&user=ann', 'ann:@/var/run/postgresql:5432/orders', {}],
    ['postgres://', 'eve:hush@there:7/eve', { PGUSER: 'eve', PGPASSWORD: 'hush', PGHOST: 'there', PGPORT: '7' }],
    ['postgres://ann:own@db/orders', 'ann:own@db:5432/orders', { PGPASSWORD: 'other', PGUSER: 'eve' }],
  ] as const)
    assert.equal(short(url, environment), expected, url)
})

test('mistakes in a URL are reported', () => {
  for (const [url, reason] of [
    ['postgres://db/orders?sslmod=require', /sslmod is not known; allowed are application_name, /],
    ['postgres://db/orders?sslmode=prefer', /sslmode prefer is not known; allowed are disable, require/],
    ['postgres://db/orders?pooler=statement', /allowed are session and transaction/],
    ['postgres://db/orders?connections=1', /2 to 1000/],
    ['postgres://db:0/orders', /0 is not a port/],
    ['postgres://db:1:2/orders', /is not a host/],
    ['postgres://a%ZZ@db/orders', /%25/],
    ['postgres://db/orders?target_session_attrs=any', /read-write/],
  ] as const)
    assert.throws(() => parseConnectionUrl(url, {}), reason, url)
})

/** A server with passwords and TLS. */
async function guarded(t: TestContext) {
  const { key, cert } = certificate(folder, 'server')
  const server = await cluster(['shared_buffers=16MB', 'ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`])
  t.after(server.close)
  server.psql(`CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'first-secret'`)
  const rules = server.psql('SHOW hba_file')
  writeFileSync(rules, 'hostssl all ann all scram-sha-256\nhost all ann all reject\nhost all all all trust\n')
  server.psql('SELECT pg_reload_conf()')
  const at = (host: string, parameters: string, user = 'ann') =>
    `postgres://${user}@${host}:${server.port}/postgres?${parameters}`
  return { server, cert, at }
}

test('passwords come from a file, TLS is as strict as requested, and no secret is shown', {
  skip: without('openssl'),
  timeout: 180_000,
}, async (t) => {
  const { server, cert, at } = await guarded(t)
  const secret = join(folder, 'password')
  writeFileSync(secret, 'first-secret\n')
  process.env.PGPASSWORD_FILE = secret
  t.after(() => delete process.env.PGPASSWORD_FILE)
  for (const parameters of [`sslmode=verify-full&sslrootcert=${cert}`, `sslrootcert=${cert}`, 'sslmode=require']) {
    const own = await node(at('localhost', parameters))
    assert.equal((await own.call('GET', '/things')).status, 200, parameters)
    assert.equal((await own.call('POST', '/things', { name: parameters })).status, 201)
    await own.close()
  }
  const own = await node(at('127.0.0.1', `sslmode=verify-ca&sslrootcert=${cert}`))
  t.after(own.close)
  assert.equal((await own.call('GET', '/things')).status, 200)
  await assert.rejects(node(at('127.0.0.1', `sslmode=verify-full&sslrootcert=${cert}`)), /cannot be used/)
  await assert.rejects(node(at('localhost', 'sslmode=verify-full')), /self-signed/i)
  await assert.rejects(node(at('localhost', 'sslmode=disable')), /rejects connection/)
  const wrong = node(at('localhost', 'sslmode=require', 'ann:not-the-secret'))
  await assert.rejects(wrong, (error: Error) => {
    assert.match(error.message, /password authentication failed/i)
    assert.ok(!`${error.message}${(error.cause as Error).stack}`.includes('not-the-secret'))
    return true
  })
  // A changed password is read again for new connections.
  server.psql(`ALTER ROLE ann PASSWORD 'second-secret'`)
  writeFileSync(secret, 'second-secret\n')
  await sql(server.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'`)
  assert.equal((await own.call('GET', '/things')).status, 200)
})

test('a login over TLS is bound to the certificate of the server, so that a relay cannot pass it on', {
  skip: without('openssl'),
  timeout: 180_000,
}, async (t) => {
  const { server, at } = await guarded(t)
  const own = certificate(folder, 'relay')
  const relay = createServer((client) => {
    client.on('error', () => {})
    client.once('data', () => {
      client.write('S') // the client asked for TLS; the relay has a certificate of its own, which sslmode=require accepts
      const near = new TLSSocket(client, { isServer: true, key: readFileSync(own.key), cert: readFileSync(own.cert) })
      near.on('error', () => {})
      const plain = connect(server.port, '127.0.0.1', () => plain.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])))
      plain.once('data', () => {
        const far = connectTls({ socket: plain, rejectUnauthorized: false })
        far.on('error', () => {})
        near.pipe(far).pipe(near)
      })
    })
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.after(() => relay.close())
  const { port } = relay.address() as AddressInfo
  const direct = at('localhost', 'sslmode=require', 'ann:first-secret')
  const reached = await node(direct)
  assert.equal((await reached.call('GET', '/things')).status, 200)
  await reached.close()
  await assert.rejects(node(direct.replace(`:${server.port}/`, `:${port}/`)), /SCRAM|channel binding/)
})
