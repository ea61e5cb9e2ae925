/** The service: its resources, and what they have in common. */
import { service } from 'bylaw'
import { projects } from './resources/projects.ts'
import { tasks } from './resources/tasks.ts'

export default service({
  name: 'my-api',
  events: true, // GET /events
  errors: { 'project-full': { parents: ['conflict'], status: 409 } },
  resources: { projects, tasks },
})
