/** Readers of events, and a check of the events that they have read. */
import assert from 'node:assert/strict'
import type { EventContent } from './audited.ts'
import type { Node } from './places.ts'

/** A reader that asks from where it left off. */
export function eventReader({ ask }: Node, limit: number) {
  let cursor = ''
  const seen: EventContent[] = []
  const read = async (): Promise<void> => {
    for (let more = true; more; ) {
      const { status, json } = await ask('GET', `/events?limit=${limit}&cursor=${cursor}`)
      assert.equal(status, 200, JSON.stringify(json))
      seen.push(...json.data)
      cursor = json.pagination.nextCursor
      more = json.pagination.hasMore
    }
  }
  return { seen, read }
}

/** Asserts that a reader has seen all acknowledged changes, each once, and those of each item in order. */
export function judgeEvents(seen: readonly EventContent[], acknowledged: ReadonlyMap<string, number>): void {
  const last = new Map<string, number>()
  for (const { data, sequence } of seen) {
    const id = String(data.id)
    assert.equal(sequence, (last.get(id) ?? 0) + 1, `${id} was read out of order`)
    assert.equal(data.value, sequence)
    last.set(id, sequence)
  }
  for (const [id, revision] of acknowledged)
    assert.ok((last.get(id) ?? 0) >= revision, `${id} ${revision} was not read, but ${last.get(id)}`)
}
