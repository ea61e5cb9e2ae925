/** Ledger: what clients were told of each thing, and whatever contradicts it. */
import type { Told } from './ask.ts'

export interface Content {
  readonly stamp: string
  readonly size: number
  readonly text: string
}

/** A text that shows whose it is, and whether it is whole. */
export const fill = (stamp: string, size: number): string =>
  `${stamp}.`.repeat(Math.ceil(size / stamp.length)).slice(0, size)

export interface Item {
  readonly id: string
  readonly mark: string
  /** Which write made each revision, as far as it is known. */
  readonly writers: Map<number, string>
  /** Writes that may have been done or not. */
  readonly unsure: Set<string>
  /** The highest revision that anybody was told of, with its tag and its text. */
  revision: number
  etag: string
  text: string
  /** Whether anybody was told that it is gone; and whether anybody asked for that. */
  gone: boolean
  mayGo: boolean
  touched: boolean
}

/** A creation with a key, or without one. */
export interface Creation {
  readonly key: string | null
  readonly body: Content & { readonly mark: string }
  id: string | null
  /** Whether somebody was answered 201. */
  made: boolean
  /** Whether its key was asked for when all was at rest. */
  checked: boolean
}

/** What was known when a request was sent. */
export type Before = Pick<Item, 'revision' | 'gone'>

export class Ledger {
  readonly items = new Map<string, Item>()
  readonly creations = new Map<string, Creation>()
  readonly violations: string[] = []
  acknowledged = 0

  violated(what: string): void {
    if (this.violations.length < 100) this.violations.push(what)
  }

  /** Notes what a creation made; there can be only one such thing. */
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

  /** A 201. */
  created(creation: Creation, told: Told, wasKnown: boolean): void {
    if (wasKnown || creation.made) this.violated(`${creation.key} created again, as ${told.json.id}`)
    creation.made = true
    const item = this.made(creation, told.json.id, '201')
    this.saw(item, { revision: 0, gone: false }, told)
    if (told.json.stamp !== creation.body.stamp) this.violated(`${item.id} was created with other content`)
    this.acknowledged++
  }

  /** Somebody was shown a thing. */
  saw(item: Item, before: Before, told: Told): number {
    const { stamp, size, text, mark } = told.json
    const revision = Number.parseInt(told.etag.slice(1), 36)
    const say = (what: string) => this.violated(`${item.id} at revision ${revision} ${what}`)
    if (before.gone) say('is there again after it was deleted')
    if (revision < before.revision) say(`went back from revision ${before.revision}`)
    if (text !== fill(stamp, size) || mark !== item.mark) say('is not whole')
    const writer = item.writers.get(revision)
    if (writer === undefined && !item.unsure.has(stamp)) say(`shows ${stamp}, which nobody wrote there`)
    else if (writer !== undefined && writer !== stamp) say(`shows ${stamp}, but ${writer} was written there`)
    item.unsure.delete(stamp)
    item.writers.set(revision, stamp)
    if (revision === item.revision && told.text !== item.text) say('has two texts')
    if (revision > item.revision) Object.assign(item, { revision, etag: told.etag, text: told.text })
    return revision
  }

  /** A 200 to a write; `over` is the revision that it named as its condition. */
  wrote(item: Item, before: Before, told: Told, { stamp, over }: { stamp: string; over: number | null }): void {
    if (told.json.stamp !== stamp) this.violated(`${item.id} answered ${stamp} with ${told.json.stamp}`)
    const revision = this.saw(item, before, told)
    if (revision <= before.revision)
      this.violated(`${item.id}: ${stamp} is acknowledged as the old revision ${revision}`)
    if (over !== null && revision !== over + 1)
      this.violated(`${item.id}: ${stamp} was to follow revision ${over} and became ${revision}: a lost update`)
    this.acknowledged++
  }

  /** A 410, or a 404, which no thing that was ever there may answer. */
  missing(item: Item, status: number): void {
    if (status !== 410) this.violated(`${item.id} answers ${status}`)
    else if (!item.mayGo) this.violated(`${item.id} is gone though nobody deleted it`)
    item.gone = true
  }

  /** Nobody writes any more: what is there now is all that came of the writes without an answer. */
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
