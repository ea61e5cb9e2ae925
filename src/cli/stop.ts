/** Ends a server in order: by the first signal with patience, by the second at once, by an unforeseen failure with a line in the log. */

export interface Witness {
  /** Writes down what ends the process. */
  readonly fatal: (about: object, message: string) => void
  /** Settles when all lines are out, or when nobody reads them. */
  readonly written: () => Promise<void>
}

/** Waits for SIGTERM or SIGINT, closes, and gives the exit code. */
export function untilSignal(witness: Witness, close: () => Promise<void>): Promise<number> {
  return new Promise((ended) => {
    const die = async (error: unknown, origin: string): Promise<void> => {
      witness.fatal({ err: error, origin }, 'The process ends because of a failure that nothing handled.')
      await witness.written()
      process.exit(1)
    }
    process.on('uncaughtException', die) // rejections that nobody handles come here too
    const once = (): void => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, once).on(signal, () => process.exit(1))
      close().then(
        () => ended(0),
        (error) => die(error, 'stop'),
      )
    }
    process.on('SIGTERM', once).on('SIGINT', once)
  })
}
