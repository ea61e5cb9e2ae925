/** Memory: keeps contents of files in memory, for tests and databases in memory. Part 2, fields. */
import type { ContentStore } from '../flow/world.ts'

const pieceSize = 65_536

export function memoryContents(): ContentStore {
  const kept = new Map<string, Buffer>()
  return {
    write: async (name, pieces) => {
      const all: Uint8Array[] = []
      for await (const piece of pieces) all.push(piece)
      kept.set(name, Buffer.concat(all))
    },
    length: async (name) => kept.get(name)?.length ?? null,
    read: async function* (name, from, end) {
      const content = kept.get(name)
      if (!content) throw new Error(`There is no content ${name}.`)
      for (let at = from; at < end; at += pieceSize) yield content.subarray(at, Math.min(end, at + pieceSize))
    },
    remove: async (name) => void kept.delete(name),
  }
}
