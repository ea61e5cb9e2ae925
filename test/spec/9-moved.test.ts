import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

/** The room of a book moved to its shelf, which is optional, and then got other values; its place was in a separate object. */
const rooms = service({
  name: 'rooms',
  versions: {
    v1: { released: '2024-01-01' },
    v2: { released: '2025-01-01' },
    v3: { released: '2026-01-01' },
  },
  resources: {
    shelves: {
      prefix: 'shf',
      fields: {
        label: f.text({ filter: true }),
        hall: f.enum(['north', 'south', 'attic'], { filter: ['ne'], sort: true, optional: true }),
        level: f.integer({ optional: true, filter: 'range', sort: true }),
      },
      access: 'public',
    },
    books: {
      prefix: 'bok',
      fields: { title: f.text({ sort: true }), standId: f.ref('shelves', { optional: true }) },
      access: 'public',
      order: ['title'],
    },
  },
})
  .change('v3', 'books', { about: 'A shelf is a stand.', renamed: { shelfId: 'standId' } })
  .change('v3', 'shelves', {
    about: 'Halls have English names.',
    renamed: { room: 'hall' },
    mapped: { hall: { nord: 'north', sued: 'south' } },
    shown: { hall: { attic: 'nord' } },
    sorts: { room: ['hall'] },
  })
  .change('v2', 'books', {
    about: 'The room and the level are those of the shelf.',
    moved: { room: { by: 'shelfId', to: 'room' }, floor: { by: 'shelfId', to: 'level' } },
  })

const titles = ({ json }: Answer): string[] => json.data.map(({ title }: { title: string }) => title)

async function made(door: Door, path: string, json: object): Promise<string> {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.json.id
}

