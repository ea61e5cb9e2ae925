/** Reply: an answer before the HTTP layer sends it. Part 1. */

/** The memory of an answer, and the slots of its request. */
interface HeldResources {
  /** Reports how many bytes are not sent yet. */
  readonly set: (bytes: number) => void
  readonly leave: () => void
}

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  /** Text, or bytes if it is compressed. */
  readonly body: string | Uint8Array | null
  /** When its content last changed, as a timestamp of documents, to compare with dates in preconditions. */
  readonly changed?: string
  /** The resources that the HTTP layer releases after sending. */
  held?: HeldResources
  /** How long each phase took, as `Server-Timing` writes it. */
  timing?: readonly string[]
}
