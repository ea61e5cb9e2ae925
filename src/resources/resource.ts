/** Resource: a declared resource, prepared for requests. Part 2, resources and their fields. */
import { addViolation } from '../errors/pointer.ts'
import type { Violation } from '../errors/problem.ts'
import type { Field } from '../fields/field.ts'
import { fieldKind, type ValueRules } from '../fields/kind.ts'
import { type Summary, summariesOf } from '../fields/summary.ts'
import { absentValue, type ValueCheck, valueCheckOf } from '../fields/value-check.ts'
import { chosenIdCheck, type IdCheck, typeIdCheck } from '../formats/id.ts'
import { sentenceCase, singularOf, toCase } from '../formats/naming.ts'
import type { Collection } from '../rows/collection.ts'
import { readSettings, type Settings } from '../settings.ts'
import {
  type Access,
  type DeclarationContext,
  type Operation,
  operations,
  parentDeclarationOf,
  parentFieldName,
  type ResourceDeclaration,
  resolveConcepts,
} from './declaration.ts'
import { type Machine, machineOf, type OwnOperation, ownOperationsOf } from './machine.ts'
import { collectionSegments } from './own-operations.ts'
import { pairDeclarationOf, relatedResources, relationsOf } from './references.ts'
import { collectionOf } from './resource-collection.ts'

/** A field of a resource, declared or added by the service. */
export interface Member {
  readonly name: string
  readonly field: Field
  readonly check: ValueCheck
  /** The value of a new item that leaves the field out; undefined if it is required. */
  readonly absent: unknown
  /** The source of the value: the body of the caller, the URL of the item, or the service. */
  readonly from: 'caller' | 'address' | 'service'
  readonly immutable: boolean
  /** Stored and never answered. */
  readonly writeOnly: boolean
  /** The scope that a caller needs to see it; null if every caller sees it. */
  readonly read: string | null
  /** The scopes that a caller needs to write it, `read` included, as writing could reveal the old value. R169. */
  readonly write: readonly string[]
}

export interface Resource {
  readonly name: string
  readonly singular: string
  /** The singular in words, for the beginning of messages. */
  readonly title: string
  readonly settings: Settings
  readonly rules: ValueRules
  readonly prefix: string | null
  readonly parent: {
    readonly resource: string
    readonly field: string
    readonly onDelete: 'restrict' | 'cascade'
    /** The states of the parent that allow writes of children; null if all do. */
    readonly while: readonly string[] | null
  } | null
  readonly key: string | null
  /** Its states and transitions; null if it has none. */
  readonly machine: Machine | null
  /** All fields in the order of the document. */
  readonly members: readonly Member[]
  readonly byName: ReadonlyMap<string, Member>
  /** The document of a new item whose body is empty. */
  readonly blank: Readonly<Record<string, unknown>>
  /** Whether some fields need a scope to be seen. */
  readonly hasScopedFields: boolean
  /** Whether answers may embed other resources in its items. */
  readonly carriesEmbedded: boolean
  /** Whether pairs of its items have fields, which answers may add. */
  readonly isPaired: boolean
  readonly isId: IdCheck
  readonly methods: readonly Operation[]
  /** The operations that it declares besides its methods. */
  readonly operations: readonly OwnOperation[]
  /** The summaries of its list. */
  readonly summaries: readonly Summary[]
  /** Whether its list can be exported. */
  readonly exports: boolean
  /** Whether its items can be imported. */
  readonly imports: boolean
  readonly access: Access
  readonly declaration: ResourceDeclaration
  readonly collection: Collection
  /** The names of the times that the service sets. */
  readonly created: string
  readonly updated: string
}

/** The field at a dotted path. */
export function fieldByPath(byName: Resource['byName'], path: string): Field | undefined {
  const [top = '', ...rest] = path.split('.')
  return rest.reduce((field, name) => field?.fields?.[name], byName.get(top)?.field)
}

export const defaultPrefix = (name: string, { singular: given }: ResourceDeclaration): string =>
  (given ?? singularOf(name)).replaceAll('-', '_')

/** The fields of a resource: in order, by name, and as the document of an item with an empty body. */
export const memberTable = (members: readonly Member[]): Pick<Resource, 'members' | 'byName' | 'blank'> => ({
  members,
  byName: new Map(members.map((member) => [member.name, member])),
  blank: Object.fromEntries(members.map(({ name, absent }) => [name, absent ?? null])),
})

export function makeResource(name: string, declaration: ResourceDeclaration, context: DeclarationContext): Resource {
  const settings = readSettings(declaration.settings, context.settings, true, () => {})
  const own = declaration.singular ?? singularOf(name)
  const prefix = declaration.key === undefined ? (declaration.prefix ?? defaultPrefix(name, declaration)) : null
  const parent = parentDeclarationOf(declaration)
  const link = parent && {
    resource: parent.resource,
    field: parentFieldName(parent.resource, context.resources[parent.resource], context.settings),
    onDelete: parent.onDelete ?? ('restrict' as const),
    while: parent.while ?? null,
  }
  const rules: ValueRules = { settings, isId: idChecks(context), kinds: context.kinds }
  const key = declaration.key ?? null
  const members = membersOf({ declaration, context, rules, key, parentField: link?.field })
  const table = memberTable(members)
  const { byName } = table
  const base = {
    name,
    singular: own,
    title: declaration.title ?? sentenceCase(own),
    settings,
    rules,
    ...{ prefix, parent: link ?? null, key },
    ...table,
    isId: idCheckOf(name, context),
  }
  return Object.freeze({
    ...base,
    machine: machineOf(declaration, context, rules),
    hasScopedFields: members.some(({ read }) => read !== null),
    ...{ methods: declaration.methods ?? operations, operations: ownOperationsOf(declaration, context, rules) },
    summaries: summariesOf(declaration.summaries, (path) => fieldByPath(byName, path), settings.naming),
    ...{ access: declaration.access, exports: declaration.exports === true, imports: declaration.imports === true },
    ...{ carriesEmbedded: carriesEmbedded(name, context), isPaired: isPaired(name, context) },
    ...{ declaration, collection: collectionOf(base, declaration, context) },
    ...{ created: toCase('created-at', settings.naming), updated: toCase('updated-at', settings.naming) },
  })
}

