/** Conversion error: a change function that throws while it converts a document to another version. Part 9, versions. */
import type { Resource } from '../resources/resource.ts'

type FailedDocument = Readonly<Record<string, unknown>>

/** Names the document that could not be converted; the cause is only for the log. */
export class ConversionError extends Error {
  /** The current name of the resource. */
  readonly resource: string
  /** The id or key of the document; null where it has none yet. */
  readonly id: string | null
  /** The index of the document among those that were converted together. */
  readonly at: number

  /** Whether a stored document failed to convert to the newest version: then no version can show it. */
  readonly stored: boolean

  constructor(
    cause: unknown,
    { resource, id, at, stored }: Pick<ConversionError, 'resource' | 'id' | 'at' | 'stored'>,
  ) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const which = id === null ? `An item of ${resource}` : `${resource}/${id}`
    super(`${which} could not be converted to another version: ${reason}`, { cause })
    this.resource = resource
    this.id = id
    this.at = at
    this.stored = stored
  }
}

/** Finds a conversion error in a chain of causes. */
export function conversionErrorIn(error: unknown): ConversionError | null {
  if (error instanceof ConversionError) return error
  return error instanceof Error && error.cause !== undefined ? conversionErrorIn(error.cause) : null
}

/** Runs a conversion of one document and wraps whatever it throws in a `ConversionError`. */
export function runConversion<T>(
  resource: Resource,
  document: FailedDocument,
  at: number,
  make: () => T,
  stored = false,
): T {
  try {
    return make()
  } catch (cause) {
    const id = documentId(resource, document)
    throw new ConversionError(cause, { resource: resource.name, id: id == null ? null : String(id), at, stored })
  }
}

/** The id of a document, or else its key. */
export const documentId = ({ key }: Resource, document: FailedDocument): unknown =>
  document.id ?? (key && document[key])
