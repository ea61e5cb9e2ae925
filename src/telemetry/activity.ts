/** Activity: counts the work that a service does by itself: timers, deliveries, reactions and jobs. Part 8. */
import { Counter } from './metrics.ts'

/** Its counts of one service, which are kept in its state whether they are read or not. */
export const makeActivity = () => ({
  timers: new Counter({
    name: 'bylaw_timer_transitions',
    help: 'Transitions by the clock. A result other than changed is tried again, except kept: the row had left the state.',
    labels: ['resource', 'transition', 'result'],
  }),
  deliveries: new Counter({
    name: 'bylaw_delivery_attempts',
    help: 'Attempts to deliver webhooks.',
    labels: ['result'],
  }),
  reactions: new Counter({
    name: 'bylaw_reaction_events',
    help: 'Events that reactions have handled or failed at.',
    labels: ['reaction', 'result'],
  }),
  jobs: new Counter({
    name: 'bylaw_job_tries',
    help: 'Tries of asynchronous operations that have ended.',
    labels: ['operation', 'result'],
  }),
})
