/** A node of a service with files, on a database and contents that outlive it. */
import type { Service } from 'bylaw'
import { callerGate, handlerSources } from '../../src/corridor/server-context.ts'
import { sweepFiles } from '../../src/files/sweep-files.ts'
import { realWorld } from '../../src/flow/real-world.ts'
import { type ContentStore, serviceWorld } from '../../src/flow/world.ts'
import { forgetRevisions } from '../../src/history/forget-revisions.ts'
import { fetchDoor } from '../../src/http/fetch.ts'
import { openStore } from '../../src/terminal/open.ts'
import { previewVersions } from '../../src/versions/version-choice.ts'

const day = 24 * 60 * 60 * 1000

export interface FileNode {
  /** Sends JSON, or bytes as a PDF. */
  readonly send: (method: string, path: string, sent?: object | Buffer) => Promise<Response>
  /** Sweeps as if some days had passed: removes the contents that no row has named for a day. */
  readonly sweep: (days: number) => Promise<void>
  /** Deletes revisions as if some days had passed. */
  readonly forget: (days: number) => Promise<void>
  /** The failures in its log. */
  readonly errors: unknown[]
  readonly close: () => Promise<void>
}

export async function fileNode(
  api: Service,
  { url }: { readonly url: string },
  contents: ContentStore,
  allowLoss: readonly string[] = [],
): Promise<FileNode> {
  const store = await openStore(api, url, 'apply', { allowLoss })
  const world = serviceWorld(realWorld, store, undefined, contents)
  const errors: unknown[] = []
  const log = { error: ({ err }: { readonly err?: unknown }) => errors.push(err), warn: () => {}, info: () => {} }
  const shown = { ...api, choice: previewVersions(api.choice, 'all') }
  const handlers = handlerSources(api, store, world, log)
  const authenticate = callerGate(api, store, world)
  const door = fetchDoor({
    ...{ service: shown, store, world, authenticate, log, open: () => true },
    ...(handlers && { handlers }),
  })
  return {
    errors,
    send: (method, path, sent) => {
      const type = Buffer.isBuffer(sent) ? 'application/pdf' : 'application/json'
      const body = Buffer.isBuffer(sent) ? new Uint8Array(sent) : JSON.stringify(sent)
      const given = sent === undefined ? {} : { body, headers: { 'content-type': type } }
      return door(new Request(`http://a${path}`, { method, ...given }))
    },
    sweep: (days) => sweepFiles({ store, world: { contents, due: () => world.due() + days * day } }),
    forget: (days) => forgetRevisions({ ...api, store, world: { ...world, due: () => world.due() + days * day } }),
    close: async () => {
      await handlers?.close()
      await store.close()
    },
  }
}
