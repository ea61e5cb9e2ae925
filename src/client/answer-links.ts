/** Links of an answer: the targets of its header `Link`. Part 4, links. */

/** The targets by relation. */
export const answerLinks = (headers: Headers): ReadonlyMap<string, string> =>
  new Map(
    [...(headers.get('link') ?? '').matchAll(/<([^>]*)>[^,<]*?;\s*rel="?([\w-]+)"?/g)].map(([, url = '', rel = '']) => [
      rel,
      url,
    ]),
  )
