/** Digest: a short number of a text, the same on every machine (FNV-1a). Part 2, identifiers. */

/** 32 bits, with a sign. */
export function digestOf(text: string): number {
  let digest = 0x811c9dc5
  for (let i = 0; i < text.length; i++) digest = Math.imul(digest ^ text.charCodeAt(i), 0x01000193)
  return digest
}
