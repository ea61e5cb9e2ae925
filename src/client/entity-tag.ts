/** Entity tag: where items keep their ETag: under a symbol, so that it collides with no field and is not sent back. Part 7. */

/**
 * The ETag of an item that the client has read or written. It survives `{ ...order }`, and `JSON.stringify` leaves it out.
 * @example const tag = order[entityTag]
 */
export const entityTag: unique symbol = Symbol.for('bylaw.etag')

/** An item, or an object made from one by spreading it. */
export interface TaggedItem {
  readonly id: string
  readonly [entityTag]: string | null
}

export const isTagged = (value: unknown): value is TaggedItem =>
  typeof value === 'object' && value !== null && entityTag in value

/** Weak tags cannot be conditions of a write. */
export function withTag<Item extends object>(item: Item, headers: Headers): Item {
  const tag = headers.get('etag')
  return Object.assign(item, { [entityTag]: tag === null || tag.startsWith('W/') ? null : tag })
}
