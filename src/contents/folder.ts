/** Folder: keeps contents of files in a folder, which all nodes share. Part 2, fields. */
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ContentStore } from '../flow/world.ts'

/** Throws if the folder cannot be made. */
export async function folderContents(folder: string): Promise<ContentStore> {
  await makeFolder(folder)
  // Subfolders by prefix, as folders with many thousands of entries are slow on some systems.
  const placeOf = (name: string) => join(folder, name.slice(0, 2), name)
  const partOf = (name: string) => `${placeOf(name)}.part`
  return {
    write: async (name, pieces) => {
      const place = placeOf(name)
      await makeFolder(dirname(place))
      try {
        await writeWhole(partOf(name), pieces)
        await rename(partOf(name), place)
        await synced(dirname(place))
      } catch (error) {
        await rm(partOf(name), { force: true })
        throw error
      }
    },
    length: (name) =>
      stat(placeOf(name)).then(
        ({ size }) => size,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return null
          throw error
        },
      ),
    // Reading an empty part: `end` is included there.
    read: (name, start, end) => (end > start ? createReadStream(placeOf(name), { start, end: end - 1 }) : noPieces()),
    remove: async (name) => {
      await rm(partOf(name), { force: true })
      await rm(placeOf(name), { force: true })
    },
  }
}

async function* noPieces(): AsyncGenerator<Uint8Array> {}

/** Writes a file whose bytes survive a loss of power. */
async function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of pieces) await file.writeFile(piece)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the entries of a folder survive a loss of power. */
async function synced(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

/** Makes a folder and those above it. The recursive option of Node never returns if a folder cannot be made, as in /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await mkdir(folder).catch((second: NodeJS.ErrnoException) => {
      if (second.code !== 'EEXIST') throw second // another process may have made it
    })
  }
}
