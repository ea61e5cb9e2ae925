/** The page information that stands beside `data`. Part 4, pagination. */
import type { Query } from '../flow/intent.ts'
import type { Page } from '../flow/outcome.ts'
import type { Resource } from '../resources/resource.ts'

/** The whole text of a list. R52, R75. */
export function pageText({ settings }: Resource, { window }: Query, page: Page): string {
  const { field } = settings.list.pagination
  const pages =
    page.total === null ? {} : { totalPages: Math.ceil(page.total / window.limit), totalRecords: page.total }
  const information = { currentPage: 1, pageSize: window.limit, ...pages, hasMore: page.more }
  return `{"data":[${page.data}],${JSON.stringify(field)}:${JSON.stringify(information)}}`
}
