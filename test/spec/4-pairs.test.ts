/** Parts 2 to 4 of the contract: pairs, their URLs below both sides, and their lists. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const school = service({
  name: 'school',
  events: true,
  settings: { methods: { query: true }, batches: 10, list: { or: true } },
  resources: {
    orders: {
      prefix: 'ord',
      fields: { note: f.text({ optional: true }) },
      embed: ['tags'],
      access: 'public',
      settings: { resource: { links: 'all' } },
    },
    tags: {
      prefix: 'tag',
      fields: {
        name: f.text({ max: 40, filter: 'like', sort: true }),
        rank: f.integer({ default: 0, filter: 'range' }),
      },
      embed: true,
      access: 'public',
    },
    countries: { key: 'code', fields: { code: f.country(), name: f.text({ max: 40 }) }, embed: true, access: 'public' },
    students: {
      prefix: 'stu',
      fields: { name: f.text({ max: 40, sort: true }) },
      embed: ['courses', 'courses.students'],
      access: 'public',
    },
    courses: {
      prefix: 'cou',
      fields: { title: f.text({ max: 40, sort: true }) },
      embed: ['students'],
      access: 'public',
    },
  },
  pairs: {
    'order-tags': { between: ['orders', 'tags'], access: 'public' },
    'order-countries': { between: ['countries', 'orders'], access: 'public' },
    enrolments: {
      between: ['students', 'courses'],
      fields: {
        role: f.enum(['learner', 'tutor'], { default: 'learner' }),
        grade: f.integer({ optional: true, min: 1, max: 6 }),
        pin: f.text({ optional: true, writeOnly: true }),
      },
      access: 'public',
    },
  },
})

const made = async (door: Door, path: string, json: object): Promise<string> => {
  const { status, json: item, text } = await door.send('POST', path, { json })
  assert.equal(status, 201, text)
  return item.id
}

const idsOf = async (door: Door, path: string): Promise<string[]> => {
  const { status, json, text } = await door.send('GET', path)
  assert.equal(status, 200, text)
  return json.data.map(({ id }: { id: string }) => id)
}

/** An id that no item has, of the same form. */
const other = (id: string): string => `${id.slice(0, -4)}0000`

