/** Catalogue: chains, statuses and titles of error types, and the types of a service. Part 7, error body. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { catalogue, extendCatalogue, typeChain, typeStatus, typeTitle } from './catalogue.ts'

test('every type descends from error through a class, and has the status of its nearest ancestor with one', () => {
  for (const type of catalogue.keys()) {
    if (type === 'error') continue
    const line = typeChain(catalogue, type)
    const side = typeStatus(catalogue, type) < 500 ? 'client-error' : 'server-error'
    assert.deepEqual(line.slice(-2), [side, 'error'], type)
    assert.equal(line[0], type)
    assert.equal(new Set(line).size, line.length)
  }
})

test('a chain and its status', () => {
  const table = [
    ['out-of-range', undefined, 400, 'out-of-range validation-failed invalid-request client-error error'],
    [
      'idempotency-key-missing',
      undefined,
      400,
      'idempotency-key-missing invalid-idempotency-key invalid-request client-error error',
    ],
    ['conflict', undefined, 409, 'conflict client-error error'],
    ['client-error', undefined, 400, 'client-error error'],
    ['server-error', undefined, 500, 'server-error error'],
    ['timeout', undefined, 503, 'timeout unavailable server-error error'],
    ['version-retired', 'invalid-version', 400, 'version-retired invalid-version invalid-request client-error error'],
    [
      'idempotency-key-payload-mismatch',
      'unprocessable',
      422,
      'idempotency-key-payload-mismatch unprocessable client-error error',
    ],
    ['method-not-allowed', 'not-implemented', 501, 'method-not-allowed not-implemented server-error error'],
  ] as const
  for (const [type, under, status, line] of table) {
    assert.equal(typeChain(catalogue, type, under).join(' '), line)
    assert.equal(typeStatus(catalogue, type, under), status, type)
  }
})

test('declared types are below their nearest parent, in any order of declaration', () => {
  const types = extendCatalogue({
    'seat-taken': { status: 409, parents: ['booking-failed'] },
    'booking-failed': { status: 409, parents: ['conflict', 'client-error', 'error'] },
    'too-early': { status: 425 },
    'too-late': { status: 425, parents: ['error'] },
    'ledger-broken': { status: 500 },
    'partner-down': { status: 503, parents: ['unavailable'] },
  })
  const table = [
    ['seat-taken', 409, 'seat-taken booking-failed conflict client-error error'],
    ['booking-failed', 409, 'booking-failed conflict client-error error'],
    ['too-early', 425, 'too-early client-error error'],
    ['too-late', 425, 'too-late client-error error'],
    ['ledger-broken', 500, 'ledger-broken server-error error'],
    ['partner-down', 503, 'partner-down unavailable server-error error'],
    ['conflict', 409, 'conflict client-error error'],
  ] as const
  for (const [type, status, line] of table) {
    assert.equal(typeChain(types, type).join(' '), line)
    assert.equal(typeStatus(types, type), status, type)
  }
  assert.equal(catalogue.has('seat-taken'), false)
})

test('a title is the type in words', () => {
  const table = {
    'resource-not-found': 'Resource not found',
    conflict: 'Conflict',
    'uri-too-long': 'URI too long',
    'invalid-url-encoding': 'Invalid URL encoding',
  }
  for (const [type, words] of Object.entries(table)) assert.equal(typeTitle(catalogue, type), words)
  const own = extendCatalogue({ 'not-paid': { status: 409, title: 'Payment missing' } })
  assert.equal(typeTitle(own, 'not-paid'), 'Payment missing')
})

test('the page about errors lists all types', () => {
  const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  const listed = new Set([...page.slice(page.indexOf('## All types')).matchAll(/`([a-z-]+)`/g)].map(([, type]) => type))
  const roots = ['error', 'client-error', 'server-error']
  assert.deepEqual(
    [...catalogue.keys()].filter((type) => !roots.includes(type) && !listed.has(type)),
    [],
  )
})
