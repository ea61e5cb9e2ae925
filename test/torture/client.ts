/** A client: creates, writes, deletes and reads at random, and retries like real clients. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Ask, Heard, Question, Told } from './ask.ts'
import { type Content, type Creation, fill, type Item, type Ledger } from './ledger.ts'

export interface Scene {
  readonly ask: Ask
  readonly ledger: Ledger
  readonly random: (below: number) => number
  /** Returns a unique name. */
  readonly token: () => string
  /** Resolves when a process listens. */
  readonly up: () => Promise<unknown>
  readonly stopping: () => boolean
  /** Whether the database may fail, so that the service answers that a result is unknown. */
  readonly falls: boolean
}

export async function client(scene: Scene): Promise<void> {
  while (!scene.stopping()) {
    await scene.up()
    await choices[scene.random(choices.length)]?.(scene)
    await pause(scene.random(4))
  }
}

type Act = (scene: Scene) => Promise<void>

/** The weights of the actions. */
const acts: readonly (readonly [weight: number, act: Act])[] = [
  [30, keyed],
  [10, unkeyed],
  [20, (scene) => withItem(scene, (item) => write(scene, item, 'PATCH', false))],
  [12, (scene) => withItem(scene, (item) => write(scene, item, 'PATCH', true))],
  [10, (scene) => withItem(scene, (item) => write(scene, item, 'PUT', false))],
  [5, (scene) => withItem(scene, (item) => write(scene, item, 'PUT', true))],
  [8, (scene) => withItem(scene, (item) => duel(scene, item))],
  [5, (scene) => withItem(scene, (item) => remove(scene, item))],
  [8, (scene) => withItem(scene, (item) => note(scene, item))],
  [10, (scene) => withItem(scene, (item) => read(scene, item))],
  [10, again],
]
const choices = acts.flatMap(([weight, act]) => Array<Act>(weight).fill(act))

function content({ random, token }: Scene): Content {
  const stamp = token()
  const size = random(random(10) === 0 ? 95_000 : random(4) === 0 ? 4000 : 200)
  return { stamp, size, text: fill(stamp, size) }
}

/** The answer; null without one, or if the service failed. */
async function heard(
  { ask, ledger, falls }: Scene,
  method: string,
  path: string,
  question?: Question,
): Promise<Told | null> {
  const answer: Heard = await ask(method, path, question)
  if (answer === 'late') ledger.violated(`${method} ${path} has no answer`)
  else if (answer?.status === 503 && falls && answer.retryAfter > 0) return null
  else if (answer !== null && answer.status >= 500)
    ledger.violated(`${method} ${path} answers ${answer.status} ${answer.text}`)
  else return answer
  return null
}

function creation({ ledger }: Scene, key: string | null, mark: string, body: Content): Creation {
  const one: Creation = { key, body: { mark, ...body }, id: null, made: false, checked: false }
  ledger.creations.set(mark, one)
  return one
}

const percent = ({ random }: Scene, most: number): boolean => random(100) < most

/** Creates a thing with a key. One in ten requests is sent twice at once, and one in ten first with an invalid reference. */
async function keyed(scene: Scene): Promise<void> {
  const key = scene.token()
  const one = creation(scene, key, key, content(scene))
  if (percent(scene, 10)) await refused(scene, one)
  await Promise.all(percent(scene, 10) ? [settle(scene, one), settle(scene, one)] : [settle(scene, one)])
}

/** A creation with an invalid reference is refused, and the key stays unused. */
async function refused(scene: Scene, { key, body }: Creation): Promise<void> {
  const json = { ...body, nextId: 'thg_00000000000000000000000000' }
  const told = await heard(scene, 'POST', '/things', { json, headers: { 'idempotency-key': key as string } })
  if (told !== null && told.status !== 400) scene.ledger.violated(`${key} refers to nothing and answers ${told.text}`)
}

/** Repeats a creation with the same key until its result is known. */
async function settle(scene: Scene, one: Creation): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    await scene.up()
    if ((await attempt(scene, one, tries === 0 && percent(scene, 5) ? scene.random(4) : undefined)) !== null) return
    await pause(5 + scene.random(20))
  }
  scene.ledger.violated(`${one.key} never got an answer`)
}

/** Sends a creation with a key, and returns the id of the thing. */
export async function attempt(scene: Scene, one: Creation, abort?: number): Promise<string | null> {
  const { ledger } = scene
  const wasKnown = one.id !== null
  const behind =
    abort === undefined && percent(scene, 20) ? `/things/${one.id ?? 'thg_00000000000000000000000000'}` : undefined
  const question = { json: one.body, headers: { 'idempotency-key': one.key as string }, abort, behind }
  const told = await heard(scene, 'POST', '/things', question)
  if (told === null) return null
  if (told.status === 201) ledger.created(one, told, wasKnown)
  else if (told.status === 409 && told.json.type === 'idempotency-key-reused') ledger.made(one, told.json.old_id, '409')
  else ledger.violated(`${one.key} answers ${told.status} ${told.text}`)
  return one.id ?? ''
}

