/** Service fields: fields that a declaration implies: those of states, and derived ones that callers cannot write. Part 2. */
import type { Field, Fields } from '../fields/field.ts'
import { completeDerivedField } from './derived-fields.ts'
import { type StatesDeclaration, stateNames } from './states.ts'

/** The field of the state: an enum that only transitions write. */
export const stateField = (states: StatesDeclaration): Field => ({
  kind: 'enum',
  values: stateNames(states),
  options: { readOnly: true, default: states.initial, filter: true, sort: true },
})

interface DeclaredResource {
  readonly fields: Fields
  readonly states?: StatesDeclaration
}

type Resources<T> = { readonly [name: string]: T }

/** Resources with the fields of their states, and with derived fields that callers cannot write. */
export const withServiceFields = <T extends DeclaredResource>(resources: Resources<T>): Resources<T> =>
  Object.fromEntries(
    Object.entries(resources).map(([name, one]) => {
      const added = one.states ? { [one.states.field]: stateField(one.states) } : {}
      const isDerived = Object.values(one.fields).some(({ options }) => options.derived !== undefined)
      if (!one.states && !isDerived) return [name, one]
      const own = Object.entries(one.fields).map(([field, given]) => [field, completeDerivedField(given)])
      return [name, { ...one, fields: { ...Object.fromEntries(own), ...added } }]
    }),
  )

/** Resources as they were declared, without the fields of their states. */
export const withoutStateFields = <T extends DeclaredResource>(resources: Resources<T>): Resources<T> =>
  Object.fromEntries(
    Object.entries(resources).map(([name, one]) => {
      const { [one.states?.field ?? '']: _, ...fields } = one.fields
      return [name, one.states ? { ...one, fields } : one]
    }),
  )
