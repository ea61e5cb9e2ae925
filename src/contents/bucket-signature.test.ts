/** Signatures of requests to buckets, compared with the published examples of AWS ("Authenticating Requests: Using the Authorization Header"). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeKey, sha256, signRequest } from './bucket-signature.ts'

const key = {
  id: 'AKIAIOSFODNN7EXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  token: null,
  region: 'us-east-1',
}
const time = Date.UTC(2013, 4, 24)
const plain = {
  method: 'GET',
  host: 'examplebucket.s3.amazonaws.com',
  path: '/',
  query: {},
  headers: {},
  digest: sha256(''),
}

for (const [name, request, signature] of [
  [
    'GET of a range',
    { ...plain, path: '/test.txt', headers: { range: 'bytes=0-9' } },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'PUT of a content',
    {
      ...plain,
      method: 'PUT',
      path: `/${escapeKey('test$file.text')}`,
      headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      digest: sha256('Welcome to Amazon S3.'),
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'GET of a parameter without a value',
    { ...plain, query: { lifecycle: '' } },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'GET of a list',
    { ...plain, query: { prefix: 'J', 'max-keys': '2' } },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
] as const)
  test(`the example "${name}" has its published signature`, () => {
    const { authorization = '' } = signRequest(request, key, time)
    assert.equal(authorization.split('Signature=')[1], signature)
    assert.match(
      authorization,
      /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/us-east-1\/s3\/aws4_request, /,
    )
  })

test('the token of temporary credentials is sent and signed', () => {
  const signed = signRequest(plain, { ...key, token: 'temporary' }, time)
  assert.equal(signed['x-amz-security-token'], 'temporary')
  assert.match(
    signed.authorization as string,
    /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,/,
  )
})

test('keys are escaped but for letters, digits and a few marks', () => {
  assert.equal(escapeKey("a b/ü+&?#%!'()*=:@,;~-._"), 'a%20b/%C3%BC%2B%26%3F%23%25%21%27%28%29%2A%3D%3A%40%2C%3B~-._')
})
