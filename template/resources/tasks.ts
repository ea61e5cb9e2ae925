import { f, now, resource } from 'bylaw'

export const tasks = resource({
  prefix: 'tsk',
  parent: { resource: 'projects', while: ['active'], onDelete: 'cascade' },
  fields: {
    title: f.text({ max: 200, filter: 'like' }),
    dueOn: f.date({ optional: true, filter: 'range', sort: true }),
    doneAt: f.timestamp({ optional: true, readOnly: true }),
  },
  states: {
    field: 'status',
    initial: 'open',
    transitions: {
      completions: { from: ['open'], to: 'done', set: { doneAt: now } },
      reopenings: { from: ['done'], to: 'open', set: { doneAt: null } },
    },
  },
  access: 'public',
})
