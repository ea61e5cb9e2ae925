/** Lists by parameters in the content, for those that are too long for a URL: QUERY. Part 4, list parameters; RFC 10008. */
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { Asked } from '../flow/intent.ts'
import type { Route } from '../flow/route.ts'
import type { Scene } from './item.ts'
import { list } from './list.ts'

export const queryType = 'application/x-www-form-urlencoded'

/** The list of GET, asked for by a call whose content stands where the query string would. R15. */
export function search(scene: Scene): Route {
  const route = list(scene)
  const asGet = ({ call, body }: Asked): Call => ({ ...call, target: `${call.target}?${body?.form ?? ''}` })
  return {
    ...route,
    content: [queryType],
    query: (call) => {
      admitPlace(call)
      return null
    },
    parse: (asked) => {
      const call = asGet(asked)
      return route.parse({ ...asked, call, query: route.query(call, asked.world) })
    },
  }
}

/** Parameters stand in the content and nowhere else. */
function admitPlace({ target }: Call): void {
  if (target.includes('?'))
    throw new Problem('invalid-query', 'QUERY takes its parameters from the content; leave out those in the URL.')
}
