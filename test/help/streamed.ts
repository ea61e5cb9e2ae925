/** A service whose events are streamed to everyone. */
import { f, service } from 'bylaw'

export default service({
  name: 'streamed',
  events: true,
  settings: { events: { stream: true } },
  resources: { notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' } },
})
