/** Ledger: the answers that clients got about each thing, and contradictions to them. */
import type { HttpAnswer } from './ask.ts'

export interface Content {
  readonly stamp: string
  readonly size: number
  readonly text: string
}

/** A text that shows which write it is from, and whether it is complete. */
export const fill = (stamp: string, size: number): string =>
  `${stamp}.`.repeat(Math.ceil(size / stamp.length)).slice(0, size)

export interface Item {
  readonly id: string
  readonly mark: string
  /** The write of each revision, if it is known. */
  readonly writers: Map<number, string>
  /** Writes with an unknown result. */
  readonly unsure: Set<string>
  /** The highest revision in any answer, with its tag and its text. */
  revision: number
  etag: string
  text: string
  /** Whether an answer said that it is deleted; and whether any client requested its deletion. */
  gone: boolean
  mayGo: boolean
  touched: boolean
}

/** A creation with a key, or without one. */
export interface Creation {
  readonly key: string | null
  readonly body: Content & { readonly mark: string }
  id: string | null
  /** Whether a client got a 201. */
  made: boolean
  /** Whether its key was checked after all writes had ended. */
  checked: boolean
}

/** The known state when a request was sent. */
export type Before = Pick<Item, 'revision' | 'gone'>

export class Ledger {
  readonly items = new Map<string, Item>()
  readonly creations = new Map<string, Creation>()
  readonly violations: string[] = []
  acknowledged = 0

  violated(what: string): void {
    if (this.violations.length < 100) this.violations.push(what)
  }

  /** Records the thing of a creation, which can have only one. */
  made(creation: Creation, id: string, how: string): Item {
    const { key, body } = creation
    if (creation.id !== null && creation.id !== id)
      this.violated(`${key ?? body.mark} made ${creation.id} and, by ${how}, ${id}`)
    creation.id ??= id
    const known = this.items.get(id)
    if (known && known.mark !== body.mark) this.violated(`${id} was made by ${known.mark} and by ${body.mark}`)
    if (known) return known
    const writers = new Map([[1, body.stamp]])
    const rest = { revision: 0, etag: '', text: '', gone: false, mayGo: false, touched: true }
    const item: Item = { id, mark: body.mark, writers, unsure: new Set(), ...rest }
    this.items.set(id, item)
    return item
  }

  /** Records a 201. */
  created(creation: Creation, answer: HttpAnswer, wasKnown: boolean): void {
    if (wasKnown || creation.made) this.violated(`${creation.key} created again, as ${answer.json.id}`)
    creation.made = true
    const item = this.made(creation, answer.json.id, '201')
    this.saw(item, { revision: 0, gone: false }, answer)
    if (answer.json.stamp !== creation.body.stamp) this.violated(`${item.id} was created with other content`)
    this.acknowledged++
  }

  /** Records an answer that shows a thing. */
  saw(item: Item, before: Before, answer: HttpAnswer): number {
    const { stamp, size, text, mark } = answer.json
    const revision = Number.parseInt(answer.etag.slice(1), 36)
    const say = (what: string) => this.violated(`${item.id} at revision ${revision} ${what}`)
    if (before.gone) say('is there again after it was deleted')
    if (revision < before.revision) say(`went back from revision ${before.revision}`)
    if (text !== fill(stamp, size) || mark !== item.mark) say('is not whole')
    const writer = item.writers.get(revision)
    if (writer === undefined && !item.unsure.has(stamp)) say(`shows ${stamp}, which nobody wrote there`)
    else if (writer !== undefined && writer !== stamp) say(`shows ${stamp}, but ${writer} was written there`)
    item.unsure.delete(stamp)
    item.writers.set(revision, stamp)
    if (revision === item.revision && answer.text !== item.text) say('has two texts')
    if (revision > item.revision) Object.assign(item, { revision, etag: answer.etag, text: answer.text })
    return revision
  }

  /** Records a 200 to a write; `over` is the revision in its condition. */
  wrote(item: Item, before: Before, answer: HttpAnswer, { stamp, over }: { stamp: string; over: number | null }): void {
    if (answer.json.stamp !== stamp) this.violated(`${item.id} answered ${stamp} with ${answer.json.stamp}`)
    const revision = this.saw(item, before, answer)
    if (revision <= before.revision)
      this.violated(`${item.id}: ${stamp} is acknowledged as the old revision ${revision}`)
    if (over !== null && revision !== over + 1)
      this.violated(`${item.id}: ${stamp} was to follow revision ${over} and became ${revision}: a lost update`)
    this.acknowledged++
  }

  /** Records a 410 or a 404. A thing that ever existed must not be answered with 404. */
  missing(item: Item, status: number): void {
    if (status !== 410) this.violated(`${item.id} answers ${status}`)
    else if (!item.mayGo) this.violated(`${item.id} is gone though nobody deleted it`)
    item.gone = true
  }

  /** Called after all writes have ended: writes with an unknown result cannot have an effect any more. */
  settled(item: Item): void {
    const unknown = item.revision - item.writers.size
    if (unknown > item.unsure.size)
      this.violated(
        `${item.id} is at revision ${item.revision}, ${unknown - item.unsure.size} more than there were writes`,
      )
    for (let revision = 1; revision < item.revision; revision++)
      if (!item.writers.has(revision)) item.writers.set(revision, 'a write without an answer')
    item.unsure.clear()
    item.mayGo = item.gone
    item.touched = false
  }
}
