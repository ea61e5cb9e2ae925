/** Personal notes: the notes and warnings of `bylaw check` about personal fields. Part 2, fields. */
import { listInWords } from '../formats/naming.ts'
import { rowAlternatives } from '../resources/declaration.ts'
import type { Resource } from '../resources/resource.ts'
import { isSameJson, personalNames } from '../rows/collection.ts'
import type { Service } from '../service.ts'
import { erasedWith } from './erase-item.ts'

const mostNamed = 8

/** The personal fields, and the items that an erasure leaves although they refer to the erased one. */
export function personalNotes({ resources }: Pick<Service, 'resources'>): string[] {
  const named = [...resources].flatMap(([name, { collection }]) => {
    const all = personalNames(collection.fields)
    return all.length === 0 ? [] : [[name, all] as const]
  })
  if (named.length === 0) return []
  const fields = named.flatMap(([name, all]) => all.map((one) => `${name}.${one}`))
  const names =
    fields.length > mostNamed ? [...fields.slice(0, mostNamed), `${fields.length - mostNamed} more`] : fields
  const apart = named.flatMap(([name]) => {
    const own = resources.get(name)?.collection.dependents ?? []
    const erased = erasedWith({ resources }, name)
    const left = named.flatMap(([one]) =>
      own.some(({ collection }) => collection === one) && !erased.has(one) ? [one] : [],
    )
    return left.length === 0
      ? []
      : [
          `Personal fields of ${listInWords(left, 'and')} stay when an item of ${name} is erased that they refer to; erase those items too.`,
        ]
  })
  return [`Personal, and emptied by \`bylaw erase\`: ${listInWords(names, 'and')}.`, ...apart]
}

/** Warns of rules that allow more callers to read an item once it is erased. */
export const personalWarnings = (resources: Iterable<Resource>): string[] =>
  [...resources].flatMap(({ name, access, collection: { fields } }) => {
    const empty = new Map(fields.flatMap((one) => (one.personal ? [[one.name, one.absent] as const] : [])))
    return (rowAlternatives(access, 'read') ?? []).flatMap((one) => {
      const own = 'where' in one ? Object.entries(one.where).filter(([field]) => empty.has(field)) : []
      if (own.length === 0 || own.some(([field, value]) => !isSameJson(value, empty.get(field)))) return []
      const all = listInWords(
        own.map(([field, value]) => `${field} is ${JSON.stringify(value)}`),
        'and',
      )
      return [
        `An erasure leaves items of ${name} where ${all}, and a rule lets all known callers read those. Let the rule name a field that is not personal too, or leave \`personal\` out.`,
      ]
    })
  })
