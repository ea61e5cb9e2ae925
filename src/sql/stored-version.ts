/** Epoch: which version the rows of a table are of, as it is remembered in the database. Pure. The cellar. */
import { type Collection, storedVersionOf } from '../rows/collection.ts'
import type { TableLayout } from './stored-layout.ts'

const versionNumber = (epoch: string): number => Number(epoch.slice(1)) // of the first version, whose epoch has no name, 0

export const isLaterVersion = (one: string, other: string): boolean => versionNumber(one) > versionNumber(other)

const newestVersion = (all: readonly string[]): string =>
  all.reduce((last, one) => (isLaterVersion(one, last) ? one : last), '')

type VersionedCollection = Pick<Collection, 'conversions' | 'shape'>
type RememberedShapes = Pick<TableLayout, 'shapes' | 'since'>

/**
 * The version that the rows of a shape are of. Rows never become older, so a shape whose declaration left the version out, and
 * did not name it, is of that version too: what converts rows of the first version would destroy its values.
 */
export function storedVersionAt(
  { conversions, shape: own }: VersionedCollection,
  { shapes, since = '' }: RememberedShapes,
  shape: number,
): string {
  const found = newestVersion([since, ...shapes.slice(0, shape).map(storedVersionOf)])
  const isOwn = conversions?.reshapes === true && shapes[shape - 1] === structureOf(own)
  return found === '' && isOwn ? storedVersionOf(own) : found
}

/** Whether the changes of versions say what becomes of the rows of before. */
export const isConverted = (one: VersionedCollection, was: RememberedShapes & Pick<TableLayout, 'shape'>): boolean =>
  one.conversions !== undefined && isLaterVersion(storedVersionOf(one.shape), storedVersionAt(one, was, was.shape))

const structureOf = (shape: string): string => shape.replace(/^v\d+ /, '')

/** The name of the structure that is written from now on, and the version of its rows where the name does not say it. */
export function nameStructure(
  one: VersionedCollection & Pick<Collection, 'versions'>,
  was: (RememberedShapes & Pick<TableLayout, 'shape'>) | undefined,
): { readonly name: string; readonly since?: string } {
  const { conversions, shape, versions = [] } = one
  const [oldest = 'v1'] = versions
  const own = storedVersionOf(shape)
  const first = conversions || oldest === 'v1' ? '' : oldest // without changes all versions that are declared are alike
  const epoch = newestVersion([own, first, was ? storedVersionAt(one, was, was.shape) : ''])
  const isNamed = own !== '' || (was !== undefined && storedVersionOf(was.shapes[was.shape - 1] as string) !== '')
  const since = isNamed ? was?.since : epoch
  return { name: isNamed ? `${epoch} ${structureOf(shape)}` : shape, ...(since ? { since } : {}) }
}