/** Whether the resource declares `embed`, or another resource that embeds its items declares a nested name. */
function carriesEmbedded(name: string, context: DeclarationContext): boolean {
  if (context.resources[name]?.embed !== undefined) return true
  const deep = Object.entries(context.resources).flatMap(([one, { embed }]) =>
    (embed === true ? [] : (embed ?? [])).filter((path) => path.includes('.')).map((path) => [one, path] as const),
  )
  if (deep.length === 0) return false
  const all = relatedResources(context)
  return deep.some(([one, path]) =>
    relationsOf(one, all, context.settings.naming).some(
      (relation) => relation.resource === name && path.startsWith(`${relation.name}.`),
    ),
  )
}

/** Whether pairs of its items have fields. */
const isPaired = (name: string, { resources }: DeclarationContext): boolean =>
  Object.values(resources).some((one) => {
    const pair = pairDeclarationOf(one)
    return pair?.fields !== undefined && pair.between.includes(name)
  })

/** The id checks of all resources, each created on first use, as resources may refer to each other. */
function idChecks(context: DeclarationContext): ValueRules['isId'] {
  const checks = new Map<string, IdCheck>()
  return (name, text) => {
    const check = checks.get(name) ?? idCheckOf(name, context)
    checks.set(name, check)
    return check(text)
  }
}

/** Whether a text has the form of an id or a key of the resource. R9. */
function idCheckOf(name: string, context: DeclarationContext): IdCheck {
  const declaration = context.resources[name]
  if (!declaration) return () => false
  const settings = readSettings(declaration.settings, context.settings, true, () => {})
  const prefix = declaration.prefix ?? defaultPrefix(name, declaration)
  if (declaration.key === undefined)
    return settings.resource.id === 'typeid' ? typeIdCheck(prefix) : chosenIdCheck(prefix)
  const declared = declaration.fields[declaration.key]
  if (!declared) return () => false
  const field = boundedKeyField(resolveConcepts(declared, context.concepts))
  const taken = collectionSegments(declaration)
  const check = keyCheck(valueCheckOf(field, { settings, isId: idChecks(context), kinds: context.kinds }), taken)
  return (text) => {
    const faults: Violation[] = []
    const value = text.includes('\0') ? undefined : check(keyValue(field, context, text), '', faults)
    return faults.length === 0 && String(value) === text
  }
}

/** A key is a part of the URL, whose length is limited. R9. */
function boundedKeyField(field: Field): Field {
  return field.kind === 'text' ? { ...field, options: { max: 255, ...field.options } } : field
}

/** Refuses keys that cannot be a segment of a URL: the empty text, `.` and `..`, and segments with another meaning. R8. */
function keyCheck(check: ValueCheck, taken: readonly string[] = []): ValueCheck {
  return (value, at, faults) => {
    const key = check(value, at, faults)
    if (taken.includes(String(key)))
      return addViolation(
        faults,
        at,
        'invalid-value',
        `is a part of the address; it cannot be ${key}, which has another meaning there.`,
      )
    const lost = key === '' || key === '.' || key === '..'
    return lost
      ? addViolation(faults, at, 'invalid-value', 'is a part of the address; it cannot be empty, "." or "..".')
      : key
  }
}

/** The value of a key from the text in the URL. */
export const keyValue = ({ kind }: Field, { kinds }: Pick<ValueRules, 'kinds'>, text: string): unknown =>
  fieldKind(kind, kinds).parse?.[0](text) ?? text

interface MemberSources {
  readonly declaration: ResourceDeclaration
  readonly context: DeclarationContext
  readonly rules: ValueRules
  readonly key: string | null
  readonly parentField: string | undefined
}

function membersOf({ declaration, context, rules, key, parentField }: MemberSources): Member[] {
  const memberOf = (name: string, field: Field, from: Member['from'], check = valueCheckOf(field, rules)): Member => ({
    name,
    field,
    check,
    absent: absentValue(field, rules, check),
    from,
    immutable: field.options.immutable === true,
    writeOnly: field.options.writeOnly === true,
    read: field.options.read ?? null,
    write: [...new Set([field.options.read ?? [], field.options.write ?? []].flat())],
  })
  const naming = context.settings.naming
  const text: Field = { kind: 'text', options: {} }
  const time: Field = { kind: 'timestamp', options: { filter: 'range', sort: true } }
  const declared = Object.entries(declaration.fields).map(([name, ownField]) => {
    const field = resolveConcepts(ownField, context.concepts)
    if (name !== key) return memberOf(name, field, field.options.readOnly ? 'service' : 'caller')
    const check = keyCheck(valueCheckOf(boundedKeyField(field), rules), collectionSegments(declaration))
    return memberOf(name, boundedKeyField(field), 'address', check)
  })
  return [
    memberOf('id', { ...text, options: { filter: true } }, 'address'),
    ...(parentField ? [memberOf(parentField, { ...text, options: { filter: true, immutable: true } }, 'address')] : []),
    ...declared,
    memberOf(toCase('created-at', naming), time, 'service'),
    memberOf(toCase('updated-at', naming), time, 'service'),
  ]
}
