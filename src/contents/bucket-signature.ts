/** Bucket signature: signs requests to a bucket by AWS Signature Version 4, so that no package is needed. Part 2, fields. */
import { createHash, createHmac } from 'node:crypto'

/** An access key, and the region that its signatures are for. */
export interface SigningKey {
  readonly id: string
  readonly secret: string
  /** The session token of temporary credentials; null for permanent ones. */
  readonly token: string | null
  readonly region: string
}

interface UnsignedRequest {
  readonly method: string
  readonly host: string
  /** As it is sent, escaped. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The SHA-256 digest of the content, in hexadecimal. */
  readonly digest: string
}

/** The headers of a request with its signature. */
export function signRequest(
  { method, host, path, query, headers, digest }: UnsignedRequest,
  { id, secret, token, region }: SigningKey,
  time: number,
): Record<string, string> {
  const stamp = new Date(time).toISOString().replace(/[-:]|\.\d+/g, '')
  const day = stamp.slice(0, 8)
  const signed: Record<string, string> = {
    ...headers,
    ...{ host, 'x-amz-content-sha256': digest, 'x-amz-date': stamp },
    ...(token !== null && { 'x-amz-security-token': token }),
  }
  const names = Object.keys(signed).sort()
  const lines = names.map((name) => `${name}:${(signed[name] as string).trim().replace(/ +/g, ' ')}\n`).join('')
  const request = [method, path, canonicalQuery(query), lines, names.join(';'), digest].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', stamp, scope, sha256(request)].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`)
  const authorization = `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${hmac(key, text).toString('hex')}`
  return { ...signed, authorization }
}

/** A query string in the order of signatures. */
export const canonicalQuery = (query: Readonly<Record<string, string>>): string =>
  Object.keys(query)
    .sort()
    .map((name) => `${escapeText(name)}=${escapeText(query[name] as string)}`)
    .join('&')

/** A key as a path: all but letters, digits, `-`, `.`, `_`, `~` and slashes is escaped. */
export const escapeKey = (key: string): string => key.split('/').map(escapeText).join('/')

const escapeText = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

export const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
