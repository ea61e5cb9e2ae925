/** Verdict: the result of checking a credential. Part 5, authentication. */
import type { Caller } from '../flow/caller.ts'

/** A caller and until when it may be cached; or the reason of the refusal, and whether the credential may be a guess. */
export type AuthVerdict =
  | { readonly caller: Caller; readonly until: number }
  | { readonly refused: string; readonly guessed: boolean }

/** Whether two callers are equal; then the cached object is kept, as other caches use it as their key. */
export const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.id === b.id &&
  a.account === b.account &&
  a.tier === b.tier &&
  [...a.scopes].join() === [...b.scopes].join() &&
  [...a.features].join() === [...b.features].join()
