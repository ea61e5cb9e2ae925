/** Pool: a few connections that transactions take in turn. The cellar. */
import { Problem } from '../errors/problem.ts'
import type { Connection } from './connect.ts'

export interface Pool {
  /** Gives a connection to one user alone. Who fails with it has it closed where it is of no more use. */
  readonly use: <T>(act: (connection: Connection) => Promise<T>) => Promise<T>
  /** Waits for all users, and closes. */
  readonly close: () => Promise<void>
}

interface Waiting {
  readonly take: (connection: Promise<Connection>) => void
  readonly leave: NodeJS.Timeout
}

/** `most` connections at most; who waits longer than `patience` milliseconds for one is refused. */
// long because: its steps share the connections and the queue
export function pool(connect: () => Promise<Connection>, most: number, patience: number): Pool {
  const free: Connection[] = []
  const queue: Waiting[] = []
  const idle: (() => void)[] = []
  let used = 0

  return {
    use: async (act) => {
      const connection = await taken()
      try {
        return await act(connection)
      } finally {
        give(connection)
      }
    },
    close: async () => {
      if (used > 0) await new Promise<void>((resolve) => idle.push(resolve))
      for (const connection of free.splice(0)) connection.close()
    },
  }

  function taken(): Promise<Connection> {
    if (used < most) {
      used++
      return opened()
    }
    return new Promise((take, fail) => {
      const leave = setTimeout(() => {
        queue.splice(queue.indexOf(waiting), 1)
        fail(tooMany())
      }, patience)
      const waiting: Waiting = { take, leave }
      queue.push(waiting)
    })
  }

  async function opened(): Promise<Connection> {
    for (let one = free.pop(); one; one = free.pop()) if (one.isOpen()) return one
    try {
      return await connect()
    } catch (error) {
      next()
      throw error
    }
  }

  function give(connection: Connection): void {
    if (connection.isOpen()) free.push(connection)
    next()
  }

  function next(): void {
    const waiting = queue.shift()
    if (waiting) {
      clearTimeout(waiting.leave)
      waiting.take(opened())
      return
    }
    used--
    if (used === 0) for (const resolve of idle.splice(0)) resolve()
  }
}

const tooMany = (): Problem =>
  new Problem('overloaded', 'Too many requests wait for the store; nothing was changed. Try again later.')