/** A creation without a key, which cannot be retried. */
async function unkeyed(scene: Scene): Promise<void> {
  const one = creation(scene, null, scene.token(), content(scene))
  const abort = percent(scene, 5) ? scene.random(4) : undefined
  const told = await heard(scene, 'POST', '/things', { json: one.body, abort })
  if (told?.status === 201) scene.ledger.created(one, told, false)
  else if (told !== null) scene.ledger.violated(`a creation answers ${told.status} ${told.text}`)
}

/** Repeats a creation with a used key. */
async function again(scene: Scene): Promise<void> {
  const all = [...scene.ledger.creations.values()].slice(-100)
  const one = all[scene.random(all.length || 1)]
  if (one?.key && one.id !== null) await attempt(scene, one)
}

/** All clients write to some common things, so that writes conflict. */
async function withItem(scene: Scene, act: (item: Item) => Promise<void>): Promise<void> {
  const ids = [...scene.ledger.items.keys()]
  const recent = Math.min(ids.length, 20)
  const at = percent(scene, 80) ? ids.length - 1 - scene.random(recent || 1) : scene.random(ids.length || 1)
  const item = scene.ledger.items.get(ids[at] ?? '')
  if (!item || (item.gone && percent(scene, 90))) return
  item.touched = true
  await act(item)
}

export async function write(scene: Scene, item: Item, method: 'PUT' | 'PATCH', conditional: boolean): Promise<void> {
  const { ledger } = scene
  if (conditional && item.etag === '') return read(scene, item)
  const { revision, gone, etag } = item
  const body = content(scene)
  item.unsure.add(body.stamp)
  const json = method === 'PUT' ? { mark: item.mark, ...body } : body
  const headers: Record<string, string> = conditional ? { 'if-match': etag } : {}
  const abort = percent(scene, 5) ? scene.random(4) : undefined
  const told = await heard(scene, method, `/things/${item.id}`, { json, headers, abort })
  if (told === null) return
  if (told.status === 200)
    return ledger.wrote(item, { revision, gone }, told, { stamp: body.stamp, over: conditional ? revision : null })
  item.unsure.delete(body.stamp)
  if (told.status === 410 || told.status === 404) ledger.missing(item, told.status)
  else if (told.status !== 412 || !conditional)
    ledger.violated(`${method} ${item.id} answers ${told.status} ${told.text}`)
  else if (told.etag === etag) ledger.violated(`${item.id} is at ${etag}, and refuses If-Match: ${etag}`)
}

/** Two writes with the same revision as condition: only one can succeed. */
async function duel(scene: Scene, item: Item): Promise<void> {
  if (item.etag === '') return read(scene, item)
  await Promise.all([write(scene, item, 'PATCH', true), write(scene, item, 'PUT', true)])
}

async function remove(scene: Scene, item: Item): Promise<void> {
  item.mayGo = true
  const told = await heard(scene, 'DELETE', `/things/${item.id}`)
  if (told === null) return
  if (told.status !== 204) return scene.ledger.violated(`DELETE ${item.id} answers ${told.status} ${told.text}`)
  item.gone = true
  scene.ledger.acknowledged++
}

/** Creates a note, which is deleted with its thing. */
async function note(scene: Scene, item: Item): Promise<void> {
  const told = await heard(scene, 'POST', '/notes', { json: { thingId: item.id } })
  if (told !== null && told.status !== 201 && (told.status !== 400 || !item.mayGo))
    scene.ledger.violated(`a note for ${item.id} answers ${told.status} ${told.text}`)
}

/** Checks that pages without an index have the total of their own rows, also during writes that change it. */
export async function pages(scene: Scene): Promise<void> {
  const item = [...scene.ledger.items.values()].findLast(({ gone }) => !gone)
  const own = item && (await heard(scene, 'GET', `/things/${item.id}`))
  if (!item || own?.status !== 200) return
  const path = `/things?size[gte]=${own.json.size}&size[lte]=${own.json.size + 5}`
  await heard(scene, 'GET', `${path}&page_size=1`) // the total is cached from here on
  const sizes = Array.from({ length: 10 }, (_, i) => 100 - i)
  const asked = Promise.all(sizes.map((size) => heard(scene, 'GET', `${path}&page_size=${size}`)))
  await write(scene, item, 'PATCH', false)
  for (const one of await asked) {
    const { data, pagination } = one?.json ?? {}
    if (one === null || data.length === Math.min(pagination.totalRecords, pagination.pageSize)) continue
    scene.ledger.violated(`GET ${path} shows ${data.length} rows and counts ${pagination.totalRecords}`)
  }
}

export async function read(scene: Scene, item: Item): Promise<void> {
  const { revision, gone } = item
  const told = await heard(scene, 'GET', `/things/${item.id}`)
  if (told === null) return
  if (told.status === 200) scene.ledger.saw(item, { revision, gone }, told)
  else scene.ledger.missing(item, told.status)
}
