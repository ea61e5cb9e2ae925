/** Part 4 of the contract, methods: the effect of a deletion on dependent items, and what prevents it. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const firm = service({
  name: 'firm',
  resources: {
    clients: { prefix: 'cli', fields: { name: f.text() }, access: 'public' },
    projects: {
      prefix: 'prj',
      parent: { resource: 'clients', onDelete: 'cascade' },
      fields: { name: f.text() },
      access: 'public',
    },
    tasks: {
      prefix: 'tsk',
      parent: { resource: 'projects', onDelete: 'cascade' },
      fields: {
        title: f.text(),
        clientId: f.ref('clients', { optional: true }),
        followsId: f.ref('tasks', { optional: true, onDelete: 'cascade' }),
      },
      access: 'public',
    },
    bills: {
      prefix: 'bil',
      fields: {
        projectId: f.ref('projects', { optional: true }),
        lines: f.list(f.object({ taskId: f.ref('tasks'), hours: f.integer() })),
        secretId: f.ref('clients', { optional: true, writeOnly: true }),
      },
      access: 'public',
    },
    people: {
      prefix: 'per',
      singular: 'person',
      fields: {
        name: f.text(),
        managerId: f.ref('people', { optional: true }),
        mentorId: f.ref('people', { optional: true, onDelete: 'cascade' }),
        friendIds: f.list(f.ref('people')),
        homes: f.object({ country: f.ref('countries', { optional: true }) }, { optional: true, ownMeaning: 'x' }),
      },
      access: 'public',
      settings: { resource: { id: 'client' } },
    },
    countries: {
      key: 'code',
      fields: { code: f.text({ pattern: '^[A-Z"%*?_]{2,4}$' }), unionCode: f.ref('countries', { optional: true }) },
      access: 'public',
    },
    years: { key: 'year', fields: { year: f.integer({ min: 1 }) }, access: 'public' },
    vintages: {
      prefix: 'vin',
      fields: {
        yearId: f.ref('years'),
        country: f.ref('countries', { optional: true, onDelete: 'cascade' }),
        blends: f.list(f.ref('countries', { onDelete: 'cascade' })),
      },
      access: 'public',
    },
    depots: { prefix: 'dep', fields: { name: f.text() }, access: 'public' },
    racks: {
      parent: { resource: 'depots', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.integer({ min: 0 }), spareDepotId: f.ref('depots', { optional: true }) },
      access: 'public',
    },
  },
})

async function make(door: Door, path: string, json: object): Promise<string> {
  const answer = await door.send('POST', path, { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.json.id
}

async function statuses(door: Door, expected: Record<string, number>): Promise<void> {
  for (const [path, status] of Object.entries(expected))
    assert.equal((await door.send('GET', path)).status, status, `GET ${path}`)
}

async function removes(door: Door, path: string, status: number): Promise<void> {
  const answer = await door.send('DELETE', path)
  assert.equal(answer.status, status, `DELETE ${path} ${answer.text}`)
  if (status !== 409) return
  assert.equal(answer.json.type, 'has-dependents')
  assert.deepEqual(answer.json.types, ['has-dependents', 'conflict', 'client-error', 'error'])
}

doors('dependents', firm, (door) => {
  spec('R138', 'a reference restricts by default, until it is removed', async () => {
    const client = await make(door, '/clients', { name: 'A' })
    const project = await make(door, `/clients/${client}/projects`, { name: 'P' })
    const bill = await make(door, '/bills', { projectId: project })
    const refusal = await door.send('DELETE', `/projects/${project}`)
    assert.equal(refusal.status, 409)
    assert.match(refusal.json.message, /bills/)
    await statuses(door, { [`/projects/${project}`]: 200, [`/bills/${bill}`]: 200 })
    assert.equal((await door.send('PATCH', `/bills/${bill}`, { json: { projectId: null } })).status, 200)
    await removes(door, `/projects/${project}`, 204)
  })

  spec('R138', 'a parent cannot be deleted while it has children, unless they cascade', async () => {
    const client = await make(door, '/clients', { name: 'A' })
    const projects = await Promise.all([1, 2].map((n) => make(door, `/clients/${client}/projects`, { name: `P${n}` })))
    const tasks = await Promise.all(projects.map((id) => make(door, `/projects/${id}/tasks`, { title: 'T' })))
    await removes(door, `/clients/${client}`, 204)
    for (const path of [
      `/clients/${client}`,
      ...projects.map((id) => `/projects/${id}`),
      ...tasks.map((id) => `/tasks/${id}`),
    ]) {
      const answer = await door.send('GET', path)
      assert.deepEqual([answer.status, answer.json.type], [410, 'resource-deleted'], path)
    }
    assert.equal((await door.send('GET', `/clients/${client}/projects`)).status, 410)
    assert.equal((await door.send('GET', `/projects/${projects[0]}/tasks`)).status, 410)
    const left = await door.send('GET', `/tasks?id=in:(${tasks.join(',')})`)
    assert.deepEqual(left.json.data, [])
  })

  spec('R138', 'a restriction further down a cascade keeps all items', async () => {
    const client = await make(door, '/clients', { name: 'A' })
    const [first, second] = [
      await make(door, `/clients/${client}/projects`, { name: 'P1' }),
      await make(door, `/clients/${client}/projects`, { name: 'P2' }),
    ]
    const task = await make(door, `/projects/${second}/tasks`, { title: 'T' })
    const bill = await make(door, '/bills', { lines: [{ taskId: task, hours: 1 }] })
    await removes(door, `/clients/${client}`, 409)
    await statuses(door, {
      [`/clients/${client}`]: 200,
      [`/projects/${first}`]: 200,
      [`/projects/${second}`]: 200,
      [`/tasks/${task}`]: 200,
    })
    await removes(door, `/bills/${bill}`, 204)
    await removes(door, `/clients/${client}`, 204)
    await statuses(door, { [`/projects/${first}`]: 410, [`/tasks/${task}`]: 410 })
  })

  spec('R138', 'items of the same deletion do not restrict it', async () => {
    const client = await make(door, '/clients', { name: 'A' })
    const project = await make(door, `/clients/${client}/projects`, { name: 'P' })
    const task = await make(door, `/projects/${project}/tasks`, { title: 'T', clientId: client })
    await removes(door, `/clients/${client}`, 204)
    await statuses(door, { [`/tasks/${task}`]: 410 })
  })

  spec('R138', 'references in objects and lists restrict like any other, write-only ones too', async () => {
    const [ann, bob, eve] = [
      await make(door, '/people', { name: 'Ann' }),
      await make(door, '/people', { name: 'Bob' }),
      await make(door, '/people', { name: 'Eve' }),
    ]
    assert.equal((await door.send('PATCH', `/people/${eve}`, { json: { friendIds: [ann, bob] } })).status, 200)
    await removes(door, `/people/${bob}`, 409)
    await door.send('PATCH', `/people/${eve}`, { json: { friendIds: [ann], name: bob } })
    await removes(door, `/people/${bob}`, 204)
    await removes(door, `/people/${ann}`, 409)
    await make(door, '/countries', { code: 'IT' })
    await door.send('PATCH', `/people/${eve}`, { json: { homes: { country: 'IT' } } })
    await removes(door, '/countries/IT', 409)
    await door.send('PATCH', `/people/${eve}`, { json: { homes: { country: null } } })
    await removes(door, '/countries/IT', 204)
    const client = await make(door, '/clients', { name: 'A' })
    const bill = await make(door, '/bills', { secretId: client })
    await removes(door, `/clients/${client}`, 409)
    await removes(door, `/bills/${bill}`, 204)
    await removes(door, `/clients/${client}`, 204)
  })

  spec('R138', 'an item that refers to itself can be deleted, and cycles are deleted together', async () => {
    const [a, b, c] = ['per_a', 'per_b', 'per_c'] as const
    for (const id of [a, b, c]) await make(door, '/people', { id, name: id })
    await door.send('PATCH', `/people/${a}`, { json: { managerId: a, friendIds: [a] } })
    await removes(door, `/people/${a}`, 204)
    await door.send('PATCH', `/people/${b}`, { json: { mentorId: c, managerId: c } })
    await door.send('PATCH', `/people/${c}`, { json: { mentorId: b, friendIds: [b] } })
    await removes(door, `/people/${b}`, 204)
    await statuses(door, { [`/people/${b}`]: 410, [`/people/${c}`]: 410 })
    const self = await door.send('PUT', '/people/per_d', { json: { name: 'D', mentorId: 'per_d' } })
    assert.equal(self.status, 201, self.text)
    await removes(door, '/people/per_d', 204)
  })

  spec('R138', 'a long chain is deleted as a whole', async () => {
    const client = await make(door, '/clients', { name: 'A' })
    const project = await make(door, `/clients/${client}/projects`, { name: 'P' })
    const first = await make(door, `/projects/${project}/tasks`, { title: '0' })
    let last = first
    for (let n = 1; n < 50; n++)
      last = await make(door, `/projects/${project}/tasks`, { title: `${n}`, followsId: last })
    await removes(door, `/tasks/${first}`, 204)
    await statuses(door, { [`/tasks/${last}`]: 410, [`/projects/${project}`]: 200 })
  })

  spec('R138', 'references to items that are identified by a key count as well', async () => {
    for (const code of ['FR', 'DE', 'A%', 'A*', 'A"', 'A?']) await make(door, '/countries', { code })
    await make(door, '/years', { year: 1999 })
    const vintage = await make(door, '/vintages', { yearId: '1999', country: 'FR', blends: ['DE', 'A"'] })
    await removes(door, '/years/1999', 409)
    for (const code of ['A%', 'A*', 'A?']) await removes(door, `/countries/${encodeURIComponent(code)}`, 204)
    await statuses(door, { [`/vintages/${vintage}`]: 200 })
    await removes(door, `/countries/${encodeURIComponent('A"')}`, 204)
    await statuses(door, { [`/vintages/${vintage}`]: 410 })
    await removes(door, '/years/1999', 204)
    await removes(door, '/countries/FR', 204)
  })

  spec('R138 R4', 'children with composite keys restrict and follow', async () => {
    const [one, two] = [await make(door, '/depots', { name: '1' }), await make(door, '/depots', { name: '2' })]
    await make(door, `/depots/${one}/racks`, { number: 7, spareDepotId: two })
    await make(door, `/depots/${two}/racks`, { number: 7 })
    await removes(door, `/depots/${two}`, 409)
    await statuses(door, { [`/depots/${two}/racks/7`]: 200 })
    await removes(door, `/depots/${one}`, 204)
    await statuses(door, {
      [`/depots/${one}/racks/7`]: 410,
      [`/depots/${one}/racks`]: 410,
      [`/depots/${two}/racks/7`]: 200,
    })
    await removes(door, `/depots/${two}`, 204)
  })

  spec('R136', 'every request below a deleted item answers 410', async () => {
    const depot = await make(door, '/depots', { name: '1' })
    await make(door, `/depots/${depot}/racks`, { number: 7 })
    await removes(door, `/depots/${depot}`, 204)
    for (const [method, path, json] of [
      ['GET', `/depots/${depot}/racks`],
      ['HEAD', `/depots/${depot}/racks`],
      ['POST', `/depots/${depot}/racks`, { number: 1 }],
      ['POST', `/depots/${depot}/racks`, { number: 'broken' }],
      ['GET', `/depots/${depot}/racks/7`],
      ['GET', `/depots/${depot}/racks/8`],
      ['PUT', `/depots/${depot}/racks/8`, {}],
      ['PATCH', `/depots/${depot}/racks/8`, {}],
      ['DELETE', `/depots/${depot}/racks/8`],
    ] as const) {
      const answer = await door.send(method, path, json === undefined ? {} : { json })
      assert.equal(answer.status, 410, `${method} ${path}`)
    }
  })

  spec('R138', 'a reference to a missing or deleted item is refused', async () => {
    const client = await make(door, '/clients', { name: 'A' })
    const bill = await make(door, '/bills', { secretId: client })
    await door.send('PATCH', `/bills/${bill}`, { json: { secretId: null } })
    await removes(door, `/clients/${client}`, 204)
    const unused = 'tsk_00000000000000000000000000'
    for (const [method, path, json, pointers] of [
      ['POST', '/bills', { secretId: client }, ['/secretId']],
      [
        'PATCH',
        `/bills/${bill}`,
        { secretId: client, lines: [{ taskId: unused, hours: 1 }] },
        ['/lines/0/taskId', '/secretId'],
      ],
      ['PUT', `/bills/${bill}`, { lines: [{ taskId: unused, hours: 1 }] }, ['/lines/0/taskId']],
    ] as const) {
      const answer = await door.send(method, path, { json })
      assert.deepEqual([answer.status, answer.json.type], [400, 'validation-failed'], `${method} ${path}`)
      assert.deepEqual(
        answer.json.errors.map((one: { pointer: string }) => one.pointer),
        pointers,
      )
      assert.equal(answer.json.cause.type, 'invalid-value')
    }
    assert.deepEqual((await door.send('GET', `/bills/${bill}`)).json.lines, [])
  })
})
