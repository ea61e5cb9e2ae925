/** A client: creates, writes, deletes and reads at random, and retries like real clients. */
import { setTimeout as pause } from 'node:timers/promises'
import type { AnswerOrLate, Ask, HttpAnswer, Question } from './ask.ts'
import type { Seen } from './events.ts'
import { type Content, type Creation, fill, type Item, type Ledger } from './ledger.ts'

export interface ClientContext {
  readonly ask: Ask
  readonly ledger: Ledger
  /** The events that the reader has seen. */
  readonly seen: Seen
  readonly random: (below: number) => number
  /** Returns a unique name. */
  readonly token: () => string
  /** Resolves when a process listens. */
  readonly up: () => Promise<unknown>
  readonly stopping: () => boolean
  /** Whether the database may fail, so that the service answers that a result is unknown. */
  readonly falls: boolean
}

export async function client(context: ClientContext): Promise<void> {
  while (!context.stopping()) {
    await context.up()
    await choices[context.random(choices.length)]?.(context)
    await pause(context.random(4))
  }
}

type Act = (context: ClientContext) => Promise<void>

/** The weights of the actions. */
const acts: readonly (readonly [weight: number, act: Act])[] = [
  [30, keyed],
  [10, unkeyed],
  [20, (context) => withItem(context, (item) => write(context, item, 'PATCH', false))],
  [12, (context) => withItem(context, (item) => write(context, item, 'PATCH', true))],
  [10, (context) => withItem(context, (item) => write(context, item, 'PUT', false))],
  [5, (context) => withItem(context, (item) => write(context, item, 'PUT', true))],
  [8, (context) => withItem(context, (item) => duel(context, item))],
  [5, (context) => withItem(context, (item) => remove(context, item))],
  [8, (context) => withItem(context, (item) => note(context, item))],
  [10, (context) => withItem(context, (item) => read(context, item))],
  [10, again],
]
const choices = acts.flatMap(([weight, act]) => Array<Act>(weight).fill(act))

function content({ random, token }: ClientContext): Content {
  const stamp = token()
  const size = random(random(10) === 0 ? 95_000 : random(4) === 0 ? 4000 : 200)
  return { stamp, size, text: fill(stamp, size) }
}

/** The answer; null without one, or if the service failed. */
async function heard(
  { ask, ledger, falls }: ClientContext,
  method: string,
  path: string,
  question?: Question,
): Promise<HttpAnswer | null> {
  const answer: AnswerOrLate = await ask(method, path, question)
  if (answer === 'late') ledger.violated(`${method} ${path} has no answer`)
  else if (answer?.status === 503 && falls && answer.retryAfter > 0) return null
  else if (answer !== null && answer.status >= 500)
    ledger.violated(`${method} ${path} answers ${answer.status} ${answer.text}`)
  else return answer
  return null
}

function creation({ ledger }: ClientContext, key: string | null, mark: string, body: Content): Creation {
  const one: Creation = { key, body: { mark, ...body }, id: null, made: false, checked: false }
  ledger.creations.set(mark, one)
  return one
}

const percent = ({ random }: ClientContext, most: number): boolean => random(100) < most

/** Creates a thing with a key. One in ten requests is sent twice at once, and one in ten first with an invalid reference. */
async function keyed(context: ClientContext): Promise<void> {
  const key = context.token()
  const one = creation(context, key, key, content(context))
  if (percent(context, 10)) await refused(context, one)
  await Promise.all(percent(context, 10) ? [settle(context, one), settle(context, one)] : [settle(context, one)])
}

/** A creation with an invalid reference is refused, and the key stays unused. */
async function refused(context: ClientContext, { key, body }: Creation): Promise<void> {
  const json = { ...body, nextId: 'thg_00000000000000000000000000' }
  const answer = await heard(context, 'POST', '/things', { json, headers: { 'idempotency-key': key as string } })
  if (answer !== null && answer.status !== 400)
    context.ledger.violated(`${key} refers to nothing and answers ${answer.text}`)
}

/** Repeats a creation with the same key until its result is known. */
async function settle(context: ClientContext, one: Creation): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    await context.up()
    if ((await attempt(context, one, tries === 0 && percent(context, 5) ? context.random(4) : undefined)) !== null)
      return
    await pause(5 + context.random(20))
  }
  context.ledger.violated(`${one.key} never got an answer`)
}

/** Sends a creation with a key, and returns the id of the thing. */
export async function attempt(context: ClientContext, one: Creation, abort?: number): Promise<string | null> {
  const { ledger } = context
  const wasKnown = one.id !== null
  const behind =
    abort === undefined && percent(context, 20) ? `/things/${one.id ?? 'thg_00000000000000000000000000'}` : undefined
  const question = { json: one.body, headers: { 'idempotency-key': one.key as string }, abort, behind }
  const answer = await heard(context, 'POST', '/things', question)
  if (answer === null) return null
  if (answer.status === 201) ledger.created(one, answer, wasKnown)
  else if (answer.status === 409 && answer.json.type === 'idempotency-key-reused')
    ledger.made(one, answer.json.old_id, '409')
  else ledger.violated(`${one.key} answers ${answer.status} ${answer.text}`)
  return one.id ?? ''
}

