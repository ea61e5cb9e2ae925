/** Retry on codes: runs a step of a migration again while PostgreSQL refuses it for locks. The cellar. */
import { setTimeout as pause } from 'node:timers/promises'

/** What others hold is waited for outside of their queue: a statement that waits for its lock would stop all readers behind it. */
const lockFailures = ['55P03', '40P01', '40001']

/** Two nodes made one table at once. */
export const alreadyExists = ['42P07', '42710', '23505']

const maxTries = 40

export async function retryOnCodes<T>(act: () => Promise<T>, also = lockFailures): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (!also.includes(code) || tries === maxTries) throw error
    }
    await pause(100 + Math.random() * 400)
  }
}
