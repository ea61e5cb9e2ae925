/** Claim: the change of a version that would claim breaking differences, ready to be pasted. Part 9, versioning. */
import { filler } from '../check/plain.ts'
import type { ResourceContract } from './contract.ts'
import type { Difference } from './difference.ts'
import type { Terms } from './terms.ts'
import { code, fieldCode } from './written.ts'

/** A resource whose consumers meet something else, and where that is published. */
export interface Unclaimed {
  readonly resource: string
  readonly version: string
  readonly before: ResourceContract
  readonly after: ResourceContract
  readonly found: readonly Difference[]
  /** The names that fields had, by those they have, as far as the declaration says it. */
  readonly former: Readonly<Record<string, string>>
}

interface Sorted {
  readonly renamed: Record<string, string>
  readonly removed: Record<string, Terms>
  readonly added: Record<string, Terms>
  readonly retyped: Record<string, Terms>
  readonly required: Record<string, Terms>
  /** Enums of which only the values are others: the old values that went, and the new ones that came. */
  readonly mapped: Record<string, Record<string, string>>
  readonly shown: Record<string, Record<string, string>>
  readonly withdrawn: readonly string[]
}

/** The text of the change; nothing where a change cannot claim any of it. */
export function claim(unclaimed: Unclaimed): string | undefined {
  const { resource, version, after } = unclaimed
  const parts = sortedOut(unclaimed)
  const lines = [
    ...object('renamed', parts.renamed, code),
    ...object('removed', parts.removed, fieldCode),
    ...(Object.keys(parts.added).length > 0 ? [`  added: ${code(Object.keys(parts.added))},`] : []),
    ...object('retyped', parts.retyped, fieldCode),
    ...object('required', parts.required, (terms) => code(filler({ ...terms, nullable: false as never }))),
    ...object('mapped', parts.mapped, code),
    ...object('shown', parts.shown, code),
    ...(parts.withdrawn.length > 0 ? [`  methods: { withdrawn: ${code(parts.withdrawn)} },`] : []),
  ]
  if (lines.length === 0) return undefined
  const retyped = Object.keys(parts.retyped).map((name) => [name, after.fields[name] as Terms] as const)
  const sent = [...Object.entries(parts.added), ...retyped].filter(([, terms]) => !terms.readOnly && terms.required)
  const answered = [...Object.entries(parts.removed), ...Object.entries(parts.retyped)].filter(
    ([, { writeOnly }]) => !writeOnly,
  )
  const request = values(sent, 'old', { ...parts.removed, ...parts.retyped })
  const response = values(answered, 'now', { ...parts.added, ...Object.fromEntries(retyped) })
  return [
    `.change('${version}', '${resource}', {`,
    `  about: '${told(parts)}',`,
    ...lines,
    ...(request ? [`  request: (old) => (${request}),`] : []),
    ...(response ? [`  response: (now) => (${response}),`] : []),
    '})',
  ].join('\n')
}

