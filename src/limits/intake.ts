/** Intake: bounds the memory of content that is not whole yet, so that senders that stop cannot fill it. Part 8, body size. */
import { Problem } from '../errors/problem.ts'

const MiB = 1024 * 1024
/** Of all content that is not whole yet, in the process together. */
const mostHeld = 64 * MiB
/** While there is no room, an upload is cut that takes longer than this and falls behind this many bytes in a millisecond. */
const [grace, pace] = [2000, 512]
/** How long an upload waits for room, in milliseconds. */
const patience = 5000

interface Upload {
  bytes: number
  readonly since: number
  cut: ((problem: Problem) => void) | null
}

/** In the order in which they began. */
const uploads = new Set<Upload>()
const waiting = new Set<() => void>()
let held = 0
let sweeping: NodeJS.Timeout | undefined

const full = (): Problem =>
  new Problem('overloaded', 'More content is on its way than the service keeps in memory. Send it again later.', {
    headers: { Connection: 'close' },
  })

/** Takes in the next piece of an upload; it is refused where there is no room, or where it holds room for too long. */
export function intake(now: () => number): {
  next: <T>(piece: Promise<T>) => Promise<T>
  add: (bytes: number) => Promise<void>
  end: () => void
} {
  const own: Upload = { bytes: 0, since: now(), cut: null }
  return {
    next: (piece) =>
      new Promise((resolve, reject) => {
        own.cut = reject
        piece.then(resolve, reject)
      }),
    add: async (bytes) => {
      const until = now() + patience
      while (held > 0 && held + bytes > mostHeld) await room(until, now)
      own.bytes += bytes
      held += bytes
      uploads.add(own)
    },
    end: () => {
      uploads.delete(own)
      held -= own.bytes
      own.bytes = 0
      wake()
    },
  }
}

function wake(): void {
  for (const go of waiting) go()
}

/** Waits until somebody leaves; meanwhile it is looked for those who are too slow. */
function room(until: number, now: () => number): Promise<void> {
  sweeping ??= setInterval(() => sweep(now()), 500).unref()
  return new Promise((resolve, reject) => {
    const go = (): void => {
      clearTimeout(late)
      waiting.delete(go)
      resolve()
    }
    const late = setTimeout(() => {
      waiting.delete(go)
      reject(full())
    }, until - now())
    waiting.add(go)
    sweep(now())
  })
}

function sweep(now: number): void {
  if (waiting.size === 0) {
    clearInterval(sweeping)
    sweeping = undefined
    return
  }
  for (const { bytes, since, cut } of uploads) if (now - since > grace + bytes / pace) cut?.(full())
}