doors(
  'fields that another row has',
  rooms,
  (door) => {
    let [north, south] = ['', '']
    before(async () => {
      north = await made(door, '/v3/shelves', { label: 'n', hall: 'north', level: 1 })
      south = await made(door, '/v3/shelves', { label: 's', hall: 'south', level: 2 })
      for (const [title, standId] of [
        ...[
          ['a', south],
          ['b', north],
          ['c', null],
          ['d', south],
          ['e', north],
        ],
      ] as [string, string | null][])
        await made(door, '/v3/books', { title, standId })
    })

    spec('R194 R196', 'are shown, filtered and written in the names of the version', async () => {
      const { json } = await door.send('GET', '/v1/books?sort=title')
      assert.deepEqual(
        json.data.map(({ room, floor }: Record<string, unknown>) => [room, floor]),
        [
          ['sued', 2],
          ['nord', 1],
          [null, null],
          ['sued', 2],
          ['nord', 1],
        ],
      )
      assert.deepEqual(titles(await door.send('GET', '/v1/books?room=sued')), ['a', 'd'])
      assert.deepEqual(titles(await door.send('GET', '/v1/books?room[null]=true')), ['c'])
      assert.deepEqual(titles(await door.send('GET', '/v1/books?room[null]=false&floor[gte]=2')), ['a', 'd'])
      const changed = await door.send('PATCH', `/v1/books/${json.data[0].id}`, { json: { room: 'nord', floor: 5 } })
      assert.deepEqual([changed.status, changed.json.room, changed.json.floor], [200, 'nord', 5])
      const shelf = await door.send('GET', `/v3/shelves/${south}`)
      assert.deepEqual([shelf.json.hall, shelf.json.level], ['north', 5])
      await door.send('PATCH', `/v2/shelves/${south}`, { json: { room: 'sued', level: 2 } })
    })

    for (const way of ['asc', 'desc'])
      spec('R59 R194', `are sorted by, page by page, ${way}ending`, async () => {
        const rising = ['b', 'e', 'a', 'd', 'c']
        const expected = { asc: rising, desc: rising.slice(0, 4).toReversed() }[way]
        for (const field of ['room', 'floor']) {
          const seen: string[] = []
          const back: string[] = []
          let path = `/v1/books?sort=${field}&order=${way}&nulls=last&cursor=&limit=2`
          let last: Answer
          do {
            last = await door.send('GET', path)
            assert.equal(last.status, 200, last.text)
            seen.push(...titles(last))
            path = /<([^>]*)>; rel="next"/.exec(last.headers.link ?? '')?.[1] ?? ''
          } while (path !== '')
          assert.deepEqual(seen, way === 'asc' ? expected : [...(expected ?? []), 'c'])
          for (path = /<([^>]*)>; rel="prev"/.exec(last.headers.link ?? '')?.[1] ?? ''; path !== ''; ) {
            const page = await door.send('GET', path)
            back.unshift(...titles(page))
            path = /<([^>]*)>; rel="prev"/.exec(page.headers.link ?? '')?.[1] ?? ''
          }
          assert.deepEqual(back, seen.slice(0, 4))
          const offset = await door.send('GET', `/v1/books?sort=${field}&order=${way}&nulls=last&page=2&page_size=3`)
          assert.deepEqual(titles(offset), seen.slice(3))
        }
      })

    spec('R194 R196', 'are kept by the own row if it refers to no other', async () => {
      const first = await door.send('POST', '/v1/books', { json: { title: 'x', room: 'sued', floor: 7 } })
      assert.deepEqual([first.status, first.json.room, first.json.floor], [201, 'sued', 7], first.text)
      const { id } = first.json
      const read = () => door.send('GET', `/v1/books/${id}`)
      assert.deepEqual([(await read()).json.room, (await read()).json.shelfId], ['sued', null])
      const newest = await door.send('GET', `/v3/books/${id}`)
      assert.deepEqual(Object.keys(newest.json), ['id', 'title', 'standId', 'createdAt', 'updatedAt'])
      assert.deepEqual(titles(await door.send('GET', '/v1/books?room=sued&sort=title')), ['a', 'd', 'x'])
      assert.deepEqual(titles(await door.send('GET', '/v1/books?floor[gte]=3')), ['x'])
      assert.deepEqual(titles(await door.send('GET', '/v1/books?sort=floor&order=desc&nulls=last&limit=3')), [
        'x',
        'd',
        'a',
      ])
      await door.send('PATCH', `/v1/books/${id}`, { json: { title: 'y' } })
      const changed = await door.send('PATCH', `/v1/books/${id}`, { json: { room: 'nord' } })
      assert.deepEqual([changed.json.room, changed.json.floor], ['nord', 7])
      const { id: _, createdAt, updatedAt, ...whole } = changed.json
      const replaced = await door.send('PUT', `/v1/books/${id}`, { json: { ...whole, floor: 8 } })
      assert.deepEqual([replaced.status, replaced.json.room, replaced.json.floor], [200, 'nord', 8])
      const led = await door.send('PATCH', `/v3/books/${id}`, { json: { standId: south } })
      assert.equal(led.status, 200)
      assert.deepEqual([(await read()).json.room, (await read()).json.floor], ['sued', 2])
      await door.send('DELETE', `/v3/books/${id}`)
    })

    spec('R112 R196', 'null for them changes nothing if the row refers to no other', async () => {
      for (const path of ['/v1/books', '/v3/books']) {
        const id = await made(door, path, { title: 'n' })
        const before = (await door.send('GET', `/v3/books/${id}`)).headers.etag
        assert.equal((await door.send('PATCH', `/v1/books/${id}`, { json: { room: null } })).status, 200)
        assert.equal((await door.send('GET', `/v3/books/${id}`)).headers.etag, before, path)
        await door.send('DELETE', `/v3/books/${id}`)
      }
    })

    spec('R111 R196', 'are left out of a PUT like its own fields', async () => {
      const shelf = await made(door, '/v3/shelves', { label: 'p', hall: 'north', level: 1 })
      const put = (id: string, json: object) => door.send('PUT', `/v1/books/${id}`, { json })
      const [led, alone] = [
        await made(door, '/v1/books', { title: 'p', shelfId: shelf }),
        await made(door, '/v1/books', { title: 'q', room: 'sued', floor: 3 }),
      ]
      assert.equal((await door.send('GET', `/v1/books/${led}`)).json.room, 'nord')
      const first = await put(led, { title: 'p', shelfId: shelf, room: 'sued' })
      assert.deepEqual([first.status, first.json.room, first.json.floor], [200, 'sued', null])
      const there = (await door.send('GET', `/v3/shelves/${shelf}`)).json
      assert.deepEqual([there.label, there.hall, there.level], ['p', 'south', null])
      const other = await put(alone, { title: 'q' })
      assert.deepEqual([other.json.room, other.json.floor], [null, null])
      for (const id of [led, alone]) await door.send('DELETE', `/v3/books/${id}`)
    })
  },
  { together: true },
)

const clinic = service({
  name: 'clinic',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  scopes: { edit: 'Change everything', pii: 'See personal data' },
  resources: {
    homes: {
      prefix: 'hom',
      owner: 'accountId',
      fields: { town: f.text({ optional: true, filter: true, sort: true, read: 'pii' }) },
      access: { read: 'authenticated', write: 'edit' },
      settings: { resource: { id: 'client' } },
    },
    patients: {
      prefix: 'pat',
      owner: 'accountId',
      fields: { homeId: f.ref('homes') },
      access: { read: 'authenticated', write: 'edit' },
    },
  },
}).change('v2', 'patients', { about: 'The town is that of the home.', moved: { town: { by: 'homeId', to: 'town' } } })

