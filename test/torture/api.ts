/** The service of the torture test: written values can be recognised, and are also found by columns. */
import { f, service } from 'bylaw'
import { recordsEvents } from './mutants.ts'

export default service({
  name: 'torture',
  events: recordsEvents(process.env.TORTURE_MUTANT ?? null),
  resources: {
    things: {
      prefix: 'thg',
      fields: {
        mark: f.text({ immutable: true, filter: true, unique: true }),
        stamp: f.text({ filter: true }),
        size: f.integer({ min: 0, filter: 'range', sort: true }),
        text: f.text({ max: 100_000 }),
        nextId: f.ref('things', { optional: true }),
      },
      access: 'public',
    },
    notes: { prefix: 'not', fields: { thingId: f.ref('things', { onDelete: 'cascade' }) }, access: 'public' },
  },
})
