/** Stored version: the version of the rows of a table, as the database remembers it. Pure. The store. */
import { type Collection, storedVersionOf } from '../rows/collection.ts'
import type { TableLayout } from './stored-layout.ts'

const versionNumber = (storedVersion: string): number => Number(storedVersion.slice(1)) // 0 for the first version, whose name is empty

export const isLaterVersion = (one: string, other: string): boolean => versionNumber(one) > versionNumber(other)

const newestVersion = (all: readonly string[]): string =>
  all.reduce((last, one) => (isLaterVersion(one, last) ? one : last), '')

type VersionedCollection = Pick<Collection, 'conversions' | 'shape'>
type RememberedShapes = Pick<TableLayout, 'shapes' | 'since'>

/**
 * The version of the rows of a shape. It never decreases: a shape without a version in its name has the version of earlier
 * shapes. If it counted as the first version, its rows would be converted again, which would destroy values.
 */
export function storedVersionAt(
  { conversions, shape: own }: VersionedCollection,
  { shapes, since = '' }: RememberedShapes,
  shape: number,
): string {
  const version = newestVersion([since, ...shapes.slice(0, shape).map(storedVersionOf)])
  const isOwn = conversions?.reshapes === true && shapes[shape - 1] === structureOf(own)
  return version === '' && isOwn ? storedVersionOf(own) : version
}

/** Whether version changes convert the stored rows, as the declared version is later than theirs. */
export const isConverted = (one: VersionedCollection, was: RememberedShapes & Pick<TableLayout, 'shape'>): boolean =>
  one.conversions !== undefined && isLaterVersion(storedVersionOf(one.shape), storedVersionAt(one, was, was.shape))

const structureOf = (shape: string): string => shape.replace(/^v\d+ /, '')

/** The name of the structure that is written from now on, and the version of its rows if the name does not contain it. */
export function nameStructure(
  one: VersionedCollection & Pick<Collection, 'versions'>,
  was: (RememberedShapes & Pick<TableLayout, 'shape'>) | undefined,
): { readonly name: string; readonly since?: string } {
  const { conversions, shape, versions = [] } = one
  const [oldest = 'v1'] = versions
  const own = storedVersionOf(shape)
  const first = conversions || oldest === 'v1' ? '' : oldest // without changes, all declared versions are alike
  const storedVersion = newestVersion([own, first, was ? storedVersionAt(one, was, was.shape) : ''])
  const isNamed = own !== '' || (was !== undefined && storedVersionOf(was.shapes[was.shape - 1] as string) !== '')
  const since = isNamed ? was?.since : storedVersion
  return { name: isNamed ? `${storedVersion} ${structureOf(shape)}` : shape, ...(since ? { since } : {}) }
}
