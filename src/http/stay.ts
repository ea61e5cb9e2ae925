/** Stay: what a request holds until its answer has left, not only until it is made. Part 8, overload. */
import type { Call } from '../flow/call.ts'
import type { Reply } from '../flow/reply.ts'
import { nothing } from '../limits/crowd.ts'
import { type Room, type Space, small } from '../limits/room.ts'

/** What a request was let in with. */
export interface Pass {
  /** Its place among all requests, and among those of its caller. */
  leave: () => void
  finish: () => void
  readonly room: Room
  /** The memory of its answer. */
  space: Space | null
}

export function giveBack({ space, finish, leave }: Pass): void {
  space?.leave()
  finish()
  leave()
}

/** Waits until there is room for an answer of about so many bytes; where there is room now, nobody waits. */
export function room({ call, pass }: Waiter, bytes: () => number): Promise<void> | null {
  const space = pass.room.enter(bytes, call.gone)
  const take = (own: Space): void => {
    pass.space = own
  }
  if (space instanceof Promise) return space.then(take)
  take(space)
  return null
}

interface Waiter {
  readonly call: Call
  readonly pass: Pass
}

/** An answer that is there already, once there is room to send it. */
export async function withRoom(call: Call, reply: Reply, pass: Pass): Promise<Reply> {
  const bytes = reply.body?.length ?? 0
  if (bytes > small && call.method !== 'HEAD') await room({ call, pass }, () => bytes)
  return reply
}

/** The answer with what its request holds, for the door to give back. Most answers hold nothing. */
export function staying({ method }: Call, reply: Reply, pass: Pass): Reply {
  const { leave, finish, space } = pass
  const bytes = method === 'HEAD' ? 0 : (reply.body?.length ?? 0)
  if (bytes <= small) space?.leave()
  if (bytes <= small && leave === nothing && finish === nothing) return reply
  if (bytes > small) pass.space ??= pass.room.hold(bytes)
  const own = pass.space
  own?.set(bytes > small ? bytes : 0)
  let left = false
  reply.stay = {
    set: (rest) => own?.set(rest),
    leave: () => {
      if (left) return
      left = true
      giveBack(pass)
    },
  }
  return reply
}
