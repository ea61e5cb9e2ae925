/** Renaming: the line of a declaration that keeps the values of a field under its new name. Pure. The cellar. */
import type { Collection } from '../resources/collection.ts'
import { sources } from '../store/kinds.ts'
import type { TableLayout } from '../store/layout.ts'

type Shaped = Collection['fields'][number]

const mostOffered = 3

/** Lines to paste: for each new field of the same kind, or for a name to be chosen. */
export function renamings(
  { collection: { fields }, was }: { readonly collection: Pick<Collection, 'fields'>; readonly was: TableLayout },
  path: string,
): [label: string, text: string][] {
  const at = path.lastIndexOf('.') + 1
  const [outer, old] = [path.slice(0, at), path.slice(at)]
  if (old === '*') return []
  const kind = was.kinds[path] as string
  const fresh = sources(fields, was.kinds).filter((one) => one.from === null && one.kind === kind)
  const isBeside = (own: string) => own.startsWith(outer) && !/[.@]/.test(own.slice(outer.length))
  const beside = fresh.filter(({ path: own }) => isBeside(own))
  const named = beside.slice(0, mostOffered).map(({ path: own }): [string, string] => {
    const name = own.slice(outer.length)
    return [`If ${name} is its new name`, line(name, kind, old, fieldAt(fields, own))]
  })
  return named.length > 0 ? named : [['If it has a new name', line('newName', kind, old, undefined)]]
}

function fieldAt(fields: readonly Shaped[], path: string): Shaped | undefined {
  const [name, ...rest] = path.split('.')
  const own = fields.find((one) => one.name === name)
  return own && rest.length > 0 ? fieldAt(own.inner, rest.join('.')) : own
}

const line = (name: string, kind: string, was: string, field: Shaped | undefined): string =>
  `${name}: ${made(kind, field, `was: '${was}'`)}`

/** A field as it is declared, as far as the tables know it. */
function made(kind: string, field: Shaped | undefined, option = ''): string {
  const [maker = '', target] = kind.split(' ')
  const inner = field?.inner.map((one) => [one.name, made(one.kind, one)] as const) ?? []
  const members = inner.map(([name, text]) => `${name}: ${text}`).join(', ')
  const first: Readonly<Record<string, string>> = {
    ref: `'${target}'`,
    enum: '[…]',
    list: inner[0]?.[1] ?? '…',
    object: `{ ${members || '…'} }`,
  }
  const scale = maker === 'decimal' ? `scale: ${field?.digits?.[1] ?? '…'}` : ''
  const options = [scale, option].filter((one) => one !== '').join(', ')
  const given = [first[maker] ?? '', options === '' ? '' : `{ ${options} }`].filter((one) => one !== '')
  return `f.${maker}(${given.join(', ')})`
}
