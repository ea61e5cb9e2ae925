/** Members: checks the names and the values of an object. Part 2, fields. */
import { addViolation, escapePointer } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import { nearestName } from '../formats/naming.ts'
import type { Settings } from '../settings.ts'

/**
 * Returns the value in canonical form. Adds mistakes to `faults`; then the result must not be used. A value that equals
 * the stored one (`seen`) is never refused: it may have been written under wider bounds, and sending it back changes
 * nothing.
 */
export type ValueCheck = (value: unknown, at: string, faults: Violation[], seen?: unknown) => unknown

/** The members that an object may have. */
interface AllowedMembers {
  readonly names: ReadonlyMap<string, unknown>
  readonly check: (name: string) => ValueCheck | undefined
}

/**
 * Checks the members of an object in the order of the document, and sets them in `checked`; unknown ones are refused or dropped.
 * R47, R154.
 */
export function checkMembers(
  value: Record<string, unknown>,
  at: string,
  faults: Violation[],
  allowed: AllowedMembers,
  settings: Settings,
  checked: Record<string, unknown>,
  seen: Record<string, unknown> = {},
): Record<string, unknown> {
  for (const name of Object.keys(value)) {
    const check = allowed.check(name)
    if (check) checked[name] = check(value[name], `${at}/${escapePointer(name)}`, faults, seen[name])
    else if (settings.body.unknownFields === 'reject')
      addViolation(
        faults,
        `${at}/${escapePointer(name)}`,
        'unknown-field',
        `is not a field here.${suggestMember(name, allowed, faults)}`,
      )
  }
  return checked
}

/** Suggests the nearest allowed name, but not for long names or after many mistakes, because the search is slow. */
function suggestMember(name: string, { names }: AllowedMembers, faults: readonly Violation[]): string {
  const meant = faults.length < 50 && name.length <= 40 ? nearestName(name, names.keys()) : undefined
  return meant === undefined ? '' : ` Did you mean ${meant}?`
}
