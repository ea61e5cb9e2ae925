/** Reply: what goes out, before a door sends it. Part 1. */

/** The memory of an answer, and its place where only so many requests are handled at a time. */
interface HeldResources {
  /** Says how many bytes are not sent yet. */
  readonly set: (bytes: number) => void
  readonly leave: () => void
}

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  /** Text, or bytes where it is coded. */
  readonly body: string | Uint8Array | null
  /** When what it carries was last changed, as documents write times, where dates of the request are compared with it. */
  readonly changed?: string
  /** What the request holds until its answer has left, for the door to give back. */
  held?: HeldResources
  /** How long each phase took, as `Server-Timing` writes it. */
  timing?: readonly string[]
}
