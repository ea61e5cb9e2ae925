/** `bylaw listen`: forwards the events of a running service to a URL, as webhooks are delivered. Part 6. R209, R213. */
import { styleText } from 'node:util'
import { includesType } from '../deliveries/delivery.ts'
import { type ForwardedAttempt, forwardTo } from '../deliveries/forwarding.ts'
import { followEvents, type ReceivedEvent, StreamRefusal } from '../events/event-client.ts'
import { realWorld } from '../flow/real-world.ts'
import type { Command, CommandInput } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'
import { onOneLine, readableLog, timeOfDay } from '../terminal/readable-log.ts'
import { untilSignal } from '../terminal/start.ts'
import { targetFault } from '../webhooks/address-guard.ts'
import { makeSender, systemResolver } from '../webhooks/send.ts'
import { hmacSecret, isHmacSecret } from '../webhooks/signature.ts'

export const listenCommand: Command = {
  name: 'listen',
  about: 'Forwards the events of a running service to a URL, as webhooks are delivered.',
  details:
    'A receiver of webhooks can be tried without a public URL and without an endpoint: listen reads the stream of events, signs each event ' +
    'and sends it. It begins with new events, and goes on after the last one when the service was restarted.',
  arguments: [],
  flags: {
    forward: { value: 'URL', about: 'Where deliveries go.' },
    url: { value: 'URL', about: 'The service, also with a version as /v2; http://127.0.0.1:3000 unless given.' },
    as: {
      value: 'KEY',
      env: 'BYLAW_AS',
      about: 'The API key or access token to read events with, if they are not public.',
    },
    types: { value: 'A,B', isList: true, about: 'The types to forward, as order.placed or order.*; all unless given.' },
    secret: {
      value: 'SECRET',
      env: 'WEBHOOK_SECRET',
      about: 'The secret (whsec_…) to sign with; a new one, which is printed, unless given.',
    },
  },
  examples: [
    'bylaw listen --forward http://localhost:4000',
    'bylaw listen --forward http://localhost:4000/hooks --url http://127.0.0.1:8080 --types order.*',
  ],
  run,
}

/** The receiver is the developer's own, so it may be anywhere. */
const ownTargets = { privateTargets: true } as const

const example = `As in:  ${listenCommand.examples[0]}`

async function run(input: CommandInput): Promise<number> {
  const url = urlOf(input, 'url', 'http://127.0.0.1:3000').replace(/\/$/, '')
  const [forward, types, headers] = [urlOf(input, 'forward'), typesOf(input), credentialsOf(input)]
  const secret = secretOf(input)
  const sender = makeSender({ ...ownTargets, resolve: systemResolver(ownTargets), world: realWorld })
  const { take, stop } = forwardTo({ url: forward, secret, sender, world: realWorld, report: printAttempt })
  const ending = new AbortController()
  const finish = async (): Promise<void> => {
    ending.abort()
    const left = await stop()
    if (left > 0) console.log(`${left} ${left === 1 ? 'event was' : 'events were'} not delivered.`)
  }
  const ended = untilSignal(readableLog(), finish)
  let isConnected = false
  const followed = followEvents({
    ...{ url: `${url}/events`, headers, signal: ending.signal, world: realWorld },
    connected: () => {
      if (isConnected) printNote('Connected again.')
      else printOpening(input, url, forward, secret)
      isConnected = true
    },
    disconnected: (reason, pause) => printNote(`${cutText(reason)} Connecting again in ${pause / 1000} s.`),
    missed: () => printNote('Events are missing here: the service no longer keeps the last one that was read.'),
    take: onlyOf(types, take),
  }).catch(async (error: unknown) => {
    await finish()
    throw refusalOf(url, error)
  })
  return Promise.race([ended, followed.then(() => ended)])
}

/** The URL of a flag. */
function urlOf(input: CommandInput, flag: string, usual?: string): string {
  const text = input.flagValue(flag)?.text ?? usual
  if (text === undefined) throw commandError('bylaw listen needs a URL to forward to.', example)
  const fault = targetFault(text, ownTargets)
  if (fault !== null) throw commandError(`--${flag} ${fault}`, example)
  return text
}

