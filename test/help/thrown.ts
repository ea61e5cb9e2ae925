/** What an act throws, as text; nothing where it does not. */
export function thrown(act: () => unknown): string {
  try {
    act()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
