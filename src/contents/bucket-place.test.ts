/** Bucket place: reads the URL of a bucket and the environment; the message of a refusal never has a secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketPlace } from './bucket-place.ts'

const key = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hidden' }
const placeOf = (url: string, more: Record<string, string> = {}) =>
  bucketPlace(url, { environment: { ...key, ...more } })

test('a bucket is at its host in AWS, and in the path of other servers', () => {
  const at = (url: string, more = {}) => {
    const { origin, path, prefix, region } = placeOf(url, more)
    return `${origin.href.slice(0, -1)}${path}/${prefix} ${region}`
  }
  assert.equal(at('s3://files', { AWS_REGION: 'eu-west-1' }), 'https://files.s3.eu-west-1.amazonaws.com/ eu-west-1')
  assert.equal(at('s3://files/a/b/?region=cn-north-1'), 'https://files.s3.cn-north-1.amazonaws.com.cn/a/b/ cn-north-1')
  assert.equal(at('s3://my.files?region=eu-west-1'), 'https://s3.eu-west-1.amazonaws.com/my.files/ eu-west-1')
  assert.equal(at('s3://files?endpoint=http://minio:9000'), 'http://minio:9000/files/ us-east-1')
  assert.equal(at('s3://files?endpoint=http://[::1]:9000'), 'http://[::1]:9000/files/ us-east-1')
  assert.equal(at('s3://files?endpoint=https://a.example/storage/s3'), 'https://a.example/storage/s3/files/ us-east-1')
  assert.equal(at('s3://files?endpoint=https://a.example&pathStyle=false&region=auto'), 'https://files.a.example/ auto')
  const ofEnvironment = { AWS_ENDPOINT_URL: 'http://all', AWS_ENDPOINT_URL_S3: 'http://s3', AWS_DEFAULT_REGION: 'here' }
  assert.equal(at('s3://files/%C3%BC%20x', ofEnvironment), 'http://s3/files/ü x/ here')
})

test('what is missing or odd is refused with the mend, and secrets are not repeated', () => {
  for (const [url, says, more] of [
    ['s3://', /names no bucket/],
    ['s3://Files', /names no bucket/],
    ['s3://id:sesame@files', /the URL has credentials.*Set AWS_ACCESS_KEY_ID/],
    ['s3://files?secretKey=sesame', /parameter secretKey, which is unknown.*endpoint, region, pathStyle/],
    ['s3://files?region=a&region=b', /there twice/],
    ['s3://files', /region of the bucket is not known.*AWS_REGION/],
    ['s3://files?region=sesame%0a', /region of the bucket is not known/],
    ['s3://files?region=a&pathStyle=yes', /pathStyle must be true or false/],
    ['s3://files?endpoint=minio:9000', /endpoint is no URL/],
    ['s3://files?endpoint=http://id:sesame@minio', /endpoint is no URL.*without credentials/],
    ['s3://files?endpoint=http://127.0.0.1&pathStyle=false', /pathStyle=false needs an endpoint with a name/],
    ['s3://files//a?region=a', /has an empty part/],
    ['s3://files/a%2F..%2Fb?region=a', /a part of dots/],
    ['s3://files/%zz?region=a', /% that escapes nothing/],
    [`s3://files/${'ü'.repeat(200)}?region=a`, /more than 900 bytes/],
    ['s3://files#a?region=a', /has a #/],
    ['s3://files?region=a', /AWS_SECRET_ACCESS_KEY is not set/, { AWS_SECRET_ACCESS_KEY: '' }],
  ] as const)
    assert.throws(
      () => placeOf(url, more),
      (error: Error) => says.test(error.message) && !/sesame|hidden/.test(error.message),
      url,
    )
})
