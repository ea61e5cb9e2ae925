/** List pages: the items of a list, page by page as they are needed. Part 4, pagination. */
import {
  alternativeParameters,
  embedParameters,
  fieldParameters,
  queryText,
  sortParameters,
  whereParameters,
} from '../lists/where-parameters.ts'
import { answerLinks } from './answer-links.ts'
import { ApiError } from './api-error.ts'
import type { ClientCallOptions, ItemList } from './client-types.ts'
import type { ApiAnswer, Exchange } from './exchange.ts'

export interface ListTerms {
  readonly where?: Readonly<Record<string, unknown>>
  readonly sort?: string
  readonly nulls?: string
  readonly customSort?: string
  readonly pageSize?: number
  readonly fields?: readonly string[]
  readonly embed?: readonly string[]
  readonly or?: Readonly<Record<string, unknown>>
  readonly search?: string
}

interface ItemPage {
  readonly data: readonly unknown[]
}

export function listPages(
  exchange: Exchange,
  path: string,
  terms: ListTerms = {},
  options?: ClientCallOptions,
): ItemList<unknown> {
  const pages = () => pagesOf(exchange, path, terms, options)
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { data } of pages()) yield* data
    },
  }
}

async function* pagesOf(
  exchange: Exchange,
  path: string,
  terms: ListTerms,
  options?: ClientCallOptions,
): AsyncGenerator<ItemPage> {
  const read = (query: string) => exchange.send({ method: 'GET', path, query }, exchange.begin(options))
  const { pageSize } = terms
  const parameters = listParameters(terms)
  const sized = pageSize === undefined ? [] : [['limit', String(pageSize)] as const]
  const queryFor = (cursor: string) => queryText([...parameters, ...sized, ['cursor', cursor]])
  let answer = await read(queryFor('')).catch((error: unknown) => {
    // A list without cursors is read by its own pages.
    if (error instanceof ApiError && error.errors.some(({ type }) => type === 'unsupported-pagination'))
      return read(queryText(parameters))
    throw error
  })
  for (;;) {
    yield answer.body
    const next = nextOf(answer, queryFor)
    if (next === null) return
    answer = await read(next)
  }
}

/** The parameters of a list, without those of its pages. */
export function listParameters({
  where = {},
  sort,
  nulls,
  customSort,
  fields,
  embed,
  or,
  search,
}: ListTerms): (readonly [name: string, value: string])[] {
  return [
    ...whereParameters(where),
    ...alternativeParameters(or),
    ...(search === undefined ? [] : [['search', search] as const]),
    ...fieldParameters(fields),
    ...embedParameters(embed),
    ...sortParameters(sort),
    ...(nulls === undefined ? [] : [['nulls', nulls] as const]),
    ...sortParameters(customSort).map(([name, value]) => [name === 'sort' ? 'custom_sort' : name, value] as const),
  ]
}

/** The query of the next page; null after the last one. Only the query of a link is followed, so that the key goes nowhere else. */
function nextOf({ headers, body }: ApiAnswer, queryFor: (cursor: string) => string): string | null {
  const links = answerLinks(headers)
  const url: string | undefined = links.get('next') ?? body._links?.next
  if (url !== undefined) return url.slice(url.indexOf('?'))
  if (links.has('self') || body._links !== undefined) return null
  const { pagination = {} } = body
  const cursor: unknown = pagination.nextCursor ?? pagination.next_cursor ?? null
  if (typeof cursor === 'string') return queryFor(cursor)
  if ((pagination.hasMore ?? pagination.has_more) === false) return null
  throw new ApiError(
    'unexpected-answer',
    'The list does not say where its next page is: it has no links, and its page information has other names. Set `list.links` of the service.',
    { status: 200, headers },
  )
}
