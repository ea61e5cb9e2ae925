/** Moved fields: who may read fields that moved to other resources. Part 9, versions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from 'bylaw'
import { changeMistakes } from './change-mistakes.ts'

test('a moved field is not shown to callers who may not read its resource', () => {
  const found = (ranks: unknown, players: unknown, field?: object, more: object = {}) =>
    changeMistakes(
      {
        name: 'game',
        versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
        scopes: { a: 'A', b: 'B' },
        resources: {
          ranks: { fields: { level: f.integer() }, access: ranks, ...more },
          players: { fields: { rankId: f.ref('ranks') }, access: players, ...more },
        },
      } as never,
      [
        {
          version: 'v2',
          resource: 'players',
          about: 'Levels are those of ranks.',
          moved: { level: { by: 'rankId', to: 'level', ...(field && { field }) } },
        } as never,
      ],
    )
  const shows = (ranks: unknown, players: unknown, field?: object, more?: object) =>
    found(ranks, players, field, more).filter(({ reason }) => reason.startsWith('It would show')).length > 0
  const of = (read: string | undefined, write = 'a') => ({ ...(read && { read }), write })
  for (const [ranks, players] of [
    ['authenticated', 'public'],
    ['a', 'public'],
    ['a', 'authenticated'],
    ['a', 'b'],
    [undefined, 'a'],
  ] as const)
    assert.equal(shows(of(ranks), of(players)), true, `${ranks} ${players}`)
  for (const [ranks, players] of [
    ['public', 'public'],
    ['public', 'a'],
    ['authenticated', 'authenticated'],
    ['authenticated', 'a'],
    ['a', 'a'],
  ] as const)
    assert.equal(shows(of(ranks), of(players)), false, `${ranks} ${players}`)
  assert.equal(shows(of('a'), of('a', 'b')), true, 'who creates a player is answered it')
  assert.equal(shows(of('a'), of('a', 'b'), undefined, { methods: ['list', 'read', 'change'] }), false)
  assert.equal(shows(of('a'), 'authenticated', f.integer({ default: 0, read: 'a' })), false)
  assert.equal(shows(of('a'), 'authenticated', f.integer({ default: 0, read: 'b' })), true)
  const [mistake] = found(of('a'), 'authenticated')
  assert.deepEqual(mistake, {
    place: 'changes.v2.players.moved.level',
    reason:
      "It would show values of `ranks` to callers who may not read `ranks`: items of `players` are readable by 'authenticated', and `access` of `ranks` lets 'a' read.",
    mend: "Write read: 'authenticated' in `access` of `ranks`, or the same rule at both, or read: 'a' in `field` of the moved field.",
  })
  const own = [{ scope: 'a' }, { where: { id: { marker: 'caller', name: '' } } }]
  for (const access of [
    { read: own, write: 'a' },
    { read: 'a', change: own, write: 'a' },
  ])
    for (const pair of [[access, of('a')] as const, [of('a'), access] as const])
      assert.match(found(pair[0], pair[1])[0]?.reason ?? '', /depends on the item/, JSON.stringify(pair))
})

test('a file is renamed, added and removed between versions, but not converted or moved', () => {
  const reasons = (change: object, fields: object) =>
    changeMistakes(
      {
        name: 'game',
        versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
        resources: {
          ranks: { fields: { badge: f.file() }, access: 'public' },
          players: { fields: { rankId: f.ref('ranks'), ...fields }, access: 'public' },
        },
      } as never,
      [{ version: 'v2', resource: 'players', about: 'Other files.', ...change } as never],
    ).map(({ place, reason }) => `${place}: ${reason}`)
  assert.deepEqual(reasons({ renamed: { photo: 'image' } }, { image: f.file() }), [])
  assert.deepEqual(reasons({ added: ['image'], removed: { photo: f.file() } }, { image: f.file() }), [])
  const moved = { badge: { by: 'rankId', to: 'badge' } }
  assert.match(reasons({ moved }, {}).join(), /moved\.badge: It is a file, whose content stays at its item/)
  const convert = { request: () => ({ image: null }), response: () => ({ image: null }) }
  for (const [was, is] of [
    [f.text({ optional: true }), f.file()],
    [f.file(), f.text({ optional: true })],
  ])
    assert.match(
      reasons({ retyped: { image: was }, ...convert }, { image: is }).join(),
      /retyped\.image: It is a file in one of the versions only/,
    )
})
