/** Chooses ports for servers that tests start. */
import { createServer } from 'node:net'

/** Below the range from which systems assign ports to outgoing connections and to servers that name none. */
const [first, count] = [10_000, 20_000]
/** A test that chooses several ports starts no server on the first one before it has the last one. */
const given = new Set<number>()

/** A free port, which the system does not assign to another process before the test uses it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().on('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
