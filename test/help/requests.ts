/** Makes requests from an OpenAPI document, valid ones and ones with one mistake, and checks the answers. Part 13. */
import fc from 'fast-check'
import { eventTypePattern } from '../../src/resources/service-fields.ts'
import { fitting, type Known } from './arbitrary.ts'
import { type Document, documentOf, type Exchange, judgeOf } from './described.ts'
import type { Answer, Sent } from './door.ts'
import { type Operation, operationsOf, type Parameter } from './operations.ts'
import type { Doc, Schema } from './schemas.ts'
import { type Asked, whatever, wrongBodies, wrongParameters } from './wrong-requests.ts'

export interface Trial {
  readonly document: Doc
  readonly send: (method: string, path: string, sent?: Sent) => Promise<Answer>
  readonly seed: number
  /** The least number of valid requests for each operation; more are sent, up to a limit, until one succeeds. */
  readonly runs: number
  /** Matches messages of refusals that are allowed, as an older version accepts more values than the newest. */
  readonly narrow?: RegExp
}

export interface Verdict {
  readonly complaints: readonly string[]
  /** The numbers of valid requests, of those that succeeded, and of requests with a mistake. */
  readonly right: number
  readonly done: number
  readonly wrong: number
}

/** Types of errors that a schema cannot predict: they depend on stored data, cursors or other parameters. */
const beyondWords = new Set([
  ...['immutable-field', 'invalid-cursor', 'cursor-mismatch', 'cursor-expired', 'pagination-conflict'],
  ...['unsupported-filter', 'read-only-field', 'idempotency-key-mismatch', 'idempotency-key-missing'],
])

/** A POST below an item that creates nothing. */
const isTransition = ({ method, path, creates }: Operation): boolean =>
  method === 'post' && !creates && path.includes('{')

/** Sends requests to all operations of a document. */
export async function tried(trial: Trial): Promise<Verdict> {
  const { document: described, seed, runs } = trial
  const state = startTrial(trial)
  // Transitions come last, as items in their later states may refuse every other write.
  const all = operationsOf(described, state.document)
  const operations = [...all.filter((one) => !isTransition(one)), ...all.filter(isTransition)]
  const makers = operations.filter(({ creates }) => creates)
  for (let round = 0; round < 12; round++)
    for (const one of makers) if (round < 3 || !state.reached.has(one.id)) await asRight(one, state, seed + round)
  if (operations.some(({ path }) => path === '/events'))
    await state.ask({ method: 'get', target: '/events', headers: {} }, 'all events')
  // Operations below items may make items of other resources.
  const late = operations.filter(({ path }) => path.startsWith('/webhook-deliveries/'))
  for (const one of [...operations.filter((one) => !late.includes(one)), ...late]) {
    const makes = makers.filter(({ path }) => path.endsWith(`/${one.path.split('/').at(-2)}`))
    for (let run = 0; run < runs || (run < (isTransition(one) ? 100 : 25) && !state.reached.has(one.id)); run++) {
      if (one.method === 'delete') for (const other of makes) await asRight(other, state, seed + 300 + run)
      if (isTransition(one)) await prepare(operations, state, seed + 300, run)
      await asRight(run < 25 ? one : withoutOptional(one), state, seed + 100 + run)
    }
    if (one.method === 'put' || one.method === 'patch') await asReturned(one, state, seed)
    if (one.method !== 'delete') await asWrong(one, state, seed + 500)
  }
  const never = operations.filter(({ id }) => !state.reached.has(id)).map(({ id }) => `${id} was never done as asked`)
  return { ...state.count, complaints: [...state.complaints, ...never] }
}

/** Makes items, and brings them into other states, before a transition is tried. */
async function prepare(operations: readonly Operation[], state: TrialState, seed: number, run: number): Promise<void> {
  const transitions = operations.filter(isTransition)
  if (run < 5) {
    const makers = operations.filter(({ creates }) => creates)
    for (const one of [...makers, ...makers, ...transitions]) await asRight(one, state, seed + run)
  } else if (run % 5 === 0) {
    // Transitions of a new item may follow on each other; another one is first each time.
    const creates = operations.filter(({ id }) => id.endsWith('.create'))
    const first = (run / 5) % transitions.length
    const turned = [...transitions.slice(first), ...transitions.slice(0, first)]
    for (const one of [...creates, ...creates, ...turned]) await asRight(ofNewest(one), state, seed + run)
  }
}

/** The state of a trial. */
interface TrialState {
  readonly document: Document
  readonly complaints: string[]
  readonly reached: Set<string>
  readonly count: { right: number; done: number; wrong: number }
  readonly places: Set<string>
  readonly known: Known
  readonly narrow: RegExp
  readonly ask: (asked: Asked, about: string) => Promise<Answer>
}

