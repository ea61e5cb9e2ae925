import { count, f, resource } from 'bylaw'

export const projects = resource({
  prefix: 'prj',
  fields: {
    name: f.text({ max: 100, unique: true, filter: 'like', sort: true }),
    taskLimit: f.integer({ min: 1, default: 100 }),
    taskCount: f.integer({ derived: count('tasks') }),
  },
  states: {
    field: 'status',
    initial: 'active',
    transitions: {
      archivals: { from: ['active'], to: 'archived' }, // POST /projects/{id}/archivals
      restorations: { from: ['archived'], to: 'active' },
    },
  },
  access: 'public', // later: { read: 'authenticated', write: 'projects:write' }
})
