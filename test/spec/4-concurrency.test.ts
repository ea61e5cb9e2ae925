/** Part 4 of the contract, methods: many writes at the same time, on one item and on many. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const gauges = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`g${n}`, f.integer({ optional: true })]))

const plant = service({
  name: 'plant',
  resources: {
    tanks: { prefix: 'tnk', fields: { level: f.integer({ default: 0 }), ...gauges }, access: 'public' },
    valves: { prefix: 'vlv', parent: 'tanks', fields: { name: f.text() }, access: 'public' },
    crews: {
      prefix: 'crw',
      fields: { email: f.email({ unique: true, fold: true }), tankId: f.ref('tanks', { optional: true }) },
      access: 'public',
      settings: { resource: { id: 'client' } },
    },
    guards: {
      prefix: 'gua',
      fields: {
        badge: f.text({ unique: true }),
        name: f.text({ filter: true }),
        tankId: f.ref('tanks', { optional: true }),
      },
      access: 'public',
    },
    codes: { key: 'code', fields: { code: f.text(), value: f.integer() }, access: 'public' },
  },
})

const times = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)))

async function tank(door: Door): Promise<string> {
  return (await door.send('POST', '/tanks', { json: {} })).headers.location as string
}

/** The number of answers by status. */
function counts(answers: readonly Answer[]): Record<number, number> {
  const found: Record<number, number> = {}
  for (const { status } of answers) found[status] = (found[status] ?? 0) + 1
  return found
}

const tagOf = ({ headers }: Answer): string => headers.etag as string

doors('writes at the same time', plant, (door) => {
  spec('R127', 'parallel PATCHes of different fields all take effect', async () => {
    const path = await tank(door)
    const answers = await times(60, (n) => door.send('PATCH', path, { json: { [`g${n}`]: n } }))
    assert.deepEqual(counts(answers), { 200: 60 })
    assert.equal(new Set(answers.map(tagOf)).size, 60)
    const { json, headers } = await door.send('GET', path)
    for (let n = 0; n < 60; n++) assert.equal(json[`g${n}`], n)
    assert.ok(answers.map(tagOf).includes(headers.etag as string))
  })

  spec('R127', 'of many writes with one If-Match exactly one is done', async () => {
    const path = await tank(door)
    const before = tagOf(await door.send('GET', path))
    const answers = await times(200, (n) =>
      door.send(n % 2 ? 'PATCH' : 'PUT', path, { json: { level: n + 1 }, headers: { 'if-match': before } }),
    )
    assert.deepEqual(counts(answers), { 200: 1, 412: 199 })
    const won = answers.find(({ status }) => status === 200) as Answer
    assert.equal((await door.send('GET', path)).text, won.text)
    for (const { status, headers } of answers) if (status === 412) assert.equal(headers.etag, tagOf(won))
  })

  spec('R127 R124', 'no update is lost if each sends the tag that it read', async () => {
    const path = await tank(door)
    const raise = async (): Promise<string> => {
      for (;;) {
        const { json, headers } = await door.send('GET', path)
        const answer = await door.send('PATCH', path, {
          json: { level: json.level + 1 },
          headers: { 'if-match': headers.etag as string },
        })
        if (answer.status === 200) return tagOf(answer)
        assert.equal(answer.status, 412)
      }
    }
    const tags = await times(12, async () => [await raise(), await raise(), await raise(), await raise()])
    assert.equal(new Set(tags.flat()).size, 48)
    assert.equal((await door.send('GET', path)).json.level, 48)
  })

  spec('R121 R127', 'one tag never belongs to two contents', async () => {
    const path = await tank(door)
    const contents = new Map<string, string>()
    const note = ({ headers, text }: Answer) => {
      assert.equal(contents.get(headers.etag as string) ?? text, text)
      contents.set(headers.etag as string, text)
    }
    await times(150, async (n) =>
      note(await (n % 3 ? door.send('GET', path) : door.send('PATCH', path, { json: { level: n } }))),
    )
    note(await door.send('GET', path))
  })

  spec('R112 R127', 'concurrent writes of the same change make one', async () => {
    const path = await tank(door)
    const answers = await times(100, () => door.send('PATCH', path, { json: { level: 7 } }))
    assert.deepEqual(counts(answers), { 200: 100 })
    assert.equal(new Set(answers.map(tagOf)).size, 1)
  })
})

