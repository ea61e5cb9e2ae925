/** Merge patch between: the JSON Merge Patch (RFC 7396) that leads from one document to another. Pure. R237. */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../fields/value-check.ts'

export type JsonObject = { readonly [name: string]: unknown }

/** A member that is null or missing in the new document is null in the patch. */
export const mergePatchBetween = (from: JsonObject, to: JsonObject): JsonObject =>
  Object.fromEntries(
    [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((name) => {
      const [was, is] = [from[name], to[name]]
      if (isDeepStrictEqual(was, is)) return []
      return [[name, isObject(was) && isObject(is) ? mergePatchBetween(was, is) : (is ?? null)]]
    }),
  )
