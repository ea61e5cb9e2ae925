/** A URL shown to users never contains its password, even if the URL is malformed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutPassword } from './connection-url.ts'

const shown: readonly (readonly [string, string])[] = [
  ['postgres://me:hush@db:5432/shop', 'postgres://me:***@db:5432/shop'],
  ['postgres://me:hu%40sh@a,b:5433/shop?pooler=transaction', 'postgres://me:***@a,b:5433/shop?pooler=transaction'],
  ['postgres://me:h/u?s@h@db/shop', 'postgres://me:***@db/shop'],
  ['postgres://:hush@db/shop', 'postgres://:***@db/shop'],
  [
    'postgres://db/shop?user=me&password=hush&sslmode=require',
    'postgres://db/shop?user=me&password=***&sslmode=require',
  ],
  ['postgres://me@db:5432/shop', 'postgres://me@db:5432/shop'],
  ['postgres://db:5432/shop', 'postgres://db:5432/shop'],
  ['sqlite:./data/shop.db', 'sqlite:./data/shop.db'],
]

test('a password is not shown', () => {
  for (const [url, text] of shown) assert.equal(withoutPassword(url), text)
})
