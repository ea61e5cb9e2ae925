/** Part 4 of the contract, path rules: trailing slashes with each value of path.trailingSlash. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const open = { fields: { name: f.text() }, access: 'public' } as const

async function none(door: Door, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const answer = await door.send('GET', path)
    assert.equal(answer.status, 404, path)
    assert.equal(answer.json.type, 'route-not-found', path)
  }
}

const trailing = (trailingSlash: 'redirect' | 'ignore') =>
  service({ name: 'shop', resources: { things: open }, settings: { path: { trailingSlash } } })
const thing = `/things/thing_${'0'.repeat(26)}`

doors('trailing slashes that are redirected', trailing('redirect'), (door) => {
  spec('R7', 'with redirect a trailing slash is 308 to the path without it, the query kept', async () => {
    for (const [from, to] of [
      ['/things/', '/things'],
      ['/things/?limit=5', '/things?limit=5'],
      ['/things/?a=%2F/&b', '/things?a=%2F/&b'],
      [`${thing}/`, thing],
    ] as const) {
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
        const answer = await door.send(method, from)
        assert.equal(answer.status, 308, `${method} ${from}`)
        assert.equal(answer.headers.location, to, `${method} ${from}`)
        assert.equal(answer.text, '')
      }
    }
  })
  spec('R7', 'nowhere else, and never to another host', async () => {
    await none(door, ['/nope/', '//', '/things//', '//things/', '//evil.example/', '/things/a/b/'])
    assert.equal((await door.send('GET', '/things')).status, 200)
  })
})

doors('trailing slashes that are ignored', trailing('ignore'), (door) => {
  spec('R7', 'with ignore a trailing slash changes nothing', async () => {
    await door.send('PUT', `${thing}/`, { json: { name: 'A' } })
    for (const path of ['/things/', '/things/?limit=1', `${thing}/`, thing])
      assert.equal((await door.send('GET', path)).status, 200, path)
    assert.deepEqual((await door.send('GET', '/things/')).json, (await door.send('GET', '/things')).json)
    await none(door, ['/nope/', '//', '/things//', '//things/', `${thing}//`])
  })
})
