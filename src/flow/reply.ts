/** Reply: what goes out, before a door sends it. Part 1. */

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  /** Text, or bytes where it is coded. */
  readonly body: string | Buffer | null
  /** When what it carries was last changed, as documents write times, where dates of the request are compared with it. */
  readonly changed?: string
}
