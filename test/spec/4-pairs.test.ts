/** Parts 2 to 4 of the contract: pairs, their URLs below both sides, and their lists. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import { doors, spec } from '../help/door.ts'
import { idsOf, linked, made, other, school } from '../help/school.ts'

doors('pairs', school, (door) => {
  let order = ''
  let tag = ''
  let blue = ''
  before(async () => {
    order = await made(door, '/orders', { note: 'first' })
    tag = await made(door, '/tags', { name: 'red', rank: 1 })
    blue = await made(door, '/tags', { name: 'blue', rank: 2 })
  })
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
      await linked(door, `/orders/${order}/tags/${blue}`)
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
      for (const one of all) await linked(door, `/orders/${own}/tags/${one}`)
      await linked(door, `/orders/${stray}/tags/${all[0]}`)
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
})