function startTrial({ document: described, send, narrow = /^$/ }: Trial): TrialState {
  const judge = judgeOf(described)
  const eventTypes = Object.keys(described.webhooks ?? {})
  const places = new Set<string>()
  const complaints: string[] = []
  let keys = 0
  return {
    ...{ document: documentOf(described), complaints, reached: new Set<string>(), places, narrow },
    count: { right: 0, done: 0, wrong: 0 },
    known: ({ pattern }) => {
      if (String(pattern).includes('{1,255}')) return [`key-${++keys}`] // an idempotency key: a used one would be refused first
      if (pattern === eventTypePattern) return eventTypes
      const prefix = /^\^\(?(?:\?:)?([a-z]+_)/.exec(String(pattern ?? ''))?.[1]
      if (prefix === undefined) return []
      const ids = [...places].map((place) => place.slice(place.lastIndexOf('/') + 1))
      return ids.filter((id) => id.startsWith(prefix) && new RegExp(String(pattern), 'u').test(id))
    },
    ask: async ({ method, target, ...sent }, about) => {
      const answer = await send(method.toUpperCase(), target, sent)
      const { status, headers, text } = answer
      const exchange: Exchange = { method: method.toUpperCase(), target, status, headers, text }
      complaints.push(...judge(exchange).map((one) => `${about}: ${one}`))
      if (headers['dry-run'] === 'true') return answer // it stored nothing
      if ((status === 201 || status === 202) && headers.location)
        places.add(headers.location.split('?', 1)[0] as string)
      const [path = ''] = target.split('?', 1)
      if ((path === '/events' || path.endsWith('/revisions')) && status === 200)
        for (const { id } of answer.json?.data ?? []) places.add(`${path}/${id}`)
      if (method === 'delete' && status === 204) places.delete(path)
      return answer
    },
  }
}

const sample = <T>(arbitrary: fc.Arbitrary<T>, seed: number): T => fc.sample(arbitrary, { numRuns: 1, seed })[0] as T

/** A request that the document allows; null if no stored item fits its path yet. */
function rightOf(operation: Operation, { document, known, places }: TrialState, seed: number): Asked | null {
  const { schemas } = document
  const making = { schemas, known }
  const valued = (parameter: Parameter): [string, string] => {
    const { name, schema, in: place } = parameter
    const values = fitting(schema, making).map(String)
    return [
      name,
      sample(place === 'header' ? values.filter((text) => /^[\x21-\x7e][\x20-\x7e]*$/.test(text)) : values, seed),
    ]
  }
  const path = addressed(operation, [...places], seed)
  if (path === null) return null
  const several = Math.max(operation.parameters.length, operation.method === 'get' ? 3 : 13)
  const chosen = operation.parameters.filter(
    (one, i) => one.in !== 'path' && (one.required || (seed + i * 11) % several < 2),
  )
  const { query, header } = Object.groupBy(chosen, (one) => one.in)
  const kinds = Object.keys(operation.content)
  const kind = kinds[seed % kinds.length]
  const search = new URLSearchParams(together((query ?? []).map(valued), operation, seed)).toString()
  return {
    method: operation.method,
    target: search === '' ? path : `${path}?${search}`,
    headers: {
      ...Object.fromEntries((header ?? []).map(valued)),
      ...(seed % 2 === 1 && operation.method !== 'get' ? whatever(operation) : {}),
      ...(kind === undefined ? {} : { 'content-type': kind }),
    },
    ...(kind === undefined
      ? {}
      : { json: sample(fitting((operation.content[kind] as { schema: Schema }).schema, making), seed) }),
  }
}

/** The path of a stored item. */
function addressed(operation: Operation, places: readonly string[], seed: number): string | null {
  const { path, parameters, method, newest } = operation
  if (!path.includes('{')) return path
  const end = path.lastIndexOf('}') + 1
  const fits = new RegExp(`^${path.slice(0, end).replace(/\{[^}]*\}/g, '[^/]+')}$`)
  const there = places.filter((place) => fits.test(place))
  const isLast = newest || method === 'delete' // a new one has no dependents
  const place = there[isLast ? there.length - 1 : seed % there.length]
  return place === undefined || parameters.length === 0 ? null : place + path.slice(end)
}

/** Adds the parameters that others need, and keeps the parameters of only one style of pagination. */
function together(pairs: [string, string][], { parameters }: Operation, seed: number): [string, string][] {
  const has = (name: string): boolean => pairs.some(([own]) => own === name)
  const sorts = parameters.find(({ name }) => name === 'sort')
  const sorted = (has('order') || has('nulls')) && !has('sort') && !has('custom_sort')
  const some = (sorts?.schema.enum as string[] | undefined) ?? ['createdAt']
  const more: [string, string][] = sorted ? [['sort', some[seed % some.length] as string]] : []
  const styles = [['page', 'page_size'], ['offset'], ['cursor']]
  const style = styles.find((names) => names.some(has))
  const foreign = new Set(styles.filter((one) => one !== style).flat())
  if (style?.includes('page')) foreign.add('limit')
  if (has('sort')) foreign.add('custom_sort')
  else if (has('custom_sort')) foreign.add('nulls')
  return [...pairs, ...more].filter(([name]) => !foreign.has(name) && name !== 'cursor')
}

/** Whether an answer is allowed: a success, or a refusal that the document cannot predict. */
function isExcused({ status, json }: Answer, { method }: Asked, { narrow }: TrialState): boolean {
  if (status < 400 || [404, 409, 410, 412, 422, 428].includes(status)) return true
  if (status !== 400) return false
  const errors = (json?.errors ?? [json]) as { type: string; message: string; pointer?: string }[]
  const isNew = ({ type, pointer = '' }: (typeof errors)[number]): boolean =>
    method === 'patch' && type === 'field-required' && pointer.lastIndexOf('/') > 0
  return errors.every(
    (one) =>
      beyondWords.has(one.type) ||
      narrow.test(one.message) ||
      isNew(one) ||
      / does not exist\.$|can be skipped/.test(one.message),
  )
}

async function asRight(operation: Operation, state: TrialState, seed: number): Promise<void> {
  const asked = rightOf(operation, state, seed)
  if (asked === null) return
  const about = describeRequest(asked, seed)
  const answer = await state.ask(asked, about)
  state.count.right++
  if (answer.status < 400) {
    state.count.done++
    // A dry run stores no item that other operations need.
    if (answer.headers['dry-run'] !== 'true') state.reached.add(operation.id)
  }
  if (!isExcused(answer, asked, state)) state.complaints.push(`${because(answer)} although it fits: ${about}`)
}

/** A fetched item can be sent back unchanged. R48. */
async function asReturned(operation: Operation, state: TrialState, seed: number): Promise<void> {
  const target = addressed(operation, [...state.places], seed)
  if (target === null) return
  const got = await state.ask({ method: 'get', target, headers: {} }, `GET ${target}`)
  if (got.status !== 200) return
  for (const [kind, { schema }] of Object.entries(operation.content)) {
    const headers = { 'content-type': kind, ...whatever(operation) }
    const asked = { method: operation.method, target, headers, json: got.json }
    const wrong = state.document.schemas.check(schema, got.json)
    state.complaints.push(
      ...wrong.map((one) => `what was fetched does not fit: ${one} ${describeRequest(asked, seed)}`),
    )
    const answer = await state.ask(asked, `sent back: ${describeRequest(asked, seed)}`)
    if (answer.status === 200) state.reached.add(operation.id)
    else if (answer.json?.type !== 'invalid-state')
      // its state may not allow writes
      state.complaints.push(`${because(answer)} although it was fetched: ${describeRequest(asked, seed)}`)
  }
}

/** The operation on the item that was created last, which is in its first state. */
const ofNewest = (one: Operation): Operation => ({ ...withoutOptional(one), newest: true })

const withoutOptional = (one: Operation): Operation => ({
  ...one,
  parameters: one.parameters.filter(({ required }) => required),
})

async function asWrong(operation: Operation, state: TrialState, seed: number): Promise<void> {
  const asked = rightOf(withoutOptional(operation), state, seed)
  if (asked === null) return
  for (const [wrong, what] of [
    ...wrongBodies(operation, asked, state.document),
    ...wrongParameters(operation, asked, state.document),
  ]) {
    const about = `${what}: ${describeRequest(wrong, seed)}`
    const answer = await state.ask(wrong, about)
    state.count.wrong++
    if (answer.status !== 400) state.complaints.push(`${because(answer)} although it does not fit: ${about}`)
  }
}

/** The status and the messages of an answer. */
function because({ status, json }: Answer): string {
  const errors = (json?.errors ?? [json]) as ({ message?: string; pointer?: string; name?: string } | null)[]
  const reasons = errors.map((one) => `${one?.pointer ?? one?.name ?? ''} ${one?.message ?? ''}`.trim())
  return `${status} ${reasons.join(' ')}`.trim()
}

const describeRequest = ({ method, target, json, headers }: Asked, seed: number): string =>
  `${method.toUpperCase()} ${target} ${JSON.stringify(headers)} ${json === undefined ? '' : JSON.stringify(json)} (seed ${seed})`
