/** Epoch: which version the rows of a table are of, as it is remembered in the database. Pure. The cellar. */
import { type Collection, epochOf } from '../resources/collection.ts'
import type { TableLayout } from './remembered.ts'

const numberOf = (epoch: string): number => Number(epoch.slice(1)) // of the first version, whose epoch has no name, 0

export const isLater = (one: string, other: string): boolean => numberOf(one) > numberOf(other)

const newest = (all: readonly string[]): string => all.reduce((last, one) => (isLater(one, last) ? one : last), '')

type Own = Pick<Collection, 'epochs' | 'shape'>
type Was = Pick<TableLayout, 'shapes' | 'since'>

/**
 * The version that the rows of a shape are of. Rows never become older, so a shape whose declaration left the version out, and
 * did not name it, is of that version too: what converts rows of the first version would destroy its values.
 */
export function epochAt({ epochs, shape: own }: Own, { shapes, since = '' }: Was, shape: number): string {
  const found = newest([since, ...shapes.slice(0, shape).map(epochOf)])
  const isOwn = epochs?.reshapes === true && shapes[shape - 1] === structureOf(own)
  return found === '' && isOwn ? epochOf(own) : found
}

/** Whether the changes of versions say what becomes of the rows of before. */
export const isConverted = (one: Own, was: Was & Pick<TableLayout, 'shape'>): boolean =>
  one.epochs !== undefined && isLater(epochOf(one.shape), epochAt(one, was, was.shape))

const structureOf = (shape: string): string => shape.replace(/^v\d+ /, '')

/** The name of the structure that is written from now on, and the version of its rows where the name does not say it. */
export function dated(
  one: Own & Pick<Collection, 'versions'>,
  was: (Was & Pick<TableLayout, 'shape'>) | undefined,
): { readonly name: string; readonly since?: string } {
  const { epochs, shape, versions = [] } = one
  const [oldest = 'v1'] = versions
  const own = epochOf(shape)
  const first = epochs || oldest === 'v1' ? '' : oldest // without changes all versions that are declared are alike
  const epoch = newest([own, first, was ? epochAt(one, was, was.shape) : ''])
  const isNamed = own !== '' || (was !== undefined && epochOf(was.shapes[was.shape - 1] as string) !== '')
  const since = isNamed ? was?.since : epoch
  return { name: isNamed ? `${epoch} ${structureOf(shape)}` : shape, ...(since ? { since } : {}) }
}
