/** A version must refuse operations and parameters that only other versions describe. Part 13; part 9. */
import { documentOf } from './described.ts'
import type { Door } from './door.ts'
import { type Operation, operationsOf } from './operations.ts'
import type { Doc } from './schemas.ts'

interface Verdict {
  readonly complaints: readonly string[]
  /** The number of requests that use operations or parameters of other versions. */
  readonly asked: number
}

const all = (document: Doc): Operation[] => operationsOf(document, documentOf(document))
const queried = ({ parameters }: Operation): string[] =>
  parameters.filter((one) => one.in === 'query').map(({ name }) => name)

/** Sends requests to a version for the operations and parameters that only the documents of other versions have. */
export async function elsewhere(own: Doc, others: readonly Doc[], send: Door['send']): Promise<Verdict> {
  const mine = new Map(all(own).map((one) => [`${one.method} ${one.path}`, one]))
  const complaints: string[] = []
  const seen = new Set<string>()
  const refused = async (method: string, path: string, fits: (status: number, type: unknown) => boolean) => {
    const about = `${method.toUpperCase()} ${path}`
    if (seen.has(about)) return
    seen.add(about)
    const { status, json } = await send(method.toUpperCase(), path)
    if (!fits(status, json?.type)) complaints.push(`${about} is not described here, and was answered ${status}`)
  }
  for (const one of others.flatMap(all)) {
    const { method, path } = one
    const here = mine.get(`${method} ${path}`)
    const filled = path.replace(/\{[^}]*\}/g, 'x')
    if (!here) await refused(method, filled, (status, type) => status === 405 || type === 'route-not-found')
    else if (method === 'get' && !path.includes('{'))
      for (const name of queried(one).filter((each) => !queried(here).includes(each)))
        await refused(method, `${path}?${new URLSearchParams({ [name]: '1' })}`, (status) => status === 400)
  }
  return { complaints, asked: seen.size }
}