/** A creation without a key, which cannot be retried. */
async function unkeyed(context: ClientContext): Promise<void> {
  const one = creation(context, null, context.token(), content(context))
  const abort = percent(context, 5) ? context.random(4) : undefined
  const answer = await heard(context, 'POST', '/things', { json: one.body, abort })
  if (answer?.status === 201) context.ledger.created(one, answer, false)
  else if (answer !== null) context.ledger.violated(`a creation answers ${answer.status} ${answer.text}`)
}

/** Repeats a creation with a used key. */
async function again(context: ClientContext): Promise<void> {
  const all = [...context.ledger.creations.values()].slice(-100)
  const one = all[context.random(all.length || 1)]
  if (one?.key && one.id !== null) await attempt(context, one)
}

/** All clients write to some common things, so that writes conflict. */
async function withItem(context: ClientContext, act: (item: Item) => Promise<void>): Promise<void> {
  const ids = [...context.ledger.items.keys()]
  const recent = Math.min(ids.length, 20)
  const at = percent(context, 80) ? ids.length - 1 - context.random(recent || 1) : context.random(ids.length || 1)
  const item = context.ledger.items.get(ids[at] ?? '')
  if (!item || (item.gone && percent(context, 90))) return
  item.touched = true
  await act(item)
}

export async function write(
  context: ClientContext,
  item: Item,
  method: 'PUT' | 'PATCH',
  conditional: boolean,
): Promise<void> {
  const { ledger } = context
  if (conditional && item.etag === '') return read(context, item)
  const { revision, gone, etag } = item
  const body = content(context)
  item.unsure.add(body.stamp)
  const json = method === 'PUT' ? { mark: item.mark, ...body } : body
  const headers: Record<string, string> = conditional ? { 'if-match': etag } : {}
  const abort = percent(context, 5) ? context.random(4) : undefined
  const answer = await heard(context, method, `/things/${item.id}`, { json, headers, abort })
  if (answer === null) return
  if (answer.status === 200)
    return ledger.wrote(item, { revision, gone }, answer, { stamp: body.stamp, over: conditional ? revision : null })
  item.unsure.delete(body.stamp)
  if (answer.status === 410 || answer.status === 404) ledger.missing(item, answer.status)
  else if (answer.status !== 412 || !conditional)
    ledger.violated(`${method} ${item.id} answers ${answer.status} ${answer.text}`)
  else if (answer.etag === etag) ledger.violated(`${item.id} is at ${etag}, and refuses If-Match: ${etag}`)
}

/** Two writes with the same revision as condition: only one can succeed. */
async function duel(context: ClientContext, item: Item): Promise<void> {
  if (item.etag === '') return read(context, item)
  await Promise.all([write(context, item, 'PATCH', true), write(context, item, 'PUT', true)])
}

async function remove(context: ClientContext, item: Item): Promise<void> {
  item.mayGo = true
  const answer = await heard(context, 'DELETE', `/things/${item.id}`)
  if (answer === null) return
  if (answer.status !== 204) return context.ledger.violated(`DELETE ${item.id} answers ${answer.status} ${answer.text}`)
  item.gone = true
  context.ledger.acknowledged++
}

/** Creates a note, which is deleted with its thing. */
async function note(context: ClientContext, item: Item): Promise<void> {
  const answer = await heard(context, 'POST', '/notes', { json: { thingId: item.id } })
  if (answer !== null && answer.status !== 201 && (answer.status !== 400 || !item.mayGo))
    context.ledger.violated(`a note for ${item.id} answers ${answer.status} ${answer.text}`)
}

/** Checks that pages without an index have the total of their own rows, also during writes that change it. */
export async function pages(context: ClientContext): Promise<void> {
  const item = [...context.ledger.items.values()].findLast(({ gone }) => !gone)
  const own = item && (await heard(context, 'GET', `/things/${item.id}`))
  if (!item || own?.status !== 200) return
  const path = `/things?size[gte]=${own.json.size}&size[lte]=${own.json.size + 5}`
  await heard(context, 'GET', `${path}&page_size=1`) // the total is cached from here on
  const sizes = Array.from({ length: 10 }, (_, i) => 100 - i)
  const asked = Promise.all(sizes.map((size) => heard(context, 'GET', `${path}&page_size=${size}`)))
  await write(context, item, 'PATCH', false)
  for (const one of await asked) {
    const { data, pagination } = one?.json ?? {}
    if (one === null || data.length === Math.min(pagination.totalRecords, pagination.pageSize)) continue
    context.ledger.violated(`GET ${path} shows ${data.length} rows and counts ${pagination.totalRecords}`)
  }
}

export async function read(context: ClientContext, item: Item): Promise<void> {
  const { revision, gone } = item
  const answer = await heard(context, 'GET', `/things/${item.id}`)
  if (answer === null) return
  if (answer.status === 200) context.ledger.saw(item, { revision, gone }, answer)
  else context.ledger.missing(item, answer.status)
}
