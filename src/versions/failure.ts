/** Failure: a change that throws while it converts a document to another version. Part 9, versions. */
import type { Resource } from '../resources/resource.ts'

type Document = Readonly<Record<string, unknown>>

/** Says which document could not be converted; the cause is for the log alone. */
export class ConversionError extends Error {
  /** The resource, under the name that it has today. */
  readonly resource: string
  /** The id or key of the document; null where it has none yet. */
  readonly id: string | null
  /** The index of the document among those that were converted together. */
  readonly at: number

  constructor(cause: unknown, { resource, id, at }: Pick<ConversionError, 'resource' | 'id' | 'at'>) {
    super(`An item of ${resource} could not be converted to another version.`, { cause })
    this.resource = resource
    this.id = id
    this.at = at
  }
}

/** Runs a conversion of one document; whatever it throws is a failure of that document. */
export function converting<T>(resource: Resource, document: Document, at: number, make: () => T): T {
  try {
    return make()
  } catch (cause) {
    const id = idIn(resource, document)
    throw new ConversionError(cause, { resource: resource.name, id: id == null ? null : String(id), at })
  }
}

/** The id of a document, or the value of the key in its place. */
export const idIn = ({ key }: Resource, document: Document): unknown => document.id ?? (key && document[key])
