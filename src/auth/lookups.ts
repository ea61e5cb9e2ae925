/**
 * Lookups: batches lookups of unverified credentials, so that a flood of made-up keys costs the store a few statements a
 * second and delays valid keys only a little. Part 5, authentication.
 */
import type { World } from '../flow/world.ts'

/** How many lookups one statement may hold. */
const mostQuestions = 500
/** Milliseconds between statements after the burst: at most 17 in any second, besides renewals, which are not throttled. */
const interval = 1000 / 13
const burst = 3

interface PendingLookup<Q, A> {
  readonly question: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}

type RunLookup<Q, A> = (questions: readonly Q[]) => readonly A[] | Promise<readonly A[]>

/** Runs one statement at a time. Addresses take turns, so that one with many lookups does not delay the others. */
// long because: its functions share the queue
export function makeLookups<Q, A>(
  ask: RunLookup<Q, A>,
  { monotonic, after }: Pick<World, 'monotonic' | 'after'>,
): (question: Q, from: string) => A | Promise<A> {
  const queues = new Map<string, PendingLookup<Q, A>[]>()
  let busy = false
  let due = Number.NEGATIVE_INFINITY

  return (question, from) => {
    if (!busy && delay() === 0) {
      const answers = answersTo([question])
      return answers instanceof Promise ? answers.then(([answer]) => answer as A) : (answers[0] as A)
    }
    return new Promise((resolve, reject) => {
      const own = queues.get(from) ?? []
      own.push({ question, resolve, reject })
      queues.set(from, own)
      if (!busy) later()
    })
  }

  /** How long the next statement has to wait. */
  function delay(): number {
    return Math.max(0, due - burst * interval - monotonic())
  }

  function answersTo(questions: readonly Q[]): readonly A[] | Promise<readonly A[]> {
    due = Math.max(due, monotonic()) + interval
    const answers = ask(questions)
    if (!(answers instanceof Promise)) return answers
    busy = true
    return answers.finally(() => {
      busy = false
      if (queues.size > 0) later()
    })
  }

  function later(): void {
    busy = true
    after(delay(), () => {
      busy = false
      void together(nextOnes())
    })
  }

  async function together(waiting: readonly PendingLookup<Q, A>[]): Promise<void> {
    try {
      const answers = answersTo(waiting.map(({ question }) => question))
      const all = answers instanceof Promise ? await answers : answers
      for (const [i, { resolve }] of waiting.entries()) resolve(all[i] as A)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
    if (!busy && queues.size > 0) later()
  }

  /** Takes one lookup of each address, then the second of each, up to the limit. A served address goes to the end. */
  function nextOnes(): PendingLookup<Q, A>[] {
    const taken: PendingLookup<Q, A>[] = []
    while (taken.length < mostQuestions && queues.size > 0)
      for (const [from, own] of [...queues]) {
        if (taken.length === mostQuestions) break
        taken.push(own.shift() as PendingLookup<Q, A>)
        queues.delete(from)
        if (own.length > 0) queues.set(from, own)
      }
    return taken
  }
}
