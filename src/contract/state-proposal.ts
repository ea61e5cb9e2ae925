/** State proposal: the parts of a proposed change that concern states, transitions and timers. Part 9, versioning. */
import type { FieldTerms } from '../fields/kind.ts'
import { oldValuesByNew, type ValueMap } from '../resources/old-values.ts'
import { fieldCode, valueCode } from './code.ts'
import { isSameValue, type ResourceContract } from './contract.ts'
import type { Difference } from './difference.ts'
import type { StateContract, TimedContract, TransitionContract } from './state-contract.ts'

interface ContractPair {
  readonly before: ResourceContract
  readonly after: ResourceContract
  readonly found: readonly Difference[]
}

/** Lines of a change, their descriptions, and the fields without a placeholder. */
export interface ProposedLines {
  readonly lines: readonly string[]
  readonly says: readonly string[]
  readonly lacking: readonly string[]
}

/** Values of the state in both versions, as the proposed change maps them. */
interface MappedStates {
  readonly mapped: Readonly<Record<string, ValueMap>>
  readonly shown: Readonly<Record<string, ValueMap>>
}

type ProposeFields = (inputs: ContractPair) => ProposedLines
/** The source code of members by name; undefined leaves one out. */
type Code = Readonly<Record<string, string | undefined>>

/** `proposeFields` proposes the changes of inputs. */
export function proposeStates(pair: ContractPair, values: MappedStates, proposeFields: ProposeFields): ProposedLines {
  const { before, found } = pair
  const isFound = (place: string) => found.some((one) => one.place.endsWith(place))
  const allowed = (['change', 'remove'] as const).filter((key) => isFound(`.states.writable.${key}`))
  const writable = allowed.map((key) => [key, valueCode(before.states?.writable[key] ?? null)] as const)
  const below = isFound('.parent.while') ? valueCode(before.while ?? null) : undefined
  const { code, lacking, says } = transitionsCode(pair, values, proposeFields)
  const parts = { transitions: code, writable: objectCode(Object.fromEntries(writable)), while: below }
  return {
    lines: Object.entries(parts).flatMap(([name, text]) => (text === undefined ? [] : [`  ${name}: ${text},`])),
    says: [...says, ...(writable.length > 0 || below ? ['fewer states allow writes'] : [])],
    lacking,
  }
}

/** An object without the members that are left out; undefined if none is left. */
function objectCode(members: Code): string | undefined {
  const given = Object.entries(members).filter(([, text]) => text !== undefined)
  const named = given.map(([name, text]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : valueCode(name)}: ${text}`)
  return named.length === 0 ? undefined : `{ ${named.join(', ')} }`
}

interface TransitionsCode extends Omit<ProposedLines, 'lines'> {
  readonly code: string | undefined
}

function transitionsCode(pair: ContractPair, values: MappedStates, proposeFields: ProposeFields): TransitionsCode {
  const [was, is] = [pair.before.states, pair.after.states]
  if (!is) return { code: undefined, says: [], lacking: [] }
  if (!was) return { code: objectCode({ written: writtenCode(pair.before, is) }), says: [], lacking: [] }
  const shown = inFormerWords(is, pair.after, values)
  const renamed = renamedTransition(was, shown)
  const [formerName] = Object.keys(renamed)
  const lost = Object.entries(was.transitions).filter(([name]) => !is.transitions[name] && name !== formerName)
  const stopped = Object.entries(was.timed).filter(([name]) => !is.timed[name])
  const started = Object.keys(is.timed).filter((name) => !was.timed[name])
  const withdrawn = {
    ...Object.fromEntries(lost.map(([name, one]) => [name, withdrawnCode(name, one, pair.before, shown)])),
    ...Object.fromEntries(stopped.map(([name, one]) => [name, valueCode(one)])),
  }
  const again = Object.keys(withdrawn).filter((name) => is.transitions[name])
  const { changed, lacking } = changedCode(pair, shown, proposeFields)
  const added = [...new Set([...started, ...again])]
  const code = objectCode({
    added: added.length > 0 ? valueCode(added) : undefined,
    renamed: formerName === undefined ? undefined : valueCode(renamed),
    withdrawn: objectCode(withdrawn),
    changed: objectCode(changed),
  })
  const named = (does: string, names: readonly string[]) =>
    names.length > 0 ? [`${names.map((name) => `\`${name}\``).join(', ')} ${does}`] : []
  const says = [
    ...Object.entries(renamed).map(([old, now]) => `\`${old}\` is called \`${now}\``),
    ...named('withdrawn', Object.keys(withdrawn)),
    ...named('added', started),
    ...named(
      'changed',
      Object.keys(changed).filter((name) => changed[name] !== undefined),
    ),
  ]
  return { code, says, lacking }
}

