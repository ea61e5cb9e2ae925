/** `npm run seed`: sends a first project to the service. A second run creates nothing, as each request has a key of its own. */
const url = process.argv[2] ?? 'http://localhost:3000'

/** Creates an item, or finds the one that an earlier run created with the same key; returns its id. */
async function create(path: string, key: string, item: object): Promise<string> {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key }
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(item) })
  const body = (await answer.json()) as { id?: string; old_id?: string; message?: string }
  const id = body.id ?? body.old_id
  if (id === undefined) throw new Error(`POST ${path} answered ${answer.status}: ${body.message}`)
  return id
}

const project = await create('/projects', 'seed-project', { name: 'Launch' })
for (const [i, title] of ['Write the first page', 'Ask three people', 'Publish it'].entries())
  await create(`/projects/${project}/tasks`, `seed-task-${i}`, { title })
console.log(`${url}/projects/${project} has three tasks.`)

export {}
