/** Reply: what goes out, before a door sends it. Part 1. */

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  /** Text, or bytes where it is coded. */
  readonly body: string | Buffer | null
}
