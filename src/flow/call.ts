/** Call: what came in, as a door took it down. Part 1. */

export interface Call {
  readonly method: string
  /** The target as it was sent, without an origin: a path with its query, `*`, or the authority of CONNECT. */
  readonly target: string
  /** The authority of a target that was sent with its origin; it takes the place of `Host`. */
  readonly authority: string | null
  /** The version of HTTP, as `1.1`. */
  readonly http: string
  /** Header values by lower-case name; repeated lines are joined or, where HTTP forbids a list, the first one. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The header as it came, names and values in turn. */
  readonly raw: readonly string[]
  /** The Request-Id that the answer carries. */
  readonly id: string
  /** The content as it comes in; null where the message has none. */
  readonly content: Content | null
  /** Where the call came from. */
  readonly address: string
  /** Whether its client has left, so that nobody waits for the answer. */
  readonly gone?: () => boolean
}

/** Content, piece by piece. */
export interface Content extends AsyncIterable<Uint8Array> {
  /** All of it, where it is here already, so that nobody waits for it. */
  readonly readIfComplete?: () => Uint8Array | null
}

/** Every line of a header, by its lower-case name. */
export function headerLines({ raw }: Call, name: string): string[] {
  const found: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const own = raw[i] as string
    if (own.length === name.length && own.toLowerCase() === name) found.push(raw[i + 1] as string)
  }
  return found
}

/** The version that serves a call, and what links begin and end with, so that they keep it as it was named. R49. */
export interface CarriedVersion {
  readonly label: string
  /** `/v1`, where the path named it. */
  readonly prefix: string
  /** `version=v1`, where the query named it. */
  readonly query: string
}
