/** Derived misfit: the refusal of a write after which a derived value would not fit its field. Part 7, errors. */
import { Problem, type Violation } from './problem.ts'

interface DerivedPlace {
  readonly collection: string
  readonly field: string
  /** The title and the id of the row, unless it is the row that is written. */
  readonly row: { readonly title: string; readonly id: string } | null
}

/** The message does not contain the value, which the caller may not be allowed to read. R225. */
export class DerivedMisfit extends Problem {
  readonly place: DerivedPlace
  readonly fault: Violation

  constructor(place: DerivedPlace, fault: Violation) {
    const { field, row } = place
    const rule = fault.message.replace(/^\S+ /, '')
    if (row) super('conflict', `${field} of ${row.title} ${row.id} ${rule} It follows from other items.`)
    else {
      const message = `${field} ${rule} It follows from other fields.`
      const violation = { message, type: 'out-of-range', in: 'body', pointer: `/${field}` } as const
      super('validation-failed', '1 field is invalid.', { violations: [violation] })
    }
    this.place = place
    this.fault = fault
  }

  /** A copy with other names, or for another row. */
  with(place: Partial<DerivedPlace>): DerivedMisfit {
    return new DerivedMisfit({ ...this.place, ...place }, this.fault)
  }
}
