/** The notes of `notes.ts`, with events for webhook endpoints, for streams, and for a reaction that posts each id to a server. */
import { service } from 'bylaw'
import { declaration } from './notes.ts'

const reactionUrl = process.env.BENCH_REACTION_URL

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
        if (reactionUrl) await fetch(reactionUrl, { method: 'POST', body: event.data.id })
      },
    },
  },
})
