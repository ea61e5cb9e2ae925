/** The check of exchanges, on a small document and on documents with wrong or missing parts. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Exchange, judgeOf } from '../help/described.ts'

const request = { $ref: '#/components/headers/Request' }
const refusals = (types: string[]) => ({
  description: 'Refused.',
  headers: { 'Request-Id': request },
  content: {
    'application/json': {
      schema: { allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { type: { enum: types } } }] },
    },
  },
})
const document = {
  openapi: '3.1.1',
  servers: [{ url: '/v1' }],
  paths: {
    '/notes/{id}': {
      parameters: [{ name: 'x', in: 'query', schema: { type: 'string' } }],
      put: {
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Note' } } } },
        responses: { 204: { description: 'Put.' } },
      },
      get: {
        responses: {
          200: {
            description: 'The note.',
            headers: { 'Request-Id': request, ETag: { required: true, schema: { type: 'string', pattern: '^"' } } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Note' } } },
          },
          304: { description: 'As before.', headers: { 'Request-Id': request } },
          404: refusals(['resource-not-found']),
        },
      },
    },
    '/notes/latest': { get: { responses: { 204: { description: 'None.', headers: { 'Request-Id': request } } } } },
  },
  components: {
    headers: { Request: { schema: { type: 'string' } } },
    schemas: {
      Note: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          text: { type: ['string', 'null'], maxLength: 5 },
          at: { type: 'string', format: 'date-time' },
          tags: { type: 'array', items: { type: 'object', properties: { word: { type: 'string' } } } },
          metadata: { type: 'object', additionalProperties: { type: 'string' } },
        },
        required: ['id', 'text'],
      },
      Error: {
        type: 'object',
        properties: {
          message: { type: 'string' },
          type: { type: 'string' },
          types: { type: 'array', items: { type: 'string' } },
          cause: { $ref: '#/components/schemas/Error' },
        },
        required: ['message', 'type', 'types'],
      },
    },
  },
}

const note = { id: 'not_1', text: null, at: '2026-01-01T00:00:00.000Z', tags: [{ word: 'a' }], metadata: { a: 'b' } }
const error = { message: 'No.', type: 'resource-not-found', types: ['resource-not-found'] }
const json = { 'content-type': 'application/json', 'request-id': 'r', date: 'now' }
const found: Exchange = {
  ...{ method: 'GET', target: '/v1/notes/not_1?x=1', status: 200 },
  headers: { ...json, etag: '"a"' },
  text: JSON.stringify(note),
}
const answer = (body: object): Exchange => ({ ...found, text: JSON.stringify(body) })
const put = { ...found, method: 'PUT', status: 204, headers: {}, text: '' }
const sent = (value: unknown, kind = 'application/json'): Exchange => ({ ...put, sent: { kind, value } })
const refused = (body: object, headers: object = {}): Exchange => ({
  ...{ ...found, status: 404, headers: { ...json, ...headers }, text: JSON.stringify(body) },
})

/** The document with one part replaced or removed. */
function edited(path: string, value?: unknown): typeof document {
  const copy = structuredClone(document)
  const steps = path.split(' ')
  const last = steps.pop() as string
  // biome-ignore lint/suspicious/noExplicitAny: any place of a document
  const place = steps.reduce<any>((part, step) => part[step], copy)
  if (value === undefined) delete place[last]
  else place[last] = value
  return copy
}
const get = 'paths /notes/{id} get responses'
const properties = 'components schemas Note properties'

describe('a described exchange is accepted', () => {
  const cases: Record<string, Exchange> = {
    'an item': found,
    'without the prefix of a server': { ...found, target: '/notes/not_1' },
    'a HEAD, whose content stays away': { ...found, method: 'HEAD', text: '' },
    'without content': { ...found, status: 304, headers: { 'request-id': 'r' }, text: '' },
    'the path that says more': { ...found, target: '/notes/latest', status: 204, headers: {}, text: '' },
    'what is sent': sent(note),
    'a refusal': refused(error),
    'a refusal with its cause': refused({ ...error, cause: { ...error, type: 'other' } }),
    'a path that is not there': { ...refused({ ...error, type: 'route-not-found' }), target: '/nope' },
    'a method that is not there': { ...refused({ ...error, type: 'method-not-allowed' }), method: 'POST', status: 405 },
  }
  for (const [name, exchange] of Object.entries(cases))
    test(name, () => assert.deepEqual(judgeOf(document)(exchange), []))
})

