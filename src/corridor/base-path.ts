/** Base path: the path that a service lives below; later phases see targets without it. Part 1. */
import { Problem } from '../errors/problem.ts'
import type { Service } from '../service.ts'
import { check } from './phase.ts'

type PlacedService = Pick<Service, 'settings' | 'documents'>

/**
 * A target without the base path; null if it is outside of it. Documents of other standards have paths of their own, and
 * targets that are no paths (`*`) concern the service itself.
 */
export function targetBelow(target: string, { settings, documents }: PlacedService): string | null {
  const { basePath } = settings.server
  if (basePath === '' || !target.startsWith('/')) return target
  const end = target.indexOf('?')
  const path = end < 0 ? target : target.slice(0, end)
  if (documents.has(path)) return target
  if (path === basePath) return `/${target.slice(path.length)}`
  return path.startsWith(`${basePath}/`) ? target.slice(basePath.length) : null
}

export const outsideProblem = ({ settings }: PlacedService): Problem =>
  new Problem(
    'route-not-found',
    `There is no such path: all paths of this service begin with ${settings.server.basePath}.`,
  )

export const basePathPhase = check({
  name: 'base-path',
  pass: (way) => {
    const { service } = way.context
    if (service.settings.server.basePath === '') return
    const target = targetBelow(way.call.target, service)
    if (target === null) throw outsideProblem(service)
    way.call = { ...way.call, target }
  },
})
