import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testing } from 'bylaw/testing'
import api from './handlers.ts'

const { call, close } = testing(api)
after(close)

async function post(path: string, json: object = {}) {
  const answer = await call(path, { method: 'POST', json })
  const body = (await answer.json()) as Record<string, unknown>
  return { status: answer.status, location: answer.headers.get('location') ?? '', body }
}

test('a project has no more tasks than its limit', async () => {
  const project = await post('/projects', { name: 'Garden', taskLimit: 1 })
  assert.equal(project.status, 201)
  const tasks = `${project.location}/tasks`
  assert.equal((await post(tasks, { title: 'Buy seeds' })).status, 201)
  const refused = await post(tasks, { title: 'Dig' })
  assert.equal(refused.status, 409)
  assert.equal(refused.body.type, 'project-full')
})

test('a task that is done can be opened again', async () => {
  const project = await post('/projects', { name: 'House' })
  const task = await post(`${project.location}/tasks`, { title: 'Paint the door' })
  assert.equal((await post(`${task.location}/completions`)).body.status, 'done')
  assert.equal((await post(`${task.location}/reopenings`)).body.status, 'open')
})
