/** Failure: a change that throws while it converts a document to another version. Part 9, versions. */
import type { Resource } from '../resources/resource.ts'

type FailedDocument = Readonly<Record<string, unknown>>

/** Says which document could not be converted; the cause is for the log alone. */
export class ConversionError extends Error {
  /** The resource, under the name that it has today. */
  readonly resource: string
  /** The id or key of the document; null where it has none yet. */
  readonly id: string | null
  /** The index of the document among those that were converted together. */
  readonly at: number

  /** Whether it was to be raised to the newest version, so that no version can show it. */
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

/** The failed conversion that an error is, or was caused by. */
export function conversionErrorIn(error: unknown): ConversionError | null {
  if (error instanceof ConversionError) return error
  return error instanceof Error && error.cause !== undefined ? conversionErrorIn(error.cause) : null
}

/** Runs a conversion of one document; whatever it throws is a failure of that document. */
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

/** The id of a document, or the value of the key in its place. */
export const documentId = ({ key }: Resource, document: FailedDocument): unknown =>
  document.id ?? (key && document[key])
