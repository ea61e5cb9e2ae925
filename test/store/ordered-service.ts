/** A service for tests of lists: orders of all directions, owned children, a composite key. */
import { f, service } from 'bylaw'

export const orderedService = service({
  name: 'board',
  settings: { list: { or: true } },
  resources: {
    teams: { prefix: 'tea', fields: { name: f.text() }, access: 'public' },
    tasks: {
      prefix: 'tsk',
      fields: {
        status: f.enum(['open', 'done'], { default: 'open', filter: true }),
        title: f.text({ filter: ['like', 'range'], sort: true }),
        dueOn: f.date({ optional: true, filter: 'range', sort: true }),
        effort: f.integer({ default: 0, filter: 'range', sort: true }),
        cost: f.decimal({ scale: 2, optional: true, filter: 'range', sort: true }),
        place: f.object({ city: f.text({ filter: true, sort: true }) }, { optional: true }),
        teamId: f.ref('teams', { optional: true, filter: true }),
        code: f.text({ unique: true, filter: true }),
      },
      sorts: {
        urgency: ['dueOn', '-effort'],
        pressing: ['-effort', 'dueOn', 'title'],
        dearest: ['-cost', '-title'],
        plainest: ['title', '-id'],
        newest: ['-createdAt'],
      },
      indexes: [
        ['status', 'dueOn'],
        ['status', 'effort', 'title'],
      ],
      access: 'public',
    },
    notes: {
      prefix: 'not',
      fields: { rank: f.integer({ sort: true, filter: true }), text: f.text({ sort: true, filter: true }) },
      order: ['-rank', 'text'],
      access: 'public',
    },
    steps: {
      prefix: 'stp',
      parent: 'tasks',
      fields: {
        position: f.integer({ filter: true, sort: true }),
        label: f.text({ filter: true, sort: true }),
        weight: f.integer({ optional: true, sort: true }),
      },
      order: ['position'],
      sorts: { last: ['-position', 'label'], heavy: ['-weight'] },
      indexes: [['taskId', 'label']],
      access: 'public',
    },
    slots: {
      parent: 'teams',
      key: 'number',
      fields: {
        number: f.integer({ min: 0, filter: true }),
        depth: f.integer({ optional: true, filter: 'range', sort: true }),
        taskId: f.ref('tasks', { optional: true, filter: true }),
      },
      sorts: { deepest: ['-depth', 'number'] },
      access: 'public',
    },
  },
})
