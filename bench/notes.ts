/** A resource without events, to compare with `notes-recorded.ts`. */
import { f, service } from 'bylaw'

export const declaration = {
  name: 'notes',
  resources: {
    notes: {
      prefix: 'not',
      fields: {
        title: f.text({ max: 200, filter: true, sort: true }),
        text: f.text({ max: 2000 }),
        stars: f.integer(),
      },
      access: 'public',
    },
  },
} as const

export default service(declaration)
