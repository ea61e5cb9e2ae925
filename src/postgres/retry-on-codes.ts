/** Retry on codes: retries a step of a migration while PostgreSQL refuses it, by default because of locks. The cellar. */
import { pause, type World } from '../flow/world.ts'

/** Lock failures are retried after a pause: a statement that waits in the lock queue blocks all readers behind it. */
const lockFailures = ['55P03', '40P01', '40001']

/** Another node created the same table at the same time. */
export const alreadyExists = ['42P07', '42710', '23505']

const maxTries = 40

export async function retryOnCodes<T>(world: World, act: () => Promise<T>, also = lockFailures): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (!also.includes(code) || tries === maxTries) throw error
    }
    await pause(world, 100 + world.random() * 400)
  }
}
