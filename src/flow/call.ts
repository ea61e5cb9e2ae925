/** Call: a request as it was received, over node:http or fetch. Part 1. */

export interface Call {
  readonly method: string
  /** The target as it was sent, without an origin: a path with its query, `*`, or the authority of CONNECT. */
  readonly target: string
  /** The authority of an absolute target; it overrides `Host`. */
  readonly authority: string | null
  /** The version of HTTP, as `1.1`. */
  readonly http: string
  /** Header values by lower-case name; repeated lines are joined, or the first one counts if HTTP forbids a list. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The header lines as received: names and values alternate. */
  readonly raw: readonly string[]
  /** The Request-Id that the answer carries. */
  readonly id: string
  /** The content as it arrives; null if the message has none. */
  readonly content: Content | null
  /** The address of the client. */
  readonly address: string
  /** Whether the client has disconnected. */
  readonly gone?: () => boolean
  /** Whether the client has closed its side of the connection. It may have left, or still read the answer. */
  readonly halfClosed?: () => boolean
}

/** Content, piece by piece. */
export interface Content extends AsyncIterable<Uint8Array> {
  /** The whole content if it has arrived already, otherwise null. */
  readonly readIfComplete?: () => Uint8Array | null
  /**
   * The pieces of content that is passed on: all of it may take any time, but no piece longer than `idle` milliseconds. The reader
   * holds a part of up to `part` bytes at a time; none by default. R180.
   */
  readonly flow: (idle: number, part?: number) => AsyncIterable<Uint8Array>
  /** Whether it is read in this way, so that no time-out for the whole request ends it. */
  readonly isFlowing?: boolean
}

/** Every line of a header, by its lower-case name. */
export function headerLines({ raw }: Call, name: string): string[] {
  const lines: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const own = raw[i] as string
    if (own.length === name.length && own.toLowerCase() === name) lines.push(raw[i + 1] as string)
  }
  return lines
}

/** The version that serves a call, and the parts of the URL that named it, which links repeat. R49. */
export interface CarriedVersion {
  readonly label: string
  /** `/v1` if the path named it, otherwise empty. */
  readonly inPath: string
  /** What paths in links begin with: the base path of the service, and `inPath`. */
  readonly prefix: string
  /** `version=v1` if the query named it, otherwise empty. */
  readonly query: string
}
