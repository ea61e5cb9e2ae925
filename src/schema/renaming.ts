/** Renaming: suggests the line of a declaration that keeps the values of a renamed field. Pure. The store. */
import type { Collection } from '../rows/collection.ts'
import { fieldSources } from '../sql/field-sources.ts'
import type { TableLayout } from '../sql/layout.ts'

type FieldShape = Collection['fields'][number]

const maxOffered = 3

/** Lines to paste: one for each new field of the same kind, or one with a name to choose. */
export function renamingLines(
  { collection: { fields }, was }: { readonly collection: Pick<Collection, 'fields'>; readonly was: TableLayout },
  path: string,
): [label: string, text: string][] {
  const at = path.lastIndexOf('.') + 1
  const [outer, old] = [path.slice(0, at), path.slice(at)]
  if (old === '*') return []
  const kind = was.kinds[path] as string
  const fresh = fieldSources(fields, was.kinds).filter((one) => one.from === null && one.kind === kind)
  const isInSameObject = (own: string) => own.startsWith(outer) && !/[.@]/.test(own.slice(outer.length))
  const candidates = fresh.filter(({ path: own }) => isInSameObject(own))
  const named = candidates.slice(0, maxOffered).map(({ path: own }): [string, string] => {
    const name = own.slice(outer.length)
    return [`If ${name} is its new name`, fieldLine(name, kind, old, fieldAt(fields, own))]
  })
  return named.length > 0 ? named : [['If it has a new name', fieldLine('newName', kind, old, undefined)]]
}

function fieldAt(fields: readonly FieldShape[], path: string): FieldShape | undefined {
  const [name, ...rest] = path.split('.')
  const own = fields.find((one) => one.name === name)
  return own && rest.length > 0 ? fieldAt(own.inner, rest.join('.')) : own
}

const fieldLine = (name: string, kind: string, was: string, field: FieldShape | undefined): string =>
  `${name}: ${fieldText(kind, field, `was: '${was}'`)}`

/** The declaration of a field, as far as the layout knows it. */
function fieldText(kind: string, field: FieldShape | undefined, option = ''): string {
  const [maker = '', target] = kind.split(' ')
  const inner = field?.inner.map((one) => [one.name, fieldText(one.kind, one)] as const) ?? []
  const members = inner.map(([name, text]) => `${name}: ${text}`).join(', ')
  const first: Readonly<Record<string, string>> = {
    ref: `'${target}'`,
    enum: '[…]',
    list: inner[0]?.[1] ?? '…',
    object: `{ ${members || '…'} }`,
  }
  const scale = maker === 'decimal' ? `scale: ${field?.digits?.[1] ?? '…'}` : ''
  const options = [scale, option].filter((one) => one !== '').join(', ')
  const parameters = [first[maker] ?? '', options === '' ? '' : `{ ${options} }`].filter((one) => one !== '')
  return `f.${maker}(${parameters.join(', ')})`
}