const holders = {
  ann: { account: 'acc_a', scopes: ['edit', 'pii'] },
  bob: { account: 'acc_b', scopes: ['edit', 'pii'] },
  clerk: { account: 'acc_a', scopes: ['edit'] },
} as const

doors(
  'fields that another row of an account has',
  clinic,
  (door) => {
    const as = (who: keyof typeof holders, method: string, path: string, json?: object) =>
      door.send(method, path, { headers: door.as(who), ...(json && { json }) })
    before(async () => {
      for (const [who, town] of [
        ['ann', 'Rome'],
        ['bob', 'Oslo'],
      ] as const) {
        assert.equal((await as(who, 'POST', '/v2/homes', { id: 'hom_1', town })).status, 201)
        assert.equal((await as(who, 'POST', '/v2/patients', { homeId: 'hom_1' })).status, 201)
      }
    })

    spec('R170 R196', 'are those of the own account, even if another one has a row of the same id', async () => {
      for (const [who, town, other] of [
        ['ann', 'Rome', 'Oslo'],
        ['bob', 'Oslo', 'Rome'],
      ] as const) {
        const towns = async (query: string) =>
          (await as(who, 'GET', `/v1/patients?${query}`)).json.data.map((one: { town: string }) => one.town)
        assert.deepEqual(await towns(`town=${town}`), [town])
        assert.deepEqual(await towns(`town=${other}`), [])
        assert.deepEqual(await towns('sort=town'), [town])
      }
    })

    spec('R169 R196', 'are neither shown nor filtered by without their scope', async () => {
      assert.equal('town' in (await as('clerk', 'GET', '/v1/patients')).json.data[0], false)
      for (const query of ['town=Rome', 'town[null]=true', 'sort=town'])
        assert.equal((await as('clerk', 'GET', `/v1/patients?${query}`)).status, 403, query)
    })
  },
  { holders, together: true },
)

/** Fields of a guest moved to its room: a unique one, an immutable one, and a reference to a wing. */
const hotel = service({
  name: 'hotel',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: {
    wings: { prefix: 'wng', fields: { name: f.text() }, access: 'public' },
    rooms: {
      prefix: 'rom',
      fields: {
        code: f.text({ max: 5, unique: true }),
        wingId: f.ref('wings', { optional: true }),
        level: f.integer({ default: 0, immutable: true }),
      },
      access: 'public',
    },
    guests: { prefix: 'gst', fields: { name: f.text(), roomId: f.ref('rooms') }, access: 'public' },
  },
}).change('v2', 'guests', {
  about: 'What is known of the room is said of the room.',
  moved: {
    number: { by: 'roomId', to: 'code', field: f.text({ max: 20 }) },
    part: { by: 'roomId', to: 'wingId' },
    floor: { by: 'roomId', to: 'level', field: f.integer({ default: 0 }) },
  },
})

doors('violations of fields that another row has', hotel, (door) => {
  spec('R155 R196', 'are reported in the names of the version, and nothing is written', async () => {
    const [first, second] = [
      await made(door, '/v2/rooms', { code: 'a' }),
      await made(door, '/v2/rooms', { code: 'b', level: 2 }),
    ]
    const guest = await made(door, '/v2/guests', { name: 'Ann', roomId: first })
    const patch = (json: object) => door.send('PATCH', `/v1/guests/${guest}`, { json: { name: 'Bob', ...json } })
    const reported = ({ status, json }: Answer) => [
      status,
      json.errors.map(({ pointer, type, message }: Record<string, string>) => [pointer, type, message?.split(' ')[0]]),
    ]
    assert.deepEqual(reported(await patch({ number: 'b' })), [409, [['/number', 'already-exists', 'number']]])
    assert.match((await patch({ number: 'b' })).json.message, /^Another resource has this number already/)
    assert.deepEqual(reported(await patch({ number: 'far too long' })), [400, [['/number', 'too-long', 'number']]])
    assert.deepEqual(reported(await patch({ floor: 3 })), [400, [['/floor', 'immutable-field', 'floor']]])
    assert.deepEqual(reported(await patch({ part: 'wng_01h455vb4pex5vsknk084sn02q' })), [
      400,
      [['/part', 'invalid-value', 'Wing']],
    ])
    const json = { name: 'Cid', roomId: second, number: 'a' }
    assert.deepEqual(reported(await door.send('POST', '/v1/guests', { json })), [
      409,
      [['/number', 'already-exists', 'number']],
    ])
    assert.equal((await door.send('GET', '/v2/guests?limit=5')).json.data.length, 1)
    assert.equal((await door.send('GET', `/v2/guests/${guest}`)).json.name, 'Ann')
    const { code, level } = (await door.send('GET', `/v2/rooms/${first}`)).json
    assert.deepEqual([code, level], ['a', 0])
  })
})
