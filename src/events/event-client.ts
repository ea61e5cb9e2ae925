/** Event client: follows the stream of events of a running service, and resumes it after the last event. Part 6. R213. */
import { pause, type World } from '../flow/world.ts'
import { parseHttpDate } from '../formats/http-date.ts'
import { mostSilence, serverSentEvents } from '../formats/server-sent-events.ts'
import { timestampOf } from '../formats/time-texts.ts'

export interface ReceivedEvent {
  readonly id: string
  readonly type: string
  /** The event as JSON, in the bytes that webhooks deliver. */
  readonly text: string
}

/** An answer that is not a stream of events. */
export class StreamRefusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'StreamRefusal'
    this.status = status
  }
}

export interface EventClientTerms {
  /** The URL of `/events`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Ends the client. */
  readonly signal: AbortSignal
  readonly world: Pick<World, 'after'>
  readonly connected: () => void
  /** The stream was cut, or could not be opened again; it is opened after the pause, in milliseconds. */
  readonly disconnected: (reason: unknown, pause: number) => void
  /** Events after the last one are no longer kept. */
  readonly missed: () => void
  /** The next event is read when this one was taken. */
  readonly take: (event: ReceivedEvent) => Promise<void>
}

const [firstPause, longestPause] = [1000, 10_000]

/** Takes new events until `signal` aborts. Throws if the first connection fails, or if the service refuses for good. */
export async function followEvents(terms: EventClientTerms): Promise<void> {
  const { signal, world } = terms
  const place: StreamPlace = { lastId: null, since: null }
  for (let [wait, isFirst] = [firstPause, true]; !signal.aborted; ) {
    const reason = await readStream(terms, place, () => {
      wait = firstPause
      isFirst = false
      terms.connected()
    }).catch((error: unknown) => error)
    if (signal.aborted) return
    if (isFirst || (reason instanceof StreamRefusal && !isTemporary(reason))) throw reason
    terms.disconnected(reason, wait)
    await pause(world, wait)
    wait = Math.min(wait * 2, longestPause)
  }
}

const isTemporary = ({ status }: StreamRefusal): boolean => status === 408 || status === 429 || status >= 500

/** Where the stream goes on. */
interface StreamPlace {
  lastId: string | null
  /** The time of the service when the first stream began: the stream resumes from it while no event has arrived. */
  since: string | null
}

/** Reads one stream until it ends. */
async function readStream(terms: EventClientTerms, place: StreamPlace, opened: () => void): Promise<void> {
  const silence = new AbortController()
  try {
    const answer = await openStream(terms, place, AbortSignal.any([terms.signal, silence.signal]))
    opened()
    const seconds = parseHttpDate(answer.headers.get('date') ?? undefined)
    if (seconds !== null) place.since ??= timestampOf(seconds * 1000)
    const wait = () => terms.world.after(mostSilence, () => silence.abort())
    for await (const { id, type, text } of serverSentEvents(answer.body, wait)) {
      if (id === undefined) terms.missed()
      else {
        place.lastId = id
        if (text !== undefined) await terms.take({ id, type, text })
      }
    }
  } finally {
    silence.abort()
  }
}

async function openStream({ url, headers }: EventClientTerms, { lastId, since }: StreamPlace, signal: AbortSignal) {
  const target = new URL(url)
  if (lastId === null && since !== null) target.searchParams.set('since', since)
  const resume = lastId === null ? {} : { 'last-event-id': lastId }
  const answer = await fetch(target, { headers: { accept: 'text/event-stream', ...resume, ...headers }, signal })
  if (answer.ok && answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer
  throw new StreamRefusal(answer.status, messageIn(await answer.text()))
}

/** The message of a refusal, if it has one. */
function messageIn(text: string): string {
  try {
    return String(JSON.parse(text).message ?? '')
  } catch {
    return ''
  }
}