function typesOf(input: CommandInput): readonly string[] | null {
  const text = input.flagValue('types')?.text
  if (text === undefined) return null
  const types = text.split(',').map((one) => one.trim())
  const odd = types.find((one) => !/^[\w-]+\.(?:[\w-]+|\*)$/.test(one))
  if (odd === undefined) return types
  throw commandError(
    `--types: "${odd}" is not a type of events.`,
    'Give types as order.placed, or order.* for all of a resource.',
  )
}

function credentialsOf(input: CommandInput): Readonly<Record<string, string>> {
  const { text, from } = input.flagValue('as') ?? {}
  if (text === undefined) return {}
  if (/^[\x21-\x7e]+$/.test(text)) return { authorization: `Bearer ${text}` }
  throw commandError(
    `${from} is neither an API key nor an access token.`,
    'Give it without spaces, as in:  --as bylaw_…',
  )
}

function secretOf(input: CommandInput): string {
  const { text, from } = input.flagValue('secret') ?? {}
  if (text === undefined) return hmacSecret(realWorld.fillRandom(new Uint8Array(32)))
  if (isHmacSecret(text)) return text
  throw commandError(
    `${from} is not a secret of webhooks.`,
    'A secret is whsec_ and base64 of 24 to 64 bytes; leave it out once, and listen makes and prints one.',
  )
}

/** Takes only events of the types; the first event of each other type is named, so that a mistyped filter is noticed. */
function onlyOf(types: readonly string[] | null, take: (event: ReceivedEvent) => Promise<void>): typeof take {
  const others = new Set<string>()
  return async (event) => {
    if (types === null || includesType(types, event.type)) return take(event)
    if (others.has(event.type)) return
    others.add(event.type)
    printNote(`${event.type} is not among --types; its events are not forwarded.`)
  }
}

function printOpening(input: CommandInput, url: string, forward: string, secret: string): void {
  const from = input.flagValue('secret')?.from
  const signing =
    from === undefined ? `The signing secret, for the receiver:\n\n  ${secret}` : `Signed with the secret of ${from}.`
  console.log(`bylaw forwards the events of ${url} to ${forward}\n\n${signing}\n`)
}

const printNote = (text: string): void => console.log(`${timeOfDay()} ${styleText('yellow', onOneLine(text))}`)

function printAttempt({
  event: { type },
  item,
  responseStatus,
  duration,
  error,
  response,
  next,
}: ForwardedAttempt): void {
  const status = styleText(error === null ? 'green' : 'red', String(responseStatus ?? '---'))
  const said = response ? ` It said "${response.slice(0, 200).trim()}".` : ''
  const fault = error === null ? '' : ` ${error}${said} ${next === null ? 'Given up.' : `Again in ${next / 1000} s.`}`
  console.log(
    `${timeOfDay()} ${status} ${onOneLine(`${type} ${item}`)} ${styleText('dim', `${duration} ms`)}${onOneLine(fault)}`,
  )
}

/** Why a stream ended. */
function cutText(reason: unknown): string {
  if (reason === undefined) return 'The service ended the stream.'
  if (reason instanceof StreamRefusal) return `The service answered ${reason.status}. ${reason.message}`
  const failure = failureOf(reason)
  return failure === undefined ? 'The connection was cut.' : `The connection failed (${failure}).`
}

/** Why a connection failed; undefined for other errors. */
function failureOf(error: unknown): string | undefined {
  const cause = (error as Error).cause as NodeJS.ErrnoException | undefined
  return cause?.code ?? cause?.message
}

/** The error of a service that cannot be listened to, with its remedy. */
function refusalOf(url: string, error: unknown): unknown {
  if (error instanceof StreamRefusal)
    return commandError(`${url} answered ${error.status}. ${error.message}`.trimEnd(), mendOf(error))
  const failure = failureOf(error)
  if (failure === undefined) return error
  return commandError(
    `${url} cannot be reached (${failure}).`,
    'Start the service, as with `bylaw dev api.ts`, or give its URL with --url.',
  )
}

function mendOf({ status }: StreamRefusal): string {
  if (status === 401)
    return 'Give a valid API key with --as or BYLAW_AS. `bylaw dev` prints one, and `bylaw keys create` makes others.'
  if (status === 403)
    return 'Give a key that may read the resources whose events are wanted: `bylaw keys create api.ts --name listen --scopes …`.'
  if (status === 404)
    return 'Is --url the service? It needs `events: true`, and `settings: { events: { stream: true } }`.'
  if (status === 406 || status < 300)
    return 'The service has to stream events: declare `settings: { events: { stream: true } }`.'
  return ''
}