/** For a field that clients wrote: the transitions without required input that lead to its values. */
function writtenCode({ fields }: ResourceContract, { field, transitions }: StateContract): string | undefined {
  const found = (fields[field]?.values ?? []).flatMap((value) => {
    const [name] = Object.entries(transitions).find(([, one]) => one.to === value && !needsInput(one)) ?? []
    return name === undefined ? [] : [[value, valueCode(name)]]
  })
  return objectCode(Object.fromEntries(found))
}

const needsInput = ({ input }: TransitionContract): boolean => Object.values(input).some(({ required }) => required)

/** The states of the newest version, each with the name that it had before. */
function inFormerWords(
  is: StateContract,
  { fields }: ResourceContract,
  { mapped, shown }: MappedStates,
): StateContract {
  const { field } = is
  const down = oldValuesByNew(fields[field]?.values ?? [], mapped[field] ?? {}, shown[field] ?? {})
  const old = (name: string) => down.get(name) ?? name
  const named = <T extends TimedContract | TransitionContract>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(
      Object.entries(all).map(([name, one]): [string, T] => [
        name,
        { ...one, from: [...new Set(one.from.map(old))].toSorted(), to: old(one.to) },
      ]),
    )
  return { ...is, transitions: named(is.transitions), timed: named(is.timed) }
}

/** A guess, if exactly one transition went and exactly one like it came. */
function renamedTransition(was: StateContract, is: StateContract): Record<string, string> {
  const [lost, ...others] = Object.entries(was.transitions).filter(([name]) => !is.transitions[name])
  const come = Object.entries(is.transitions).filter(([name]) => !was.transitions[name])
  const alike = come.filter(([, one]) => JSON.stringify(one) === JSON.stringify(lost?.[1]))
  return lost && others.length === 0 && alike.length === 1 ? { [lost[0]]: (alike[0] as (typeof alike)[0])[0] } : {}
}

/** A withdrawn transition: carried out as one that does the same from the same states, or else refused. */
function withdrawnCode(
  name: string,
  { from, to, input }: TransitionContract,
  { paths }: ResourceContract,
  { transitions }: StateContract,
): string | undefined {
  const [path, methods] = Object.entries(paths).find(([one]) => one.endsWith(`/${name}`)) ?? []
  const access = methods?.POST
  const usual = paths[path?.slice(0, -name.length - 1) ?? '']?.PATCH
  const [by] =
    Object.entries(transitions).find(
      ([, one]) => one.to === to && from.every((state) => one.from.includes(state)) && !needsInput(one),
    ) ?? []
  const inputs = Object.entries(input).map(([one, terms]) => [one, fieldCode(terms)])
  return objectCode({
    from: valueCode(from),
    to: valueCode(to),
    access: access === undefined || access === usual ? undefined : valueCode(access),
    input: objectCode(Object.fromEntries(inputs)),
    ...(by === undefined ? { refused: '410' } : { by: valueCode(by) }),
  })
}

/** The former terms of transitions that both versions have. */
function changedCode(
  { before, after, found }: ContractPair,
  shown: StateContract,
  proposeFields: ProposeFields,
): { readonly changed: Code; readonly lacking: readonly string[] } {
  const was = before.states as StateContract
  const lacking: string[] = []
  const called = Object.entries(was.transitions).map(([name, had]) => {
    const has = shown.transitions[name]
    if (!has) return [name, undefined]
    const place = `.states.transitions.${name}`
    const isNarrower = !had.from.every((state) => has.from.includes(state))
    const sent = found.flatMap((one) => {
      const [, input] = one.place.split(`${place}.input.`)
      return input === undefined ? [] : [{ ...one, place: `resources.x.fields.${input}` }]
    })
    const own = ({ states: _, ...rest }: ResourceContract, fields: Readonly<Record<string, FieldTerms>>) => ({
      ...rest,
      ...{ fields, operations: [], while: undefined as never },
    })
    const inputs = proposeFields({ before: own(before, had.input), after: own(after, has.input), found: sent })
    lacking.push(...(sent.length > 0 ? inputs.lacking : []))
    return [
      name,
      objectCode({
        from: isNarrower ? valueCode(had.from) : undefined,
        input:
          sent.length > 0 ? `{ ${inputs.lines.map((one) => one.trim().replace(/,$/, '')).join(', ')} }` : undefined,
      }),
    ]
  })
  const timed = Object.entries(was.timed).map(([name, had]) => {
    const has = shown.timed[name]
    const { from, to: _, ...when } = had
    const isFound = found.some(({ place }) => place.endsWith(`.states.transitions.${name}`))
    if (!has || !isFound || isSameValue(had, has)) return [name, undefined]
    return [name, valueCode({ ...(from.join() !== has.from.join() && { from }), ...when })]
  })
  return { changed: Object.fromEntries([...called, ...timed]), lacking }
}
