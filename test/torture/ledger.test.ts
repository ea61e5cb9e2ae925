/** The ledger of the torture test finds each kind of violation, and accepts every allowed result. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { HttpAnswer } from './ask.ts'
import { type Creation, fill, type Item, Ledger } from './ledger.ts'

const id = 'thg_1'
const creation = (): Creation => ({
  key: 'k',
  body: { mark: 'k', stamp: 's1', size: 3, text: fill('s1', 3) },
  id: null,
  made: false,
  checked: false,
})

function answer(revision: number, stamp: string, more: object = {}): HttpAnswer {
  const json = { id, mark: 'k', stamp, size: 3, text: fill(stamp, 3), ...more }
  return { status: 200, etag: `"${revision.toString(36)}-1-abcdef"`, retryAfter: 0, text: JSON.stringify(json), json }
}

/** The violations after some events, in a ledger where a thing was created. */
function story(tell: (ledger: Ledger, item: Item) => void): readonly string[] {
  const ledger = new Ledger()
  const one = creation()
  ledger.created(one, { ...answer(1, 's1'), status: 201 }, false)
  const item = ledger.items.get(id) ?? assert.fail()
  tell(ledger, item)
  ledger.settled(item)
  return ledger.violations
}

const now = ({ revision, gone }: Item) => ({ revision, gone })
function write(ledger: Ledger, item: Item, revision: number, stamp: string, over: number | null = null): void {
  item.unsure.add(stamp)
  ledger.wrote(item, now(item), answer(revision, stamp), { stamp, over })
}

describe('no fault', () => {
  const stories: Record<string, (ledger: Ledger, item: Item) => void> = {
    'writes in turn': (ledger, item) => [2, 3].map((n) => write(ledger, item, n, `w${n}`, n - 1)),
    'a write without an answer that was done': (ledger, item) => {
      item.unsure.add('lost')
      ledger.saw(item, now(item), answer(2, 'lost'))
    },
    'a write without an answer below another': (ledger, item) => {
      item.unsure.add('lost')
      write(ledger, item, 3, 'w3')
    },
    'answers that overtake each other': (ledger, item) => {
      const before = now(item)
      write(ledger, item, 3, 'w3')
      item.unsure.add('w2')
      ledger.wrote(item, before, answer(2, 'w2'), { stamp: 'w2', over: 1 })
    },
    'a deletion': (ledger, item) => {
      item.mayGo = true
      ledger.missing(item, 410)
    },
  }
  for (const [name, tell] of Object.entries(stories)) test(name, () => assert.deepEqual(story(tell), []))
})

describe('a fault', () => {
  const stories: Record<string, (ledger: Ledger, item: Item) => void> = {
    'a revision that goes back': (ledger, item) => {
      write(ledger, item, 2, 'w2')
      ledger.saw(item, now(item), answer(1, 's1'))
    },
    'another content at an acknowledged revision': (ledger, item) => {
      item.unsure.add('w2')
      ledger.saw(item, now(item), answer(1, 'w2'))
    },
    'two writers of one revision': (ledger, item) => {
      const before = now(item)
      write(ledger, item, 2, 'w2')
      item.unsure.add('w3')
      ledger.wrote(item, before, answer(2, 'w3'), { stamp: 'w3', over: null })
    },
    'a lost update': (ledger, item) => {
      write(ledger, item, 2, 'w2')
      write(ledger, item, 3, 'w3', 1)
    },
    'a write that nobody sent': (ledger, item) => ledger.saw(item, now(item), answer(2, 'w2')),
    'more revisions than writes': (ledger, item) => write(ledger, item, 3, 'w3'),
    'a torn content': (ledger, item) => ledger.saw(item, now(item), answer(1, 's1', { text: 's1' })),
    'two texts of one revision': (ledger, item) => ledger.saw(item, now(item), { ...answer(1, 's1'), text: '{}' }),
    'an acknowledgement of an old revision': (ledger, item) => write(ledger, item, 1, 's1'),
    'a thing that is lost': (ledger, item) => ledger.missing(item, 404),
    'a thing that is gone by itself': (ledger, item) => ledger.missing(item, 410),
    'a thing that comes back': (ledger, item) => ledger.saw(item, { revision: 1, gone: true }, answer(1, 's1')),
    'a key that makes two': (ledger) => ledger.made({ ...creation(), id: 'thg_0' }, id, '409'),
    'a key that makes one twice': (ledger) => ledger.created({ ...creation(), id, made: true }, answer(1, 's1'), false),
    'a 201 to a repeat': (ledger) => ledger.created({ ...creation(), id }, answer(1, 's1'), true),
    'a thing of two keys': (ledger) =>
      ledger.made({ ...creation(), body: { ...creation().body, mark: 'other' } }, id, '409'),
  }
  for (const [name, tell] of Object.entries(stories)) test(name, () => assert.equal(story(tell).length > 0, true))
})