function sortedOut({ before, after, found, former }: Unclaimed): Sorted {
  const top = ({ place }: Difference) => /\.fields\.([^.[]+)/.exec(place)?.[1]
  const named = (what: Difference['what'], whole = true) =>
    found
      .filter((one) => one.what === what && (!whole || one.place.split('.').length === 4))
      .flatMap((one) => top(one) ?? [])
  const gone = new Set(named('field-removed'))
  const come = new Set(Object.keys(after.fields).filter((name) => !Object.hasOwn(before.fields, name)))
  const renamed = renames(before, after, gone, come, former)
  for (const [old, now] of Object.entries(renamed)) {
    gone.delete(old)
    come.delete(now)
  }
  const touched = new Set(found.filter(({ weight }) => weight === 'breaking').flatMap((one) => top(one) ?? []))
  const kept = [...touched].filter((name) => Object.hasOwn(before.fields, name) && Object.hasOwn(after.fields, name))
  const both = (name: string) => [before.fields[name], after.fields[name]] as [Terms, Terms]
  const required = kept.filter((name) => onlyRequired(...both(name)))
  const enums = kept.filter((name) => onlyValues(...both(name)))
  const went = (name: string, [one, other]: readonly [Terms, Terms]) => {
    const gone = (one.values ?? []).filter((value) => !other.values?.includes(value))
    return gone.length > 0
      ? [[name, Object.fromEntries(gone.map((value) => [value, other.values?.[0] as string]))] as const]
      : []
  }
  const pick = (names: Iterable<string>, { fields }: ResourceContract) =>
    Object.fromEntries([...names].map((name) => [name, fields[name] as Terms]))
  return {
    renamed,
    removed: pick(gone, before),
    added: pick(come, after),
    retyped: pick(
      kept.filter((name) => !required.includes(name) && !enums.includes(name)),
      before,
    ),
    required: pick(required, after),
    mapped: Object.fromEntries(enums.flatMap((name) => went(name, both(name)))),
    shown: Object.fromEntries(enums.flatMap((name) => went(name, both(name).reverse() as [Terms, Terms]))),
    withdrawn: before.operations.filter((name) => !after.operations.includes(name)),
  }
}

/** By what the declaration says, and where one field went and one of its kind came. */
function renames(
  before: ResourceContract,
  after: ResourceContract,
  gone: ReadonlySet<string>,
  come: ReadonlySet<string>,
  former: Unclaimed['former'],
): Record<string, string> {
  const said = [...come]
    .filter((name) => gone.has(former[name] ?? ''))
    .map((name) => [former[name] as string, name] as const)
  const [old, ...others] = [...gone].filter((name) => !said.some(([one]) => one === name))
  const alike = [...come].filter((name) => old !== undefined && after.fields[name]?.kind === before.fields[old]?.kind)
  const guessed =
    old !== undefined && others.length === 0 && alike.length === 1 ? [[old, alike[0] as string] as const] : []
  return Object.fromEntries([...said, ...guessed])
}

/** Whether nothing is different but that the field has to be sent, and has a value. */
function onlyRequired(before: Terms, after: Terms): boolean {
  const rest = ({ required, nullable, default: usual, ...others }: Terms) => JSON.stringify(others)
  return before.nullable === true && after.required === true && rest(before) === rest(after)
}

/** Whether an enum has other values and is otherwise as it was; some are in both, which the others can be shown as. */
function onlyValues(before: Terms, after: Terms): boolean {
  const rest = ({ values, ...others }: Terms) => JSON.stringify(others)
  return before.kind === 'enum' && after.kind === 'enum' && rest(before) === rest(after)
}

function object<T>(name: string, members: Readonly<Record<string, T>>, write: (one: T) => string): string[] {
  const all = Object.entries(members).map(([own, one]) => `${own}: ${write(one)}`)
  return all.length === 0 ? [] : [`  ${name}: { ${all.join(', ')} },`]
}

type Named = readonly (readonly [string, Terms])[]

/** An object of values, each from the field of its name or of its kind, cut to what is allowed where that is simple. */
function values(wanted: Named, from: 'old' | 'now', given: Readonly<Record<string, Terms>>): string | undefined {
  const written = wanted.map(([name, terms]) => {
    const source =
      given[name]?.kind === terms.kind ? name : Object.keys(given).find((one) => given[one]?.kind === terms.kind)
    return `${name}: ${source === undefined ? code(filler(terms)) : cut(`${from}.${source}`, terms, given[source] as Terms)}`
  })
  return written.length === 0 ? undefined : `{ ${written.join(', ')} }`
}

function cut(source: string, wanted: Terms, given: Terms): string {
  const { kind, min, max, nullable, ...rest } = wanted
  if (kind === 'object' && !given.nullable) return whole(source, wanted, given)
  const text = kind === 'text' || kind === 'email' || kind === 'url'
  const value =
    given.nullable && !nullable ? `(${source} ?? ${code(filler({ ...rest, kind, min, max } as Terms))})` : source
  if (kind === 'enum') return code(filler({ ...rest, kind } as Terms))
  if (text && Number(max) < Number(given.max)) return `${value}.slice(0, ${max})`
  if (kind !== 'integer') return value
  const least = Number(min) > Number(given.min) ? `Math.max(${min}, ${value})` : value
  return Number(max) < Number(given.max) ? `Math.min(${max}, ${least})` : least
}

/** An object with all its fields, those that are there under the same name and kind. */
function whole(source: string, { fields = {} }: Terms, { fields: there = {} }: Terms): string {
  const members = Object.entries(fields).map(([name, terms]) => {
    const own = there[name]
    return `${name}: ${own?.kind === terms.kind ? cut(`${source}.${name}`, terms, own) : code(filler(terms))}`
  })
  return `{ ${members.join(', ')} }`
}

function told({ renamed, removed, added, retyped, required, mapped, shown, withdrawn }: Sorted): string {
  const names = (all: object) =>
    Object.keys(all)
      .map((name) => `\`${name}\``)
      .join(', ')
  const parts = [
    ...Object.entries(renamed).map(([old, now]) => `\`${old}\` is called \`${now}\``),
    ...(names(removed) ? [`${names(removed)} went`] : []),
    ...(names(added) ? [`${names(added)} came`] : []),
    ...(names({ ...mapped, ...shown }) ? [`${names({ ...mapped, ...shown })} has other values`] : []),
    ...(names(retyped) ? [`${names(retyped)} changed`] : []),
    ...(names(required) ? [`${names(required)} must be sent`] : []),
    ...(withdrawn.length > 0 ? [`${withdrawn.join(', ')} went`] : []),
  ]
  return `${parts.join('; ')}.`
}