describe('an answer that is not described is found', () => {
  const cases: Record<string, [Exchange, RegExp]> = {
    'a path': [{ ...found, target: '/other' }, /path is not described.*200/],
    'a path that seems not to be there': [refused({ ...error, type: 'route-not-found' }), /type route-not-found/],
    'a method': [{ ...found, method: 'DELETE' }, /DELETE is not described.*200/],
    'a parameter that is taken': [{ ...found, target: '/notes/1?y=1' }, /parameter y is taken/],
    'content that is taken': [sent({ ...note, text: 7 }), /content that was taken: \/text must be/],
    'content of a kind that is taken': [sent(note, 'text/json'), /text\/json is taken/],
    'a status': [{ ...found, status: 201 }, /status 201 is not described.*200, 304, 404/],
    'a header': [{ ...found, headers: { ...found.headers, age: '1' } }, /header age is not described/],
    'a header that is missing': [{ ...found, headers: json }, /header etag is missing/],
    'a header with another value': [{ ...found, headers: { ...json, etag: 'W/"a"' } }, /etag is "W\/"a"".*pattern/],
    'a kind of content': [
      { ...found, headers: { ...found.headers, 'content-type': 'text/html' } },
      /text\/html is not described; described is application\/json/,
    ],
    'content where none is': [
      { ...found, status: 304, headers: json },
      /application\/json is not described; described is none/,
    ],
    'content that is missing': [{ ...found, text: '' }, /content is missing/],
    'a member that is missing': [answer({ ...note, text: undefined }), /required property 'text'/],
    'a member of another type': [answer({ ...note, id: 1 }), /\/id must be string/],
    'a member that is too long': [answer({ ...note, text: '123456' }), /\/text must NOT have more than 5/],
    'a member of another format': [answer({ ...note, at: 'now' }), /\/at must match format "date-time"/],
    'a member that no schema names': [answer({ ...note, secret: 1 }), /no schema names the member \/secret/],
    'one further down': [answer({ ...note, tags: [{ word: 'a', hue: 1 }] }), /names the member \/tags\/0\/hue/],
    'a value of a free member': [answer({ ...note, metadata: { a: 1 } }), /\/metadata\/a must be string/],
    'a type of error': [refused({ ...error, type: 'gone' }), /type gone is not described; described are resource-not/],
    'a member of an error': [refused({ ...error, stack: '' }), /names the member \/stack/],
    'a member of a cause': [refused({ ...error, cause: { ...error, stack: '' } }), /names the member \/cause\/stack/],
  }
  for (const [name, [exchange, words]] of Object.entries(cases))
    test(name, () => assert.match(judgeOf(document)(exchange).join('\n'), words))
})

describe('a wrong document is found', () => {
  const cases: Record<string, [Exchange, RegExp, string, unknown?]> = {
    'no such path': [found, /path is not described/, 'paths /notes/{id}'],
    'no such method': [found, /GET is not described/, 'paths /notes/{id} get'],
    'no such status': [found, /status 200 is not described/, `${get} 200`],
    'any status': [found, /status 200 is not described/, get, { default: { description: 'Any.' } }],
    'no such header': [found, /header etag/, `${get} 200 headers ETag`],
    'a header that is never sent': [found, /header link is missing/, `${get} 200 headers Link`, { required: true }],
    'no content': [found, /described is none/, `${get} 200 content`],
    'no schema': [found, /json is not described/, `${get} 200 content application/json schema`],
    'another type': [found, /\/id must be integer/, `${properties} id type`, 'integer'],
    'never null': [found, /\/text must be string/, `${properties} text type`, 'string'],
    'a bound': [found, /fewer than 9/, `${properties} id minLength`, 9],
    'no such member': [found, /names the member \/at/, `${properties} at`],
    'a member that is never there': [found, /required property 'hue'/, 'components schemas Note required', ['hue']],
    'all types of errors': [
      refused(error),
      /types of the error are not listed/,
      `${get} 404`,
      {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        headers: { 'Request-Id': request },
      },
    ],
    'another type of errors': [refused(error), /described are gone/, `${get} 404`, refusals(['gone'])],
    'anything at all': [found, /names the member \/id/, 'components schemas Note', { additionalProperties: true }],
  }
  for (const [name, [exchange, words, path, value]] of Object.entries(cases))
    test(name, () => assert.match(judgeOf(edited(path, value))(exchange).join('\n'), words))
})

describe('a document that cannot be read is refused', () => {
  const refusals: Record<string, [RegExp, string, unknown]> = {
    'a word of no schema': [/unknown keyword: "maxLenght"/, `${properties} id maxLenght`, 5],
    'a format that nobody knows': [/unknown format "clock"/, `${properties} id format`, 'clock'],
    'a reference that leads nowhere': [/leads nowhere/, `${get} 200`, { $ref: '#/components/responses/None' }],
  }
  for (const [name, [words, path, value]] of Object.entries(refusals))
    test(name, () => assert.throws(() => judgeOf(edited(path, value))(found), words))
})
