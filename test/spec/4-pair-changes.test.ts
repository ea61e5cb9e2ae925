/** Parts 2 to 6 of the contract: changes of pairs, and their effects on tags, embedded rows and events. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { doors, spec } from '../help/door.ts'
import { idsOf, linked, made, school } from '../help/school.ts'

doors('pairs and changes', school, (door) => {
  let order = ''
  let tag = ''
  let blue = ''
  before(async () => {
    order = await made(door, '/orders', { note: 'first' })
    tag = await made(door, '/tags', { name: 'red', rank: 1 })
    blue = await made(door, '/tags', { name: 'blue', rank: 2 })
    await linked(door, `/orders/${order}/tags/${tag}`)
  })

  spec('R138 R136', 'deleting either side unlinks, and a pair may be linked again', async () => {
    const own = await made(door, '/orders', {})
    const red = await made(door, '/tags', { name: 'once' })
    const path = `/orders/${own}/tags/${red}`
    for (let i = 0; i < 3; i++) {
      await linked(door, path)
      assert.equal((await door.send('DELETE', path)).status, 204)
      assert.deepEqual(await idsOf(door, `/orders/${own}/tags`), [])
    }
    await linked(door, path)
    await linked(door, `/orders/${own}/tags/${blue}`)
    assert.equal((await door.send('DELETE', `/tags/${red}`)).status, 204)
    assert.deepEqual(await idsOf(door, `/orders/${own}/tags`), [blue])
    assert.equal((await door.send('GET', path)).status, 404)
    assert.equal((await door.send('PUT', path)).status, 400)
    assert.equal((await door.send('PUT', `/tags/${red}/orders/${own}`)).status, 410)
    assert.equal((await door.send('GET', `/tags/${red}/orders`)).status, 410)
    assert.equal((await door.send('DELETE', `/orders/${own}`)).status, 204)
    assert.deepEqual(await idsOf(door, `/tags/${blue}/orders`), [])
    assert.equal((await door.send('GET', `/orders/${own}/tags`)).status, 410)
    assert.equal((await door.send('PUT', `/orders/${own}/tags/${blue}`)).status, 410)
    assert.equal((await door.send('PUT', `/tags/${blue}/orders/${own}`)).status, 400)
  })

  spec('R121 R140 R232', 'tags and cached lists follow pairs and the rows of both sides', async () => {
    const own = await made(door, '/orders', {})
    const red = await made(door, '/tags', { name: 'fresh' })
    await linked(door, `/orders/${own}/tags/${red}`)
    const paths = [
      `/orders/${own}/tags`,
      `/orders/${own}?embed=tags`,
      `/orders?id=${own}&embed=tags`,
      `/orders/${own}/tags/${red}`,
    ]
    const tags = async () => {
      for (const path of paths) for (let i = 0; i < 2; i++) await door.send('GET', path)
      return await Promise.all(paths.map(async (path) => (await door.send('GET', path)).headers.etag as string))
    }
    const unchanged = async (known: readonly string[]) =>
      await Promise.all(
        paths.map(
          async (path, i) =>
            (await door.send('GET', path, { headers: { 'if-none-match': known[i] as string } })).status,
        ),
      )
    let known = await tags()
    assert.deepEqual(await unchanged(known), [304, 304, 304, 304])
    await door.send('PATCH', `/tags/${red}`, { json: { rank: 9 } })
    assert.deepEqual(await unchanged(known), [200, 200, 200, 200])
    known = await tags()
    await linked(door, `/orders/${own}/tags/${blue}`)
    assert.deepEqual(await unchanged(known), [200, 200, 200, 304])
    known = await tags()
    await door.send('DELETE', `/tags/${red}/orders/${own}`)
    assert.deepEqual(await unchanged(known), [200, 200, 200, 404])
  })

  spec('R49 R232', 'a list of paired items is linked, and embedded from both sides', async () => {
    const own = await made(door, '/orders', {})
    const red = await made(door, '/tags', { name: 'seen' })
    await linked(door, `/orders/${own}/tags/${red}`)
    const { json } = await door.send('GET', `/orders/${own}?embed=tags`)
    assert.equal(json._links.tags, `/orders/${own}/tags`)
    assert.equal(json._links.countries, `/orders/${own}/countries`)
    assert.deepEqual(json._embedded.tags, { data: [(await door.send('GET', `/tags/${red}`)).json], hasMore: false })
    const list = (await door.send('GET', `/tags?embed=orders&id=in:(${red},${tag})&sort=name`)).json.data
    assert.deepEqual(
      list.map((one: { _embedded: { orders: { data: { id: string }[] } } }) => one._embedded.orders.data[0]?.id),
      [order, own],
    )
    const many = await made(door, '/orders', {})
    for (let i = 0; i < 22; i++)
      await linked(door, `/orders/${many}/tags/${await made(door, '/tags', { name: `t${i}` })}`)
    const page = (await door.send('GET', `/orders?embed=tags&id=in:(${own},${many})`)).json.data
    assert.deepEqual(
      page.map((one: { _embedded: { tags: { data: object[]; hasMore: boolean } } }) => [
        one._embedded.tags.data.length,
        one._embedded.tags.hasMore,
      ]),
      [
        [1, false],
        [20, true],
      ],
    )
  })

  spec('R4 R2', 'a side may have a key, whose value is the id in the path', async () => {
    await made(door, '/countries', { code: 'DE', name: 'Germany' })
    const own = await made(door, '/orders', {})
    await linked(door, `/orders/${own}/countries/DE`)
    await linked(door, `/countries/DE/orders/${own}`, 200)
    assert.deepEqual(await idsOf(door, `/countries/DE/orders`), [own])
    assert.deepEqual(await idsOf(door, `/orders/${own}/countries`), ['DE'])
    assert.equal((await door.send('PUT', `/orders/${own}/countries/FR`)).status, 400)
    assert.equal((await door.send('DELETE', '/countries/DE')).status, 204)
    assert.deepEqual(await idsOf(door, `/orders/${own}/countries`), [])
  })

  spec('R205 R206', 'linking, a change of the fields, and unlinking are events of the pair', async () => {
    const student = await made(door, '/students', { name: 'Eve' })
    const course = await made(door, '/courses', { title: 'Art' })
    const path = `/students/${student}/courses/${course}`
    for (const json of [{}, {}, { role: 'tutor' }]) await door.send('PUT', path, { json })
    assert.equal((await door.send('DELETE', `/courses/${course}`)).status, 204)
    const { json } = await door.send('GET', '/events?resource=enrolments&limit=100')
    const own = json.data.filter((one: { data: { studentId: string } }) => one.data.studentId === student)
    assert.deepEqual(
      own.map(({ type, data }: { type: string; data: { courseId: string; role: string } }) => [
        type,
        data.courseId,
        data.role,
      ]),
      [
        ['enrolment.created', course, 'learner'],
        ['enrolment.updated', course, 'tutor'],
        ['enrolment.deleted', course, 'tutor'],
      ],
    )
  })

  spec('R229 R239', 'pairs are linked in batches and tried in dry runs', async () => {
    const own = await made(door, '/orders', {})
    const path = `/orders/${own}/tags/${blue}`
    const dry = await door.send('PUT', `${path}?dryRun=true`)
    assert.deepEqual([dry.status, dry.headers['dry-run'], dry.json.id], [201, 'true', blue])
    assert.equal((await door.send('GET', path)).status, 404)
    const operations = [
      { method: 'POST', path: '/tags', body: { name: 'made' }, as: 'a' },
      { method: 'PUT', path: `/orders/${own}/tags/$a.id` },
      { method: 'DELETE', path },
    ]
    const batch = await door.send('POST', '/batches', {
      json: { operations },
      headers: { 'idempotency-key': 'pairs-1' },
      mismatch: 'results have the bodies of any operation',
    })
    assert.equal(batch.status, 200, batch.text)
    assert.equal((await idsOf(door, `/orders/${own}/tags`)).length, 1)
    assert.equal((await door.send('DELETE', `${path}?dryRun=true`)).status, 204)
  })

  spec('R221 R110', 'of many requests that link the same two items, one creates the pair', async () => {
    const own = await made(door, '/orders', {})
    const red = await made(door, '/tags', { name: 'raced' })
    const paths = [`/orders/${own}/tags/${red}`, `/tags/${red}/orders/${own}`]
    const all = await Promise.all(Array.from({ length: 12 }, (_, i) => door.send('PUT', paths[i % 2] as string)))
    assert.deepEqual(all.map(({ status }) => status).sort(), [...Array(11).fill(200), 201])
    const race = await Promise.all([
      door.send('DELETE', `/tags/${red}`),
      ...Array.from({ length: 6 }, (_, i) => door.send('PUT', paths[i % 2] as string)),
    ])
    assert.ok(
      race.every(({ status }) => [200, 201, 204, 400, 404, 410].includes(status)),
      race.map(({ status }) => status).join(),
    )
    assert.deepEqual(await idsOf(door, `/orders/${own}/tags`), [])
  })
})

const noon = Date.parse('2026-11-20T12:00:00Z')

doors(
  'pairs that are linked again in the same millisecond',
  school,
  (door) => {
    const sequences = async (item: string): Promise<number[]> => {
      const { json } = await door.send('GET', `/events?item=${item}&limit=100`)
      return json.data.map(({ sequence }: { sequence: number }) => sequence)
    }
    const isRising = (all: readonly number[]): boolean => all.every((one, i) => i === 0 || one > (all[i - 1] as number))

    spec('R138 R207', 'have events with rising sequences, and another tag for another content', async () => {
      const [student, course] = [
        await made(door, '/students', { name: 'Ann' }),
        await made(door, '/courses', { title: 'Go' }),
      ]
      const path = `/students/${student}/courses/${course}`
      const tags = new Set<string>()
      for (const grade of [1, 2, 3]) {
        assert.equal((await door.send('PUT', path, { json: { grade } })).status, 201)
        tags.add((await door.send('GET', path)).headers.etag as string)
        assert.equal((await door.send('DELETE', path)).status, 204)
        assert.equal((await door.send('GET', path)).status, 404)
      }
      assert.equal(tags.size, 3)
      const all = await sequences(course)
      assert.equal(all.length, 7) // one is of the course itself
      assert.ok(isRising(all.slice(1)), all.join())
    })

    spec('R138 R207', 'have them in a batch too', async () => {
      const [order, tag] = [await made(door, '/orders', {}), await made(door, '/tags', { name: 'batch' })]
      const path = `/orders/${order}/tags/${tag}`
      const operations = ['PUT', 'DELETE', 'PUT', 'DELETE', 'PUT'].map((method) => ({ method, path }))
      const answer = await door.send('POST', '/batches', {
        json: { operations },
        mismatch: 'results have the bodies of any operation',
      })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(await idsOf(door, `/orders/${order}/tags`), [tag])
      const all = await sequences(tag)
      assert.equal(all.length, 6)
      assert.ok(isRising(all.slice(1)), all.join())
    })
  },
  { now: () => noon },
)
