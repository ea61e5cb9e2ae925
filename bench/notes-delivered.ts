/** The same resource, whose events go to endpoints, and to a reaction that tells a server of each. */
import { service } from 'bylaw'
import { declaration } from './notes.ts'

const told = process.env.BENCH_REACTION_URL

export default service({
  ...declaration,
  events: true,
  settings: { events: { webhooks: true, stream: true } },
}).handlers({
  reactions: {
    arrivals: {
      on: ['note.created'],
      from: 'now',
      run: async ({ event }) => {
        if (told) await fetch(told, { method: 'POST', body: event.data.id })
      },
    },
  },
})
