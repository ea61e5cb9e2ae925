/** Reader time: how long the reader of a stream may take, which grows with what it is sent. */
import type { StreamTarget } from '../flow/reply.ts'
import { type World, within } from '../flow/world.ts'

/** Makes a function that sends a piece, and returns whether the reader took it within its remaining time: `grace` milliseconds at first. */
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
      { after: world.inBackground }, // the timer must not keep the process from ending
      left,
      target.ready().then(() => true),
      () => false,
    )
    left -= world.monotonic() - since
    return inTime
  }
}
