/** Bucket fault: why a request to a bucket has failed, and what the operator can do about it. Part 7. */
import type { BucketPlace } from './bucket-place.ts'

/** A failure for the log of the operator: clients never see it. */
export class BucketFault extends Error {
  /** The code of the bucket, or that of the connection. */
  readonly code: string
  /** Whether the same request may succeed soon. */
  readonly passes: boolean

  constructor(
    message: string,
    code: string,
    { passes, cause }: { readonly passes: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause })
    this.code = code
    this.passes = passes
  }
}

interface RefusedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** XML; empty for HEAD. */
  readonly text: string
}

const passing: ReadonlySet<string> = new Set(['SlowDown', 'RequestTimeout', 'OperationAborted', 'InternalError'])

/** The fault for an error that a bucket has answered. */
export function answeredFault(place: BucketPlace, { status, headers, text }: RefusedAnswer): BucketFault {
  const code = element(text, 'Code') ?? (status === 403 ? 'AccessDenied' : `HTTP ${status}`)
  const region = String(headers['x-amz-bucket-region'] ?? element(text, 'Region') ?? '')
  const mend =
    region !== '' && region !== place.region && (status === 301 || status === 400 || status === 403)
      ? `It is in the region ${region}: write region=${region} in the URL, or set AWS_REGION.`
      : status >= 300 && status < 400
        ? 'It is at another address, and redirects are not followed: correct the endpoint and the region.'
        : (mends[code]?.(place, String(headers.date ?? '?')) ?? (element(text, 'Message') ?? '').slice(0, 200))
  const passes = status >= 500 || status === 429 || passing.has(code)
  return new BucketFault(
    `The bucket ${place.bucket} at ${place.origin.host} answered ${status} ${code}. ${mend}`,
    code,
    {
      passes,
    },
  )
}

const mends: Readonly<Record<string, (place: BucketPlace, date: string) => string>> = {
  InvalidAccessKeyId: () => 'It does not know AWS_ACCESS_KEY_ID: correct it, or the endpoint.',
  SignatureDoesNotMatch: () => 'AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID: correct it.',
  ExpiredToken: () => 'AWS_SESSION_TOKEN has expired: start with new credentials.',
  InvalidToken: () => 'AWS_SESSION_TOKEN does not belong to AWS_ACCESS_KEY_ID: set all three variables anew.',
  RequestTimeTooSkewed: (_, date) =>
    `The clock of this machine differs too much from that of the bucket, where it is ${date}: set it, as by NTP.`,
  NoSuchBucket: ({ bucket }) => `There is no bucket ${bucket}: create it, or correct its name or the endpoint.`,
  AccessDenied: ({ bucket, prefix }) =>
    `The access key needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload for ${bucket}/${prefix}*, and s3:ListBucket and s3:ListBucketMultipartUploads for ${bucket}.`,
}

/** The text of an element of an answer. */
export const element = (xml: string, name: string): string | undefined => elements(xml, name)[0]

export const elements = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) =>
    text.replace(/&(lt|gt|quot|apos|amp|#\d+);/g, (_, entity: string) => entities[entity] ?? charOf(entity)),
  )

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }
const charOf = (entity: string): string => String.fromCodePoint(Math.min(Number(entity.slice(1)), 0x10ffff))
