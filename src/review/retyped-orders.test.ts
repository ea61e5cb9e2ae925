/** Retyped orders: a field whose older form cannot be compared is refused in an order, with advice that works. R195. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { service } from 'bylaw'
import { testing } from 'bylaw/testing'
import { type Field, f } from '../fields/field.ts'
import type { Change } from '../resources/change.ts'
import { changeMistakes } from './change-mistakes.ts'

const versions = { v1: { released: '2026-01-15' }, v2: { released: '2026-06-01' } }
const scopes = { secrets: 'Read secrets' }

const mistakes = (size: Field, change: object, more: object) =>
  changeMistakes(
    { name: 'shop', scopes, versions, resources: { items: { fields: { size }, access: 'public', ...more } } } as never,
    [{ version: 'v2', resource: 'items', about: 'It changed.', ...change } as Change],
  )

const toObject = {
  request: ({ size }: { size: { width: number } }) => ({ size: size.width }),
  response: ({ size }: { size: number }) => ({ size: { width: size } }),
}

test('R195 R194: a retyped field in an order or in `uniques` must be comparable in each version', () => {
  const width = f.object({ width: f.integer() })
  for (const [now, old, more, reason] of [
    [
      f.integer(),
      width,
      { order: ['-size'] },
      /^`order` contains `size`, .* before v2 cannot sort by it: there it is an object\. All/,
    ],
    [
      f.integer(),
      f.list(f.text()),
      { sorts: { big: ['-size'] } },
      /^`sorts\.big` contains `size`, .*: there it is a list\./,
    ],
    [
      f.integer(),
      width,
      { uniques: [['size', 'createdAt']] },
      /^`uniques` contains `size`, .* cannot compare it: there it is an object\./,
    ],
    [
      width,
      f.integer(),
      { order: ['size.width'] },
      /^`order` contains `size\.width`, .*: there `size\.width` does not exist\./,
    ],
    [f.integer(), f.text({ writeOnly: true }), { order: ['size'] }, /there it is `writeOnly`\./],
    [
      f.integer({ optional: true }),
      f.text({ optional: true, read: 'secrets' }),
      { order: ['size'] },
      /there it needs secrets to be read\./,
    ],
  ] as const) {
    const [first, ...others] = mistakes(now, { retyped: { size: old }, ...toObject }, more)
    assert.deepEqual([first?.place, others], ['changes.v2.items.retyped.size', []])
    assert.match(first?.reason ?? '', reason)
    assert.match(
      first?.mend ?? '',
      /^Leave `size.*` out of `.*`, or write removed: \{ size: … \}, added: \['size'\] in place of `retyped`/,
    )
  }
  assert.deepEqual(
    mistakes(f.integer(), { ...toObject, retyped: { size: f.text({ max: 9 }) } }, { order: ['-size'] }),
    [],
  )
})

test('R195 R194: both ways out of the refusal work', async (t) => {
  const declared = (order: string[]) =>
    service({
      name: 'shop',
      versions,
      resources: { items: { fields: { size: f.integer() }, access: 'public', order } },
    })
  const size = f.object({ width: f.integer() })
  const about = 'A size was an object.'
  for (const api of [
    declared(['id']).change('v2', 'items', { about, retyped: { size }, ...toObject }),
    declared(['-size']).change('v2', 'items', { about, removed: { size }, added: ['size'], ...toObject }),
  ]) {
    const { call, close } = testing(api as never)
    t.after(close)
    for (const width of [1, 3, 2]) {
      const made = await call('/v1/items', { method: 'POST', json: { size: { width } } })
      assert.equal(made.status, 201)
    }
    const sizes = async (version: string) => {
      const { data } = (await (await call(`/${version}/items`)).json()) as { data: { size: unknown }[] }
      return data.map((one) => one.size)
    }
    assert.deepEqual(await sizes('v1'), [{ width: 1 }, { width: 3 }, { width: 2 }])
    assert.deepEqual((await sizes('v2')).length, 3)
  }
})

test('R35: a published version may keep an identifier that is a number', () => {
  const change = {
    retyped: { shopId: f.integer() },
    request: ({ shopId }: { shopId: number }) => ({ shopId: String(shopId) }),
    response: ({ shopId }: { shopId: string }) => ({ shopId: Number(shopId) }),
  }
  const found = (now: Field) =>
    changeMistakes(
      { name: 'shop', versions, resources: { items: { fields: { shopId: now }, access: 'public' } } } as never,
      [{ version: 'v2', resource: 'items', about: 'It changed.', ...change } as unknown as Change],
    )
  assert.deepEqual(found(f.text()), [])
})
