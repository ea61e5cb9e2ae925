/** State refusal: refuses writes that the state of an item or of its owner does not allow. Part 3, states. */
import type { RowGuard } from '../effects/row-writer.ts'
import { Problem } from '../errors/problem.ts'
import type { Document, Intent } from '../flow/intent.ts'
import { listInWords } from '../formats/naming.ts'
import type { Resource } from '../resources/resource.ts'
import { type EndpointContext, resourceByCollection } from './item.ts'

/** The refused write, for messages such as `cannot be changed`. */
type Refused = 'changed' | 'removed' | 'written below'

/** Refuses a transition that is not possible in the state of the item. R50. */
export function admitTransition(
  scene: EndpointContext,
  name: string,
  from: readonly string[],
  document: Document,
): void {
  const { title } = scene.resource
  const { state, words } = stateWords(scene, scene.representation.today, document)
  if (!from.includes(state))
    throw new Problem(
      'invalid-state',
      `${title} is ${words([state])}; ${name} ${possibleWhile(words(from), 'are possible while it is')}.`,
    )
}

/** Refuses a change or a removal that the state of the item does not allow. R222. */
export function admitWritable(
  scene: EndpointContext,
  today: Resource,
  operation: 'change' | 'remove',
  document: Document,
): void {
  const allowed = today.machine?.writable[operation] ?? null
  if (allowed !== null)
    admitState(scene, today, document, { allowed, refused: operation === 'change' ? 'changed' : 'removed' })
}

/** Checks, under a lock, that the state of the owner allows a write of its child; undefined if all states do. R222. */
export function ownerGuard(
  scene: EndpointContext,
  { name, parent }: Resource,
  id: unknown,
  { caller, time }: Pick<Intent, 'caller' | 'time'>,
): RowGuard | undefined {
  const allowed = parent?.while ?? null
  if (parent === null || allowed === null || typeof id !== 'string') return undefined
  const owner = scene.stored.get(parent.resource) as Resource
  const key = { id, parent: null, account: caller.account }
  const isTotalled = owner.collection.aggregates.some(({ collection }) => collection === name)
  return {
    // If the write also changes the owner, a shared lock would have to be upgraded to an exclusive one.
    read: { do: 'read', collection: parent.resource, key, time, lock: isTotalled ? 'update' : 'share' },
    admit: (seen) => {
      if (seen.is === 'found') admitState(scene, owner, JSON.parse(seen.doc), { allowed, refused: 'written below' })
    },
  }
}

function admitState(
  scene: EndpointContext,
  today: Resource,
  document: Document,
  { allowed, refused }: { readonly allowed: readonly string[]; readonly refused: Refused },
): void {
  const { state, words } = stateWords(scene, today, document)
  if (allowed.includes(state)) return
  const title = resourceByCollection(scene, today.name)?.title ?? today.title
  const what = refused === 'written below' ? `what belongs to it cannot be written` : `cannot be ${refused}`
  throw new Problem(
    'invalid-state',
    `${title} is ${words([state])} and ${what}; ${possibleWhile(words(allowed), 'that is possible while it is')}.`,
  )
}

const possibleWhile = (states: string, says: string): string =>
  states === '' ? 'no state allows that' : `${says} ${states}`

/** The stored state of an item, and states in the words of the version. */
function stateWords(
  scene: EndpointContext,
  today: Resource,
  document: Document,
): { readonly state: string; readonly words: (states: readonly string[]) => string } {
  const field = today.machine?.field as string
  const shown = (state: string) => stateInVersion(scene, today, { ...document, [field]: state }, field)
  return { state: String(document[field]), words: (states) => listInWords([...new Set(states.map(shown))]) }
}

/** The name of a state in the version. The states of other resources have their stored names. */
function stateInVersion(
  { representation }: EndpointContext,
  today: Resource,
  document: Document,
  field: string,
): string {
  if (representation.today !== today || representation.answer === null) return String(document[field])
  try {
    const shown = JSON.parse(representation.answer(JSON.stringify(document), [])) as Document
    return String(shown[representation.names(field)[0] ?? field] ?? document[field])
  } catch {
    return String(document[field]) // a function of a change may not take this item in another state
  }
}
