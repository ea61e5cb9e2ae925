/** A process that opens a service, closes it, and has to end by itself: `ending-node.ts <scenario> <database>`. */
import { DatabaseSync } from 'node:sqlite'
import { f, type Service, service } from 'bylaw'
import { openApp, toFetch } from 'bylaw/embedding'
import { testing } from 'bylaw/testing'

/** How long after the close the process may take to end, in milliseconds. */
const patience = 4000

const [scenario = '', database = ''] = process.argv.slice(2)
const say = (word: string): unknown => process.stdout.write(`${word}\n`)
const told = (_: object, message: string): unknown => say(message)
const log = { info: () => {}, error: told, warn: told }

const resource = { prefix: 'not', fields: { text: f.text() }, access: 'public' } as const
const notes = service({ name: 'notes', resources: { notes: { ...resource, exports: true } } }) as Service
const packings = { at: 'collection', asynchronous: true, access: 'public' } as const
const packed = service({
  name: 'packed',
  events: true,
  resources: { notes: { ...resource, operations: { packings } } },
} as never) as unknown as { handlers: (handlers: object, options?: object) => Service }
const handlers = {
  notes: { packings: async () => {} },
  reactions: { watch: { on: ['note.created'], run: async () => {} } },
}

const post = (): Request =>
  new Request('http://localhost/notes', {
    method: 'POST',
    body: '{"text":"a"}',
    headers: { 'content-type': 'application/json' },
  })

async function openAndClose(declared: Service): Promise<void> {
  const app = await openApp(declared, { database, log })
  const answer = toFetch(app, { addressOf: () => '192.0.2.1' })
  say(`answered ${(await answer(post())).status}`)
  await app.close().catch((error: Error) => say(`The close failed: ${error.message}`))
}

const scenarios: Readonly<Record<string, () => Promise<void>>> = {
  plain: () => openAndClose(notes),
  'own close fails': () =>
    openAndClose(
      packed.handlers(handlers, {
        use: () => 1,
        close: () => Promise.reject(new Error('The mail has no end.')),
      }),
    ),
  'own close never ends': () =>
    openAndClose(packed.handlers(handlers, { use: () => 1, close: () => new Promise(() => {}) })),
  'unread export': async () => {
    const app = await openApp(notes, { database, log })
    const answer = toFetch(app, { addressOf: () => '192.0.2.1' })
    await answer(post())
    const headers = { accept: 'application/x-ndjson' }
    say(`answered ${(await answer(new Request('http://localhost/notes', { headers }))).status}`)
    await app.close({ drain: 'PT0.1S' })
  },
  'export after the close': async () => {
    const { call, close } = testing(notes, { database })
    await call('/notes', { method: 'POST', json: { text: 'a' } })
    await close()
    const answer = await call('/notes', { headers: { accept: 'application/x-ndjson' } })
    say(`answered ${answer.status}`)
  },
  'start fails': async () => {
    const file = database.replace('sqlite:', '')
    const declared = packed.handlers(handlers, {
      use: () => {
        const db = new DatabaseSync(file)
        db.exec('DROP TABLE bylaw_reactions') // the next step of the start reads it
        db.close()
        return setInterval(() => {}, 1000)
      },
      close: (timer: NodeJS.Timeout) => clearInterval(timer),
    })
    await openApp(declared, { database, log }).catch((error: Error) => say(`The start failed: ${error.message}`))
    await new Promise((resolve) => setTimeout(resolve, 1500)) // operations are looked for each second
  },
}

await scenarios[scenario]?.()
setTimeout(() => {
  say(`still open: ${process.getActiveResourcesInfo().join()}`)
  process.exit(1)
}, patience).unref()
