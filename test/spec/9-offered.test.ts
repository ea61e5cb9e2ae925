import assert from 'node:assert/strict'
import { f, Problem, service } from 'bylaw'
import { type Answer, type Door, doors, type Sent, spec } from '../help/door.ts'

/** Operations and resources that were added and removed, and a renamed type of errors. */
let full = false
let made = 0
const nextId = (): string => {
  if (full) throw new Problem('notes-full', 'There are enough notes.')
  return `not_${++made}`
}
const offered = service({
  name: 'offered',
  versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' }, v3: { released: '2026-01-01' } },
  scopes: { 'notes:read': 'Read notes', 'notes:write': 'Write notes' },
  errors: { 'notes-full': { status: 409, parents: ['conflict'] } },
  settings: { versions: { fromFeatures: 'changes' } },
  resources: {
    notes: {
      prefix: 'not',
      fields: { text: f.text() },
      access: { read: 'notes:read', write: 'notes:write' },
      methods: ['list', 'read', 'create', 'change'],
      settings: { resource: { id: nextId } },
    },
    tags: { prefix: 'tag', fields: { word: f.text() }, access: 'authenticated' },
    marks: { prefix: 'mrk', fields: { word: f.text() }, access: 'authenticated' },
  },
})
  .change('v3', 'marks', { about: 'Marks are tags now.', ends: true })
  .change('v3', 'notes', {
    about: 'Notes stay: they are not removed any more.',
    methods: { withdrawn: ['remove'] },
    errors: { full: 'notes-full' },
  })
  .change('v2', 'tags', { about: 'Tags are new.', begins: true })
  .change('v2', 'notes', { about: 'Notes can be changed.', methods: { added: ['change'] } })

const carriers: readonly (readonly [name: string, ask: (label: string, path: string) => [string, Sent]])[] = [
  ['path', (label, path) => [`/${label}${path}`, {}]],
  ['query', (label, path) => [`${path}?version=${label}`, {}]],
  ['header', (label, path) => [path, { headers: { version: label } }]],
  ['features', (label, path) => [path, { headers: { as: label } }]],
]

/** A caller with the features of each version, and one that can only read. */
const all = ['notes:read', 'notes:write']
const holders = {
  v1: { scopes: all },
  v2: { scopes: all, features: ['v2'] },
  v3: { scopes: all, features: ['v2', 'v3'] },
  reader: { scopes: ['notes:read'] },
}

doors(
  'methods of versions',
  offered,
  (door) => {
    const send = (
      door: Door,
      by: (typeof carriers)[number],
      label: string,
      [method, path, json]: readonly [string, string, object?],
    ): Promise<Answer> => {
      const [target, { headers = {} }] = by[1](label, path)
      const { as, ...rest } = headers
      return door.send(method, target, { ...(json ? { json } : {}), headers: { ...rest, ...door.as(as ?? 'v1') } })
    }
    for (const by of carriers)
      spec('R188 R191 R194', `operations come and go with their version (${by[0]})`, async () => {
        const create = async (label: string) => {
          const { status, json } = await send(door, by, label, ['POST', '/notes', { text: 'a' }])
          assert.equal(status, 201)
          return `/notes/${json.id}`
        }
        const status = async (label: string, ...asked: [string, string, object?]) => {
          const answer = await send(door, by, label, asked)
          assert.equal(answer.headers.version, label)
          return answer.status
        }
        for (const [label, change, remove] of [
          ['v1', 405, 204],
          ['v2', 200, 204],
          ['v3', 200, 405],
        ] as const) {
          const path = await create(label)
          assert.equal(await status(label, 'PATCH', path, { text: 'b' }), change, label)
          assert.equal(await status(label, 'DELETE', path), remove, label)
        }
        for (const [label, tags, marks] of [
          ['v1', 404, 200],
          ['v2', 200, 200],
          ['v3', 200, 404],
        ] as const)
          assert.deepEqual([await status(label, 'GET', '/tags'), await status(label, 'GET', '/marks')], [tags, marks])
      })
    for (const by of carriers)
      spec('R160 R194', `a type of errors has the name that the version has for it (${by[0]})`, async () => {
        full = true
        try {
          for (const [label, type] of [
            ['v1', 'full'],
            ['v2', 'full'],
            ['v3', 'notes-full'],
          ] as const) {
            const { status, json } = await send(door, by, label, ['POST', '/notes', { text: 'a' }])
            assert.deepEqual([status, json.type, json.types[0]], [409, type, type], label)
          }
        } finally {
          full = false
        }
      })
    spec('R169 R194', 'access is the same in every version', async () => {
      const refused = await Promise.all(
        ['v1', 'v2', 'v3'].map((label) =>
          door.send('POST', `/${label}/notes`, { json: { text: 'a' }, headers: door.as('reader') }),
        ),
      )
      for (const { status, headers } of refused) {
        assert.equal(status, 403)
        assert.match(headers['www-authenticate'] ?? '', /scope="notes:write"/)
      }
      assert.equal((await door.send('GET', '/v1/notes')).status, 401)
    })
  },
  { holders },
)