doors('pairs', school, (door) => {
  let order = ''
  let tag = ''
  let blue = ''
  before(async () => {
    order = await made(door, '/orders', { note: 'first' })
    tag = await made(door, '/tags', { name: 'red', rank: 1 })
    blue = await made(door, '/tags', { name: 'blue', rank: 2 })
  })
  const linked = async (path: string, status = 201): Promise<void> => {
    const answer = await door.send('PUT', path)
    assert.equal(answer.status, status, answer.text)
  }

  spec('R109 R49', 'PUT links two items, 201 first and 200 after, with the other item, from both sides', async () => {
    const path = `/orders/${order}/tags/${tag}`
    const first = await door.send('PUT', path)
    assert.equal(first.status, 201)
    assert.equal(first.headers.location, path)
    assert.equal(first.headers['content-location'], path)
    assert.deepEqual(first.json, (await door.send('GET', `/tags/${tag}`)).json)
    const again = await door.send('PUT', path, { json: {} })
    assert.equal(again.status, 200)
    assert.equal(again.text, first.text)
    assert.equal(again.headers.etag, first.headers.etag)
    const back = await door.send('PUT', `/tags/${tag}/orders/${order}`)
    assert.equal(back.status, 200)
    assert.deepEqual(back.json, (await door.send('GET', `/orders/${order}`)).json)
    for (const [at, id] of [
      [path, tag],
      [`/tags/${tag}/orders/${order}`, order],
    ] as const) {
      const read = await door.send('GET', at)
      assert.equal(read.status, 200)
      assert.equal(read.json.id, id)
      assert.equal((await door.send('HEAD', at)).headers.etag, read.headers.etag)
    }
    assert.equal((await door.send('PUT', path, { headers: { prefer: 'return=minimal' } })).status, 204)
    assert.equal((await door.send('PATCH', path, { json: {} })).status, 405)
    assert.equal((await door.send('OPTIONS', path)).headers.allow, 'GET, HEAD, OPTIONS, PUT, DELETE')
  })

  spec(
    'R132 R153',
    'an unknown item of the path is 404, an unknown other item 400, a pair that is not linked 404',
    async () => {
      const check = async (method: string, path: string, status: number) => {
        const answer = await door.send(method, path)
        assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
        return answer.json
      }
      for (const [own, id, to, there] of [
        ['orders', order, 'tags', blue],
        ['tags', blue, 'orders', order],
      ] as const) {
        await check('GET', `/${own}/${id}/${to}/${there}`, 404)
        await check('GET', `/${own}/${id}/${to}/${other(there)}`, 404)
        for (const method of ['GET', 'PUT', 'DELETE']) {
          await check(method, `/${own}/${other(id)}/${to}/${there}`, 404)
          await check(method, `/${own}/${other(id)}/${to}/${other(there)}`, 404)
          await check(method, `/${own}/nothing/${to}/${there}`, 404)
        }
        await check('GET', `/${own}/${other(id)}/${to}`, 404)
        for (const unknown of [other(there), 'nothing', id]) {
          const refused = await check('PUT', `/${own}/${id}/${to}/${unknown}`, 400)
          assert.equal(refused.type, 'validation-failed')
          assert.deepEqual(
            [refused.cause.in, refused.cause.name, refused.cause.type],
            ['path', `${to.slice(0, -1)}Id`, 'invalid-value'],
          )
          assert.match(refused.message, /does not exist\. Create it before it is linked\./)
        }
        await check('DELETE', `/${own}/${id}/${to}/${there}`, 204)
        await check('DELETE', `/${own}/${id}/${to}/${other(there)}`, 204)
      }
      await linked(`/orders/${order}/tags/${blue}`)
      for (const status of [204, 204]) await check('DELETE', `/tags/${blue}/orders/${order}`, status)
      await check('GET', `/orders/${order}/tags/${blue}`, 404)
    },
  )

  spec(
    'R5 R53 R57 R74 R75',
    'the list of a side has the filters, sorts, pages and totals of its resource',
    async () => {
      const own = await made(door, '/orders', {})
      const stray = await made(door, '/orders', {})
      const all: string[] = []
      for (let i = 0; i < 7; i++) all.push(await made(door, '/tags', { name: `n${(i * 3) % 7}`, rank: i }))
      for (const one of all) await linked(`/orders/${own}/tags/${one}`)
      await linked(`/orders/${stray}/tags/${all[0]}`)
      const at = `/orders/${own}/tags`
      assert.deepEqual(await idsOf(door, at), all)
      const byName = [0, 5, 3, 1, 6, 4, 2].map((i) => all[i] as string)
      assert.deepEqual(await idsOf(door, `${at}?sort=name`), byName)
      assert.deepEqual(await idsOf(door, `${at}?sort=name&order=desc`), byName.toReversed())
      assert.deepEqual(await idsOf(door, `${at}?rank[gte]=5`), all.slice(5))
      assert.deepEqual(await idsOf(door, `${at}?or=(rank[gte]=6;name=n3)`), [all[1], all[6]])
      assert.deepEqual(await idsOf(door, `${at}?id=in:(${all[2]},${blue},${all[4]})`), [all[2], all[4]])
      assert.deepEqual(await idsOf(door, `/tags/${all[0]}/orders`), [own, stray])
      const { json } = await door.send('GET', `${at}?page_size=3&sort=name`)
      assert.equal(json.pagination.totalRecords, 7)
      assert.equal((await door.send('GET', `/orders/${stray}/tags`)).json.pagination.totalRecords, 1)
      const seen: string[] = []
      let next = `${at}?page_size=3&sort=name`
      for (let i = 0; i < 3; i++) {
        const { json: page } = await door.send('GET', next)
        seen.push(...page.data.map(({ id }: { id: string }) => id))
        next = `${at}?limit=3&sort=name&cursor=${page.pagination.nextCursor}`
      }
      assert.deepEqual(seen, byName)
      const form = { body: 'sort=name&rank[lte]=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
      const asked = await door.send('QUERY', at, form)
      assert.deepEqual(
        asked.json.data.map(({ id }: { id: string }) => id),
        [all[0], all[1]],
      )
      const refused = await door.send('GET', `${at}?note=x`)
      assert.deepEqual([refused.status, refused.json.cause.type], [400, 'unknown-parameter'])
      assert.equal((await door.send('POST', at, { json: {} })).status, 405)
    },
  )

  spec('R111 R113', 'the fields of a pair are in _pair of its items, and a PUT replaces them', async () => {
    const student = await made(door, '/students', { name: 'Ann' })
    const bob = await made(door, '/students', { name: 'Bob' })
    const course = await made(door, '/courses', { title: 'Logic' })
    const path = `/students/${student}/courses/${course}`
    const first = await door.send('PUT', path, { json: { role: 'tutor', grade: 2, pin: 'x' } })
    assert.equal(first.status, 201)
    assert.deepEqual(first.json._pair, { role: 'tutor', grade: 2 })
    assert.equal(first.json.title, 'Logic')
    const back = `/courses/${course}/students/${student}`
    const read = await door.send('GET', back)
    assert.deepEqual(read.json._pair, { role: 'tutor', grade: 2 })
    assert.equal((await door.send('PUT', `/courses/${course}/students/${bob}`)).status, 201)
    const list = (await door.send('GET', `/courses/${course}/students?sort=name`)).json.data
    assert.deepEqual(
      list.map((one: { name: string; _pair: object }) => [one.name, one._pair]),
      [
        ['Ann', { role: 'tutor', grade: 2 }],
        ['Bob', { role: 'learner', grade: null }],
      ],
    )
    const cut = await door.send('GET', `/courses/${course}/students?fields=name&sort=name`)
    assert.deepEqual(cut.json.data[0], { id: student, name: 'Ann' })
    const deep = (await door.send('GET', `/students/${bob}?embed=courses.students`)).json._embedded.courses.data[0]
    assert.deepEqual(deep._pair, { role: 'learner', grade: null })
    assert.deepEqual(
      deep._embedded.students.data.map((one: { _pair: object }) => one._pair),
      [
        { role: 'tutor', grade: 2 },
        { role: 'learner', grade: null },
      ],
    )
    const tagged = { json: { grade: 3 }, headers: { 'if-match': read.headers.etag as string } }
    const changed = await door.send('PUT', back, tagged)
    assert.equal(changed.status, 200)
    assert.deepEqual(changed.json._pair, { role: 'learner', grade: 3 })
    assert.equal((await door.send('PUT', back, tagged)).status, 412)
    assert.equal((await door.send('DELETE', back, { headers: tagged.headers })).status, 412)
    const none = { json: {}, headers: { 'if-none-match': '*' } }
    assert.equal((await door.send('PUT', back, none)).status, 412)
    const refused = await door.send('PUT', back, { json: { role: 'x', grade: 9, name: 'y', courseId: 'cou_1' } })
    assert.equal(refused.status, 400)
    assert.deepEqual(refused.json.errors.map((one: { pointer: string }) => one.pointer).sort(), [
      '/courseId',
      '/grade',
      '/name',
      '/role',
    ])
    const mine = { json: { courseId: course, studentId: student, role: 'tutor' } }
    assert.equal((await door.send('PUT', back, mine)).status, 200)
    const put = await door.send('PUT', `/students/${student}`, { json: list[0] })
    assert.equal(put.status, 200, put.text)
  })

  spec('R138 R136', 'deleting either side unlinks, and a pair may be linked again', async () => {
    const own = await made(door, '/orders', {})
    const red = await made(door, '/tags', { name: 'once' })
    const path = `/orders/${own}/tags/${red}`
    for (let i = 0; i < 3; i++) {
      await linked(path)
      assert.equal((await door.send('DELETE', path)).status, 204)
      assert.deepEqual(await idsOf(door, `/orders/${own}/tags`), [])
    }
    await linked(path)
    await linked(`/orders/${own}/tags/${blue}`)
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
    await linked(`/orders/${own}/tags/${red}`)
    const paths = [`/orders/${own}/tags`, `/orders/${own}?embed=tags`, `/orders/${own}/tags/${red}`]
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
    assert.deepEqual(await unchanged(known), [304, 304, 304])
    await door.send('PATCH', `/tags/${red}`, { json: { rank: 9 } })
    assert.deepEqual(await unchanged(known), [200, 200, 200])
    known = await tags()
    await linked(`/orders/${own}/tags/${blue}`)
    assert.deepEqual(await unchanged(known), [200, 200, 304])
    known = await tags()
    await door.send('DELETE', `/tags/${red}/orders/${own}`)
    assert.deepEqual(await unchanged(known), [200, 200, 404])
  })

  spec('R49 R232', 'a list of paired items is linked, and embedded from both sides', async () => {
    const own = await made(door, '/orders', {})
    const red = await made(door, '/tags', { name: 'seen' })
    await linked(`/orders/${own}/tags/${red}`)
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
    for (let i = 0; i < 22; i++) await linked(`/orders/${many}/tags/${await made(door, '/tags', { name: `t${i}` })}`)
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
    await linked(`/orders/${own}/countries/DE`)
    await linked(`/countries/DE/orders/${own}`, 200)
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
