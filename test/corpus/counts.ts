/** Counts the requests of a corpus by service, database, door, version, status and kind. */
import type { Session } from './exchange.ts'

export function countsOf(sessions: readonly Session[]): string {
  const tables: Record<string, Map<string, number>> = {}
  const add = (table: string, name: string): void => {
    const own = tables[table] ?? new Map<string, number>()
    tables[table] = own
    own.set(name, (own.get(name) ?? 0) + 1)
  }
  for (const { setting, exchanges } of sessions)
    for (const { request, answer, kind } of exchanges) {
      add('services', setting.service)
      add('databases', setting.store)
      add('doors', setting.door)
      add('status', String(answer.status))
      add('kinds', kind.replace(/^described, .*/, 'described'))
      add('methods', request.raw === undefined ? request.method : 'bytes')
      const [, header = ''] = request.headers.find(([name]) => name.toLowerCase() === 'version') ?? []
      const version = /^\/(v\d+)\//.exec(request.target)?.[1] ?? header
      if (version !== '') add('versions', `${setting.service} ${version}`)
    }
  const shown = Object.entries(tables).map(([table, counts]) => {
    const lines = [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([name, count]) => `${String(count).padStart(7)}  ${name}`)
    return `${table}\n${lines.join('\n')}`
  })
  return shown.join('\n\n')
}
