/** Requests made from a document find differences of a service, on a small service that follows or violates its document. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Answer, Sent } from '../help/door.ts'
import { tried } from '../help/requests.ts'
import { type Doc, type Schema, schemasOf } from '../help/schemas.ts'

const id = { type: 'string', pattern: '^not_[0-9]+$' }
const note = {
  type: 'object',
  properties: {
    id: { ...id, readOnly: true },
    text: { type: 'string', minLength: 1, maxLength: 8 },
    count: { type: ['integer', 'null'], minimum: 0, maximum: 9 },
    hue: { enum: ['red', 'blue'] },
    words: { type: 'array', items: { type: 'string', pattern: '^[a-z]{1,3}$' }, maxItems: 2 },
    free: { type: 'object', additionalProperties: { type: 'string' } },
    likeId: id,
  },
  required: ['text'],
  additionalProperties: false,
}
const json = (schema: Schema) => ({ 'application/json': { schema } })
const refusal = { description: 'No.', content: json({ properties: { type: { enum: ['wrong', 'missing'] } } }) }
const body = { required: true, content: json({ $ref: '#/components/schemas/Note' }) }
const page = { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 5 } }
const document: Doc = {
  openapi: '3.1.1',
  paths: {
    '/notes': {
      get: { operationId: 'notes.list', parameters: [page], responses: { 200: { description: 'All.' }, 400: refusal } },
      post: { operationId: 'notes.create', requestBody: body, responses: { 201: located(), 400: refusal } },
    },
    '/notes/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: id }],
      get: { operationId: 'notes.get', responses: { 200: { description: 'One.' }, 404: refusal } },
    },
  },
  components: { schemas: { Note: note } },
}

function located() {
  return {
    description: 'Made.',
    headers: { Location: { schema: { type: 'string' } } },
    content: json({ type: 'object' }),
  }
}

/** A service that follows the document, except where `otherwise` returns a status. */
function small(otherwise: (method: string, path: string, sent: Sent) => number | undefined = () => undefined) {
  const { check } = schemasOf(document)
  let count = 0
  const statusOf = (method: string, path: string, { json }: Sent): number => {
    if (method === 'POST') return json !== undefined && check(note, json).length === 0 ? 201 : 400
    const [, text] = path.split('page=')
    return text === undefined || check(page.schema, Number(text || 'x')).length === 0 ? 200 : 400
  }
  return async (method: string, path: string, sent: Sent = {}): Promise<Answer> => {
    const status = otherwise(method, path, sent) ?? statusOf(method, path, sent)
    const content = status >= 400 ? { type: 'wrong' } : status === 201 ? {} : null
    const text = content === null ? '' : JSON.stringify(content)
    const headers = {
      ...(text === '' ? {} : { 'content-type': 'application/json' }),
      ...(status === 201 ? { location: `/notes/not_${++count}` } : {}),
    }
    return { status, headers, text, bytes: Buffer.from(text), json: content }
  }
}

const verdict = (send = small(), described = document) => tried({ document: described, send, seed: 7, runs: 6 })

test('a service that matches its description has no complaints', async () => {
  const { complaints, right, done, wrong } = await verdict()
  assert.deepEqual(complaints, [])
  assert.ok(right >= 20 && done === right && wrong >= 15, JSON.stringify({ right, done, wrong }))
})

describe('a service that does not match is found:', () => {
  const given = ({ json }: Sent) => ((typeof json === 'object' && json) || {}) as Record<string, unknown>
  const cases: Record<string, [Parameters<typeof small>[0], RegExp]> = {
    'it takes what is too long': [
      (_, __, sent) => (String(given(sent).text).length > 8 ? 201 : undefined),
      /201 although it does not fit: maxLength broken at \/text/,
    ],
    'it takes null': [(_, __, sent) => (given(sent).text === null ? 201 : undefined), /type null broken at \/text/],
    'it takes an unknown member': [
      (_, __, sent) => ('noSuchMember' in given(sent) ? 201 : undefined),
      /additionalProperties broken at \/noSuchMember/,
    ],
    'it does not miss anything': [
      (method, __, sent) => (method === 'POST' && 'count' in given(sent) && !('text' in given(sent)) ? 201 : undefined),
      /required broken at \/text/,
    ],
    'it takes a page beyond the last': [(_, path) => (path.endsWith('=6') ? 200 : undefined), /maximum broken of page/],
    'it refuses what fits': [
      (method, __, sent) => (method === 'POST' && given(sent).hue === 'red' ? 400 : undefined),
      /400 although it fits: post/i,
    ],
    'it refuses every page': [(_, path) => (path.includes('page=') ? 400 : undefined), /400 although it fits/],
    'it answers a status of its own': [(method) => (method === 'POST' ? 418 : undefined), /418 is not described/],
    'it fails': [(_, path) => (path.startsWith('/notes/') ? 500 : undefined), /notes.get was never done as asked/],
  }
  for (const [name, [otherwise, words]] of Object.entries(cases))
    test(name, async () => assert.match((await verdict(small(otherwise))).complaints.join('\n'), words))
})
