/** Undescribed: the parts of a declaration that have no description. Part 13. */
import type { Fields } from '../fields/field.ts'
import { stateNames } from '../resources/states.ts'
import type { Declaration } from '../service.ts'

interface DescribedPart {
  readonly description?: string
}

/** Paths of the service (an empty one), its errors, resources, fields, states, transitions and operations, in their order. */
export function undescribed(declaration: Declaration): readonly string[] {
  const { resources, errors = {} } = declaration
  const own = declaration.description === undefined ? ['the service'] : []
  const parts = Object.entries(resources).flatMap(([name, resource]) => {
    const { states, operations = {}, fields } = resource
    const all = states ? stateNames(states).map((state) => [state, { description: states.descriptions?.[state] }]) : []
    return [
      ...without('', { [name]: resource }),
      ...ofFields(`${name}.`, fields),
      ...without(`${name}.`, Object.fromEntries(all)),
      ...without(`${name}.`, { ...states?.transitions, ...operations }),
    ]
  })
  return [...own, ...parts, ...without('', errors)]
}

const without = (before: string, parts: { readonly [name: string]: DescribedPart }): string[] =>
  Object.entries(parts).flatMap(([name, { description }]) => (description === undefined ? [before + name] : []))

const ofFields = (before: string, fields: Fields): string[] =>
  Object.entries(fields).flatMap(([name, { options, fields: inner = {} }]) => [
    ...(options.description === undefined ? [before + name] : []),
    ...ofFields(`${before}${name}.`, inner),
  ])
