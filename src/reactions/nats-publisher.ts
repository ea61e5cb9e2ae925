/** NATS publisher: sends events to a JetStream of NATS, for `events.publish`. Part 6. */
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { throwMistakes } from '../check/declaration-mistakes.ts'
import { nameHint } from '../check/kind-options.ts'
import { isObject, valueInWords } from '../fields/value-check.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { EventPublisher, PublishedEvent, RefusedEvent } from '../settings.ts'

/** How events are sent to NATS. */
export interface NatsPublisherOptions {
  /** The servers: `servers: ['nats://nats-1.example.com:4222', 'nats://nats-2.example.com:4222']`. */
  readonly servers: string | readonly string[]
  /** The name of the stream that stores the events; it has to exist: `stream: 'SHOP'`. */
  readonly stream: string
  /** The first part of subjects; by default `bylaw`, as in `bylaw.order.placed`: `subject: 'shop.events'`. */
  readonly subject?: string
  /** Other options of `connect` of `@nats-io/transport-node`: `connection: { token: process.env.NATS_TOKEN }`. */
  readonly connection?: Omit<NodeConnectionOptions, 'servers'>
}

/** The error code of JetStream for a message that is larger than the stream allows. */
const messageTooLarge = 10054
const optionNames = ['servers', 'stream', 'subject', 'connection']
const packages = ['@nats-io/transport-node', '@nats-io/jetstream'] as const

/**
 * Makes the publisher that sends events to NATS. It connects when it first publishes.
 * @example
 * export default service({
 *   name: 'shop',
 *   events: true,
 *   resources,
 *   settings: { events: { publish: natsPublisher({ servers: 'nats://127.0.0.1:4222', stream: 'SHOP' }) } },
 * })
 */
export function natsPublisher(options: NatsPublisherOptions): EventPublisher {
  throwMistakes(null, [...optionMistakes(options), ...packageMistakes()])
  let opened: Promise<Broker> | undefined
  const close = async (): Promise<void> => {
    const broker = await opened?.catch(() => undefined)
    opened = undefined
    await broker?.close()
  }
  const publish = async (events: readonly PublishedEvent[]): Promise<readonly RefusedEvent[]> => {
    if ((await opened)?.isClosed()) opened = undefined
    opened ??= openBroker(options)
    const { send } = await opened
    return (await Promise.all(events.map(send))).filter((one) => one !== null)
  }
  return {
    // After a failure the next try begins with a new connection, so that no message of this one arrives after later ones.
    publish: (events) => publish(events).catch((error): Promise<never> => close().then(() => Promise.reject(error))),
    close,
  }
}

interface Broker {
  /** Returns the event if the server refuses it for its size. */
  readonly send: (event: PublishedEvent) => Promise<RefusedEvent | null>
  readonly isClosed: () => boolean
  readonly close: () => Promise<void>
}

async function openBroker({ servers, stream, subject = 'bylaw', connection }: NatsPublisherOptions): Promise<Broker> {
  const [{ connect, headers, errors }, { jetstream, JetStreamApiError }] = await Promise.all([
    import('@nats-io/transport-node'),
    import('@nats-io/jetstream'),
  ])
  const own = await connect({ name: 'bylaw', reconnect: false, ...connection, servers: [servers].flat() })
  const client = jetstream(own)
  const isUnanswered = ({ cause }: { readonly cause?: unknown }) =>
    cause instanceof errors.RequestError && cause.isNoResponders()
  const send: Broker['send'] = async ({ id, type, account, body, contentType }) => {
    const to = `${subject}.${type}`
    const fields = headers()
    fields.set('Content-Type', contentType)
    if (account !== null) fields.set('Bylaw-Account', encodeURIComponent(account))
    try {
      await client.publish(to, body, { msgID: id, expect: { streamName: stream }, headers: fields })
      return null
    } catch (error) {
      if (isUnanswered(error as Error))
        throw new Error(
          `No stream takes the subject ${to}, or the server runs without JetStream. Create one:  nats stream add ${stream} --subjects '${subject}.>'`,
          { cause: error },
        )
      const says = `The event ${id} has ${Buffer.byteLength(body)} bytes`
      if (error instanceof errors.InvalidArgumentError) {
        const most = own.info?.max_payload
        return {
          id,
          reason: `${says}, and the server takes messages of up to ${most}. Raise max_payload of the server.`,
        }
      }
      if (error instanceof JetStreamApiError && error.code === messageTooLarge)
        return { id, reason: `${says}, more than the stream ${stream} takes. Raise its max-msg-size.` }
      throw error
    }
  }
  return { send, isClosed: () => own.isClosed(), close: () => own.close() }
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
/** The tokens of a subject hold no spaces and no wildcards. */
const isSubject = (value: unknown): boolean => typeof value === 'string' && /^[^\s.*>]+(\.[^\s.*>]+)*$/.test(value)

function optionMistakes(options: unknown): readonly Mistake[] {
  const example = "natsPublisher({ servers: 'nats://127.0.0.1:4222', stream: 'SHOP' })"
  if (!isObject(options)) return [mistake([], options, `Write ${example}.`)]
  const { servers, stream, subject, connection } = options
  const unknown = Object.keys(options).filter((name) => !optionNames.includes(name))
  const fits = {
    servers: Array.isArray(servers) ? servers.length > 0 && servers.every(isText) : isText(servers),
    stream: typeof stream === 'string' && /^[^\s.*>/\\]+$/.test(stream),
    subject: subject === undefined || isSubject(subject),
    connection: connection === undefined || isObject(connection),
  }
  return [
    ...unknown.map((name) => ({
      ...{ place: `natsPublisher.${name}`, reason: 'There is no option of this name.' },
      mend: nameHint(name, optionNames),
    })),
    ...(fits.servers ? [] : [mistake(['servers'], servers, "Write a URL, or a list: 'nats://127.0.0.1:4222'.")]),
    ...(fits.stream ? [] : [mistake(['stream'], stream, "Write the name of the stream: 'SHOP'.")]),
    ...(fits.subject ? [] : [mistake(['subject'], subject, "Write words with dots between them: 'shop.events'.")]),
    ...(fits.connection ? [] : [mistake(['connection'], connection, 'Write an object of options of connect.')]),
  ]
}

const mistake = (path: readonly string[], value: unknown, mend: string): Mistake => ({
  place: ['natsPublisher', ...path].join('.'),
  reason: `This is ${valueInWords(value)}.`,
  mend,
})

/** Reports missing packages when the service is declared, not when the first event is published. */
function packageMistakes(): readonly Mistake[] {
  const missing = packages.filter((name) => !isInstalled(name))
  if (missing.length === 0) return []
  const reason = `natsPublisher needs ${missing.join(' and ')}, which npm has not installed.`
  return [{ place: 'natsPublisher', reason, mend: `Install beside bylaw:  npm install ${missing.join(' ')}` }]
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
