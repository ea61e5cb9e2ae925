/** Field selection: the fields that `fields` names, and documents cut to them. Part 4, list parameters. R233. */
import { shortName } from '../errors/pointer.ts'
import { invalidQuery, type Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import { partsOf } from '../fields/file-kind.ts'
import type { FieldSelection, FieldTree, ItemQuery } from '../flow/intent.ts'
import { nearestName } from '../formats/naming.ts'
import type { Resource } from '../resources/resource.ts'
import { embeddableNames, embedReader } from './embed-names.ts'
import { namedParameters, queryViolation } from './query-string.ts'

/** The names that `fields` can have: fields that are shown, and their parts with dots, also those of the items of lists. */
export const selectableFields = ({ members }: Pick<Resource, 'members'>): readonly string[] =>
  members.filter(({ writeOnly }) => !writeOnly).flatMap(({ name, field }) => pathsOf(name, field))

function pathsOf(path: string, own: Field): string[] {
  const { item } = own
  const inner = Object.entries(partsOf(own) ?? {}).flatMap(([name, field]) => pathsOf(`${path}.${name}`, field))
  return [path, ...inner, ...(item ? pathsOf(path, item).slice(1) : [])]
}

/** Makes the reader of the parameter, which adds mistakes to `faults`. */
export function fieldSelectionReader(resource: Resource) {
  const selectable = new Set(selectableFields(resource))
  return (text: string | undefined, faults: Violation[]): FieldSelection | null => {
    if (text === undefined) return null
    const names = [...new Set(text.split(','))].sort()
    const unknown = names.find((name) => !selectable.has(name))
    if (unknown === undefined) return { names, tree: treeOf(['id', ...names]) }
    const all = [...selectable].join(', ')
    const guess = nearestName(shortName(unknown), [...selectable])
    const meant = guess ? ` Did you mean ${guess}?` : ''
    faults.push(
      unknown === ''
        ? queryViolation('invalid-parameter-value', 'fields', `fields must be names, separated by commas: ${all}.`)
        : queryViolation(
            'unsupported-field',
            'fields',
            `\`${shortName(unknown)}\` is not a field of ${resource.name}.${meant} Fields: ${all}.`,
          ),
    )
    return null
  }
}

/** Makes the reader of the query of an item. */
export function itemQueryReader(
  resource: Resource,
  resources: ReadonlyMap<string, Resource>,
): (target: string) => ItemQuery | null {
  const { settings } = resource
  const isOn = settings.list.fields
  const embeddable = embeddableNames(resource, resources)
  const [readFields, readEmbed] = [fieldSelectionReader(resource), embedReader(embeddable)]
  const accepted = [...(isOn ? ['fields'] : []), ...(embeddable.length > 0 ? ['embed'] : [])]
  return (target) => {
    if (!target.includes('?')) return null
    const { values, faults } = namedParameters(target, accepted, settings)
    const fields = isOn ? readFields(values.get('fields'), faults) : null
    const embed = readEmbed(values.get('embed'), faults)
    if (faults.length > 0) throw invalidQuery(faults)
    return { fields, embed }
  }
}

function treeOf(paths: readonly string[]): FieldTree {
  const tops = new Set(paths.map((path) => path.split('.', 1)[0] as string))
  return new Map(
    [...tops].map((top) => {
      const below = paths.filter((path) => path.startsWith(`${top}.`)).map((path) => path.slice(top.length + 1))
      return [top, paths.includes(top) ? null : treeOf(below)]
    }),
  )
}