doors('creations and deletions at the same time', plant, (door) => {
  spec('R87 R92', 'hundreds of parallel creations give as many resources', async () => {
    const answers = await times(300, (n) => door.send('POST', '/tanks', { json: { level: n } }))
    assert.deepEqual(counts(answers), { 201: 300 })
    assert.equal(new Set(answers.map(({ json }) => json.id)).size, 300)
    assert.equal((await door.send('GET', '/tanks')).json.pagination.totalRecords, 300)
    await times(300, async (n) => {
      const read = await door.send('GET', answers[n]?.headers.location as string)
      assert.deepEqual([read.text, tagOf(read)], [answers[n]?.text, tagOf(answers[n] as Answer)])
    })
  })

  spec('R90', 'of many that want one unique value exactly one gets it', async () => {
    const answers = await times(100, (n) =>
      door.send('POST', '/crews', { json: { email: n % 2 ? 'a@example.com' : 'A@example.com' } }),
    )
    assert.deepEqual(counts(answers), { 201: 1, 409: 99 })
    const two = await times(2, (n) => door.send('POST', '/crews', { json: { email: `crew${n}@example.com` } }))
    const moves = await times(50, (n) =>
      door.send('PATCH', two[n % 2]?.headers.location as string, { json: { email: 'b@example.com' } }),
    )
    assert.deepEqual(counts(moves), { 200: 25, 409: 25 })
  })

  spec('R91 R109 R125', 'one identifier is created once, by POST or PUT', async () => {
    const posts = await times(50, (n) =>
      door.send('POST', '/crews', { json: { id: 'crw_one', email: `p${n}@example.com` } }),
    )
    assert.deepEqual(counts(posts), { 201: 1, 409: 49 })
    const puts = await times(50, (n) => door.send('PUT', '/codes/x', { json: { value: n } }))
    assert.deepEqual(counts(puts), { 200: 49, 201: 1 })
    assert.ok(puts.map(({ text }) => text).includes((await door.send('GET', '/codes/x')).text))
    const guarded = await times(50, (n) =>
      door.send('PUT', '/codes/y', { json: { value: n }, headers: { 'if-none-match': '*' } }),
    )
    assert.deepEqual(counts(guarded), { 201: 1, 412: 49 })
    assert.equal((await door.send('GET', '/codes/y')).text, guarded.find(({ status }) => status === 201)?.text)
  })

  spec('R133 R136', 'a deleted item stays deleted under concurrent writes', async () => {
    const path = await tank(door)
    const answers = await times(90, (n) =>
      n === 45 || n === 60
        ? door.send('DELETE', path)
        : door.send(n % 2 ? 'PATCH' : 'PUT', path, { json: { level: n } }),
    )
    for (const { status } of answers) assert.ok([200, 204, 410].includes(status), String(status))
    assert.equal(answers.filter(({ status }) => status === 204).length, 2)
    assert.equal((await door.send('GET', path)).status, 410)
  })

  spec('R138', 'a parent is not deleted while a child is created, and a deleted one gets no child', async () => {
    const paths = await times(40, () => tank(door))
    await times(40, async (n) => {
      const path = paths[n] as string
      const removal = () => door.send('DELETE', path)
      const arrival = () => door.send('POST', `${path}/valves`, { json: { name: 'A' } })
      const [first, second] = await Promise.all(n % 2 ? [removal(), arrival()] : [arrival(), removal()])
      const [gone, came] = n % 2 ? [first, second] : [second, first]
      assert.ok(
        [gone.status, came.status].join() === '204,410' || [gone.status, came.status].join() === '409,201',
        `${gone.status} ${came.status}`,
      )
      if (came.status === 201) assert.equal((await door.send('GET', path)).status, 200)
    })
  })

  spec('R138', 'no reference is left to an item that is deleted at the same time', async () => {
    const paths = await times(40, () => tank(door))
    await times(40, async (n) => {
      const path = paths[n] as string
      const json = { email: `r${n}@example.com`, tankId: path.slice('/tanks/'.length) }
      const [came, gone] = await Promise.all([door.send('POST', '/crews', { json }), door.send('DELETE', path)])
      assert.ok(
        [gone.status, came.status].join() === '204,400' || [gone.status, came.status].join() === '409,201',
        `${gone.status} ${came.status}`,
      )
    })
  })

  spec('R95 R36 R40', 'concurrent creations each get their own answer', async () => {
    const at = ((await door.send('POST', '/tanks', { json: {} })).json as { id: string }).id
    const nowhere = `${at.slice(0, -4)}0000`
    const own = `${door.name}-${door.store}`
    const answers = await times(80, (n) => {
      const badge = n % 8 === 3 ? `${own} same` : `${own} ${n}`
      const json = { badge, name: `"${n}", \\ {${n}}, NULL`, tankId: n % 8 === 5 ? nowhere : n % 2 ? at : null }
      const key = n % 4 === 0 ? { 'idempotency-key': `${own}-${n % 16}` } : {}
      return door.send('POST', '/guards', { json, headers: key })
    })
    assert.deepEqual(counts(answers), { 201: 40 + 4 + 1, 400: 10, 409: 16 + 9 })
    for (const [n, { status, json, headers }] of answers.entries()) {
      if (status !== 201) continue
      assert.equal(json.name, `"${n}", \\ {${n}}, NULL`)
      assert.deepEqual((await door.send('GET', headers.location as string)).json, json)
    }
    for (const n of [3, 4, 5]) {
      const { json } = await door.send('GET', `/guards?name=${encodeURIComponent(`"${n}", \\ {${n}}, NULL`)}`)
      assert.equal(json.data.length, answers[n]?.status === 201 ? 1 : 0)
    }
  })
})
