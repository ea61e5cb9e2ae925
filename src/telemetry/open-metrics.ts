/** OpenMetrics: the text that scrapers read, in version 1.0.0 of the format. Part 8. */
import type { Labels, MetricFamily } from './metrics.ts'

export const metricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

export function openMetricsText(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, type, unit, help, samples }) => [
    `# TYPE ${name} ${type}`,
    ...(unit ? [`# UNIT ${name} ${unit}`] : []),
    `# HELP ${name} ${escaped(help)}`,
    ...samples.map(({ suffix, labels, value }) => `${name}${suffix}${labelText(labels)} ${value}`),
  ])
  return `${lines.join('\n')}\n# EOF\n`
}

/** Families of several processes in one: each sample gets the label `worker`. */
export function joinedFamilies(workers: ReadonlyMap<string, readonly MetricFamily[]>): readonly MetricFamily[] {
  const joined = new Map<string, MetricFamily>()
  for (const [worker, families] of workers)
    for (const family of families) {
      const samples = family.samples.map((one) => ({ ...one, labels: { ...one.labels, worker } }))
      const existing = joined.get(family.name)
      joined.set(family.name, { ...family, samples: [...(existing?.samples ?? []), ...samples] })
    }
  return [...joined.values()]
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
