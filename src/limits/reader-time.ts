/** Reader time: how long the reader of a stream may take, which grows with what it is sent. */
import type { StreamTarget } from '../flow/reply.ts'
import { type World, within } from '../flow/world.ts'

/** Sends a piece, and returns whether the reader has taken it in the time that it has left: at first `grace` milliseconds. */
export function makeReaderTime(
  target: StreamTarget,
  world: World,
  { grace, pace }: { readonly grace: number; readonly pace: number },
): (piece: Parameters<StreamTarget['write']>[0]) => Promise<boolean> {
  let left = grace
  return async (piece) => {
    target.write(piece)
    left += piece.length / pace
    const since = world.monotonic()
    const inTime = await within(
      { after: world.inBackground }, // the process need not wait for a reader in itself
      left,
      target.ready().then(() => true),
      () => false,
    )
    left -= world.monotonic() - since
    return inTime
  }
}
