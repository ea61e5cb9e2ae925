/** Bucket place: where a bucket is and who may use it, by an s3 URL and the usual variables of the environment. Part 2, fields. */
import { isIP } from 'node:net'
import type { World } from '../flow/world.ts'
import { escapeKey, type SigningKey } from './bucket-signature.ts'

export interface BucketPlace extends SigningKey {
  readonly bucket: string
  /** The prefix of all keys: empty, or folders that end with a slash. */
  readonly prefix: string
  /** The server, without a path. */
  readonly origin: URL
  /** The path of the bucket on the server, escaped; keys follow after a slash. */
  readonly path: string
}

const mostPrefix = 900 // a key has up to 1,024 bytes
const parameters = ['endpoint', 'region', 'pathStyle'] as const

/** Throws if the URL is malformed, or if the environment lacks a variable. Secrets in the URL are refused; no message repeats them. */
export function bucketPlace(text: string, { environment }: Pick<World, 'environment'>): BucketPlace {
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    throw new Error(
      'the URL has credentials, which would be seen in lists of processes and in logs. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead.',
    )
  const bucket = url.hostname
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw new Error(
      'the URL names no bucket. Write s3://shop-files or s3://shop-files/folder; a name has 3 to 63 small letters, digits, dots and hyphens.',
    )
  const query = parametersOf(url)
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION } = environment
  const named = query.get('endpoint') || AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL
  const region = query.get('region') || AWS_REGION || AWS_DEFAULT_REGION || (named ? 'us-east-1' : undefined)
  if (region === undefined || !/^[a-z0-9-]{1,40}$/.test(region))
    throw new Error(
      'the region of the bucket is not known. Write it as region=eu-central-1 behind a question mark, or set AWS_REGION.',
    )
  const endpoint = endpointOf(named ?? `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`)
  const style = query.get('pathStyle') ?? ''
  if (!['', 'true', 'false'].includes(style))
    throw new Error('pathStyle must be true or false; by default it follows from the endpoint.')
  // Certificates of servers do not cover names of buckets with dots.
  const isInPath = style === '' ? named !== undefined || bucket.includes('.') : style === 'true'
  if (!isInPath && isIP(endpoint.hostname.replace(/^\[|\]$/g, '')) > 0)
    throw new Error(
      'pathStyle=false needs an endpoint with a name, as the bucket is put before it. Leave pathStyle out.',
    )
  const origin = new URL(isInPath ? endpoint.origin : `${endpoint.protocol}//${bucket}.${endpoint.host}`)
  const path = endpoint.pathname.replace(/\/$/, '') + (isInPath ? `/${bucket}` : '')
  return { bucket, prefix: prefixOf(url), region, origin, path, ...credentialsIn(environment) }
}

function parametersOf({ searchParams, hash }: URL): ReadonlyMap<string, string> {
  const names = [...searchParams.keys()]
  const odd = names.find((name, i) => !(parameters as readonly string[]).includes(name) || names.indexOf(name) < i)
  // The value of an unknown parameter may be a secret.
  if (odd !== undefined)
    throw new Error(
      `the URL has the parameter ${odd.slice(0, 40)}, which is unknown or there twice. Allowed are ${parameters.join(', ')}; secrets are read from the environment.`,
    )
  if (hash !== '') throw new Error('the URL has a #. Write it as %23 if it belongs to the folder.')
  return new Map(searchParams)
}

function prefixOf({ pathname }: URL): string {
  const path = decodedPath(pathname.replace(/^\/|\/$/g, ''))
  if (path === '') return ''
  if (path.split('/').some((part) => ['', '.', '..'].includes(part)) || escapeKey(path).length > mostPrefix)
    throw new Error(
      `the folder in the bucket has an empty part, a part of dots, or more than ${mostPrefix} bytes. Write it as s3://shop-files/folder.`,
    )
  return `${path}/`
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new Error('the folder in the bucket has a % that escapes nothing. Write it as %25.')
  }
}

function endpointOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url && url.username + url.password + url.search + url.hash === ''
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  throw new Error(
    'the endpoint is no URL of a server. Write endpoint=https://s3.example.com behind a question mark, or set AWS_ENDPOINT_URL_S3, without credentials.',
  )
}

function credentialsIn(environment: World['environment']): Pick<SigningKey, 'id' | 'secret' | 'token'> {
  const { AWS_ACCESS_KEY_ID: id = '', AWS_SECRET_ACCESS_KEY: secret = '', AWS_SESSION_TOKEN: token = '' } = environment
  const [missing] =
    Object.entries({ AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret }).find(([, value]) => value === '') ?? []
  if (missing !== undefined)
    throw new Error(`${missing} is not set. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key for the bucket.`)
  return { id, secret, token: token === '' ? null : token }
}
