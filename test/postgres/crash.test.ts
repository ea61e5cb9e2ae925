/** After the crash of a server process, no cached data from before the crash is answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crash, known, node, repeated, serviceOnServer, untilWell } from './service-on-server.ts'

test('a cached list is not used after a crash that reuses transaction ids', {
  timeout: 180_000,
}, async (t) => {
  const own = await serviceOnServer(t)
  const idle = await node(own.server.url)
  t.after(idle.close)
  for (const name of ['one', 'two']) await own.call('POST', '/things', { name })
  let tag = ''
  await repeated(own.server, {
    know: async () => {
      tag = await known(own, 2)
      await known(idle, 2)
    },
    write: "DELETE FROM things WHERE doc LIKE '%two%'",
  })
  for (const one of [own, idle]) {
    await untilWell(() => one.call('GET', '/things'))
    const { status, json } = await one.call('GET', '/things', undefined, { 'if-none-match': tag })
    assert.deepEqual([status, json?.data.length, json?.pagination.totalRecords], [200, 1, 1])
    const page = await one.call('GET', '/things?page=1&page_size=1')
    assert.equal(page.json.pagination.totalRecords, 1)
  }
})

test('a role that may not read the state of the server gets correct lists, and nothing from the cache', {
  timeout: 180_000,
}, async (t) => {
  const own = await serviceOnServer(t)
  await own.call('POST', '/things', { name: 'one' })
  await known(own, 1)
  own.server.psql('CREATE ROLE plain LOGIN; GRANT pg_read_all_data, pg_write_all_data TO plain')
  const url = own.server.url.replace('bylaw@', 'plain@')
  const before = await node(url)
  t.after(before.close)
  await known(before, 1)
  own.server.psql('REVOKE EXECUTE ON FUNCTION pg_control_checkpoint() FROM PUBLIC')
  await known(before, 1)
  const later = await node(url)
  t.after(later.close)
  await known(later, 1)
  await crash(own.server)
  await untilWell(() => later.call('GET', '/things'))
  await own.call('POST', '/things', { name: 'two' })
  for (const one of [before, later, own]) await known(one, 2)
})
