/** Server-sent events: reads the events of a stream (`text/event-stream`), in Node and in browsers. Part 6. R213. */

interface ServerSentEvent {
  /** Missing if events after the last one are no longer kept (a gap). */
  readonly id: string | undefined
  readonly type: string
  /** The event as JSON; missing if the message only has an id to resume from. */
  readonly text: string | undefined
}

/** A stream that sends nothing for this time is opened again; the service sends a comment every 15 seconds. */
export const mostSilence = 45_000

/** The events of a body; comments and `retry` are no events. `wait` is called before each read, and its result after it. */
export async function* serverSentEvents(
  body: Response['body'],
  wait: () => () => void,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  let rest = ''
  for await (const text of textsOf(body, wait)) {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() as string
    for (const block of blocks) {
      const { id, event, data } = fieldsOf(block)
      if (data !== undefined || id !== undefined) yield { id, type: event ?? '', text: data }
    }
  }
}

async function* textsOf(body: Response['body'], wait: () => () => void) {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read().finally(wait())
    if (done) return
    yield value
  }
}

const fieldsOf = (block: string): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(block.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]))
