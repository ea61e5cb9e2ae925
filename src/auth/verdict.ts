/** Verdict: what a credential proves. Part 5, authentication. */
import type { Caller } from '../flow/caller.ts'

/** A caller, and until when that is known without asking again; or why not, and whether it can have been a guess. */
export type AuthVerdict =
  | { readonly caller: Caller; readonly until: number }
  | { readonly refused: string; readonly guessed: boolean }

/** What is kept by a caller is kept on as long as nothing about it changes. */
export const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.id === b.id &&
  a.account === b.account &&
  a.tier === b.tier &&
  [...a.scopes].join() === [...b.scopes].join() &&
  [...a.features].join() === [...b.features].join()
