/** Reply: an answer before the HTTP layer sends it. Part 1. */
import type { Problem } from '../errors/problem.ts'
import type { AccessRule } from '../resources/declaration.ts'
import type { Caller } from './caller.ts'

/** The memory of an answer, and the slots of its request. */
interface HeldResources {
  /** Reports how many bytes are not sent yet. */
  readonly set: (bytes: number) => void
  readonly leave: () => void
}

/** Where a stream is sent. */
export interface StreamTarget {
  readonly write: (piece: string | Uint8Array) => void
  /** How many bytes are not sent yet. */
  readonly unread: () => number
  /** Ends the answer. */
  readonly end: () => void
  /** Resolves when the client has taken all that was written, or has disconnected. */
  readonly ready: () => Promise<void>
  /** Breaks the connection, so that the answer is not taken for complete; the failure is logged. R162. */
  readonly cut: (failure?: unknown) => void
}

/** A body that is made while it is sent. */
export interface AnswerStream {
  /** Set if it goes on until its client leaves, so that it holds no slot of running requests. */
  readonly endless?: true
  /** Begins; the returned function is called when the client has gone. */
  readonly open: (target: StreamTarget) => () => void
}

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  /** Text, or bytes if it is compressed. */
  readonly body: string | Uint8Array | null
  /** The body in place of `body`, if it is made while it is sent. */
  readonly stream?: AnswerStream
  /** Makes the reply with the requested range of a content, after the preconditions of the request were checked. R51. */
  readonly part?: () => Promise<Reply>
  /** When its content last changed, as a timestamp of documents, to compare with dates in preconditions. */
  readonly changed?: string
  /** The resources that are embedded, and whether callers may see them differently; missing if nothing is embedded. */
  readonly embedded?: { readonly resources: readonly string[]; readonly isPersonal: boolean }
  /** The resources that the HTTP layer releases after sending. */
  held?: HeldResources
  /** How long each phase took, as `Server-Timing` writes it. */
  timing?: readonly string[]
  /** The caller, for the log; missing if the request was refused before its caller was known. */
  caller?: Caller
  /** The refusal as the client sees it, for the log; the access rule if the credentials were refused. */
  refused?: { readonly problem: Problem; readonly rule?: AccessRule }
}
