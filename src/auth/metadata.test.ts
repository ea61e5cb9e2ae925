import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourceMetadata } from './metadata.ts'

const tokens = { issuer: 'https://login.example.com/', audience: 'https://api.example.com', jwks: '' }

test('the document is at the root and, if the resource has a path, before that path too', () => {
  const root = resourceMetadata('office', ['a:b'], tokens)
  assert.equal(root.url, 'https://api.example.com/.well-known/oauth-protected-resource')
  assert.deepEqual(root.paths, ['/.well-known/oauth-protected-resource'])
  const below = resourceMetadata('office', [], {
    ...tokens,
    audience: 'office',
    resource: 'https://example.com/api/v1',
  })
  assert.equal(below.url, 'https://example.com/.well-known/oauth-protected-resource/api/v1')
  assert.deepEqual(below.paths, [
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/api/v1',
  ])
  assert.equal(JSON.parse(below.text).resource, 'https://example.com/api/v1')
})
