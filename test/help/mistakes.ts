/** Tables of declarations and the mistakes that `check` must find in them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { declarationMistakes } from '../../src/check/declaration-mistakes.ts'
import { type Field, f, type Kind } from '../../src/fields/field.ts'
import type { Mistake } from '../../src/resources/declaration.ts'

/** A title, the mistakes that were found, their expected places in order, and words in the message of the first one. */
export type Row = readonly [title: string, mistakes: () => readonly Mistake[], places: string, ...words: string[]]

export function table(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    for (const [about, mistakes, places, ...words] of rows) test(about, () => assertMistakes(mistakes(), places, words))
  })
}

function assertMistakes(mistakes: readonly Mistake[], places: string, words: readonly string[]): void {
  const text = JSON.stringify(mistakes, null, 1)
  assert.equal(mistakes.map(({ place }) => place).join(', '), places, text)
  const [first] = mistakes
  for (const word of words) assert.ok(`${first?.reason} ${first?.mend}`.includes(word), `${text} does not say ${word}`)
  for (const sentence of mistakes.flatMap(({ reason, mend }) => [reason, mend]))
    assert.match(sentence, /^[A-Z`'"].*[.…]$/s)
}

/** A resource without mistakes. */
export const open: { readonly fields: { readonly name: Field }; readonly access: string } = {
  fields: { name: f.text({ max: 100 }) },
  access: 'public',
}

export const shop = (resources: object, more: object = {}): Mistake[] =>
  declarationMistakes({ name: 'shop', resources, ...more })

/** A shop whose orders have more options. */
export const orders = (more: object): Mistake[] => shop({ orders: { ...open, ...more }, customers: open })

/** A shop whose orders have these fields. */
export function fields(declared: object, more: object = {}): Mistake[] {
  const slots = { ...open, parent: 'orders', key: 'name' }
  return shop({ orders: { fields: declared, access: 'public' }, customers: open, slots }, more)
}

/** The place of the field `one` of the orders. */
export const place = 'resources.orders.fields.one'
export const wrong = (title: string, one: unknown, ...words: string[]): Row => [
  title,
  () => fields({ one }),
  place,
  ...words,
]
export const right = (title: string, ...some: unknown[]): Row => [
  title,
  () => some.flatMap((one) => fields({ one })),
  '',
]

/** The functions of `f` without their types. */
export const loose = f as unknown as Readonly<Record<Kind, (...given: readonly unknown[]) => Field>>
