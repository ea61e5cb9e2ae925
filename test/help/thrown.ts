/** The message of the error that a function throws; empty if it throws none. */
export function thrown(act: () => unknown): string {
  try {
    act()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
