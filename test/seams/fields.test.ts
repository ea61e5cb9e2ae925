/** Kinds of fields are entries of a list: a made-up one, a book number, is declared, checked, stored, listed, described and sampled like the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Field, f, service } from 'bylaw'
import { standardCorridor } from '../../src/corridor/handle.ts'
import { openapiDocument } from '../../src/describe/openapi.ts'
import { addViolation } from '../../src/errors/pointer.ts'
import { type FieldKind, generalOptions } from '../../src/fields/kind.ts'
import { standardKinds } from '../../src/fields/kinds.ts'
import { stringCheck } from '../../src/fields/value-check.ts'
import { seededChance } from '../../src/proof/chance.ts'
import { makeBody } from '../../src/proof/make.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { serviceWith } from '../../src/service.ts'
import { type Door, doors, spec } from '../help/door.ts'

const digitsOf = (text: string): number[] => [...text.replaceAll('-', '')].map(Number)
const isBookNumber = (text: string): boolean =>
  /^(\d-?){13}$/.test(text) && digitsOf(text).reduce((sum, one, i) => sum + one * (i % 2 ? 3 : 1), 0) % 10 === 0

/** An ISBN: 13 digits, the last one a check digit. It is stored without hyphens. */
const isbn: FieldKind = {
  options: generalOptions,
  order: 'sort',
  longest: 13,
  check: () =>
    stringCheck(
      (value, at, faults) =>
        isBookNumber(value)
          ? value.replaceAll('-', '')
          : addViolation(faults, at, 'invalid-format', 'must be an ISBN, as 9780141036144.'),
      'an ISBN',
    ),
  schema: (_, use) => ({ type: 'string', pattern: use === 'answered' ? '^[0-9]{13}$' : '^(?:[0-9]-?){13}$' }),
  bare: true,
  plain: () => '9780141036144',
  other: () => '9780306406157',
  sample: (_, { below }) => ['9780141036144', '9780306406157', '9783161484100'][below(3)],
}

const isbnField = (options: object = {}) => ({ kind: 'isbn', options }) as unknown as Field<'text', object>
const library = serviceWith(
  {
    name: 'library',
    resources: {
      books: {
        prefix: 'bok',
        fields: { isbn: isbnField({ filter: true, sort: true, unique: true }), title: f.text({ default: 'A book' }) },
        access: 'public',
      },
    },
  },
  { kinds: { ...standardKinds, isbn } },
)

doors('a made-up kind of field', library, (door: Door) => {
  spec('R72 R86', 'is stored in one form, filtered, sorted and unique', async () => {
    const add = (text: unknown) => door.send('POST', '/books', { json: { isbn: text } })
    assert.deepEqual((await add('978-3-16-148410-0')).json.isbn, '9783161484100')
    assert.equal((await add('9780306406157')).status, 201)
    assert.equal((await add('978-0306406157')).status, 409)
    const refused = await add('9780306406158')
    assert.deepEqual([refused.status, refused.json.cause.pointer], [400, '/isbn'])
    const shown = async (query: string) =>
      (await door.send('GET', `/books?${query}`)).json.data.map((book: { isbn: string }) => book.isbn)
    assert.deepEqual(await shown('sort=isbn&order=desc'), ['9783161484100', '9780306406157'])
    assert.deepEqual(await shown('isbn=978-0-306-40615-7'), ['9780306406157'])
    assert.deepEqual(await shown('isbn=in:(9783161484100,9780141036144)'), ['9783161484100'])
  })

  spec('R215', 'is described, and sample values of it are accepted', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: a document of any shape
    const { components } = openapiDocument(library, 'v1', standardCorridor) as any
    assert.equal(components.schemas.Book.properties.isbn.pattern, '^[0-9]{13}$')
    const books = library.resources.get('books') as Resource
    const body = makeBody(books, { chance: seededChance(1, []), idOf: () => undefined })
    const { status } = await door.send('POST', '/books', { json: { ...body, isbn: '9780141036144' } })
    assert.deepEqual([isBookNumber(String(body?.isbn)), status], [true, 201])
  })
})

test('its options are checked, and a service without the kind refuses it', () => {
  const declare = (field: Field, make: (declaration: never) => unknown) => () =>
    make({
      name: 'library',
      resources: { books: { prefix: 'bok', fields: { isbn: field }, access: 'public' } },
    } as never)
  const withKind = (declaration: never) => serviceWith(declaration, { kinds: { ...standardKinds, isbn } })
  assert.throws(declare(isbnField({ max: 3 }), withKind), /A field of kind isbn has no option `max`/)
  assert.throws(declare(isbnField(), service), /not a field/)
})
