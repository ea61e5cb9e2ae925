/** Metrics: counters and histograms of bounded label sets, and the families that a scrape reads. Part 8. */

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  /** The text after the name of the family. */
  readonly suffix: '' | '_total' | '_bucket' | '_count' | '_sum'
  readonly labels: Labels
  readonly value: number
}

/** All samples of one name. */
export interface MetricFamily {
  /** Ends with its unit, if it has one; without `_total`. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly unit?: 'seconds' | 'bytes'
  readonly help: string
  readonly samples: readonly Sample[]
}

/** The labels of each value, in the order in which values are given. */
interface FamilyLabels {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

/** Counts events by their labels. */
export class Counter {
  readonly #about: FamilyLabels
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>()

  constructor(about: FamilyLabels) {
    this.#about = about
  }

  add(...values: readonly string[]): void {
    const key = values.join('\0')
    const existing = this.#values.get(key)
    if (existing) existing.value++
    else this.#values.set(key, { labels: labelsOf(this.#about, values), value: 1 })
  }

  family(): MetricFamily {
    const { name, help } = this.#about
    const samples = [...this.#values.values()].map((one) => ({ suffix: '_total' as const, ...one }))
    return { name, type: 'counter', help, samples }
  }
}

/** Upper bounds of durations, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Distribution {
  readonly labels: Labels
  /** How many are in each bucket and in no smaller one; the last bucket has no bound. */
  readonly buckets: number[]
  sum: number
}

/** Durations by their labels. */
export class Histogram {
  readonly #about: FamilyLabels
  readonly #values = new Map<string, Distribution>()
  /** Another reader of each duration. */
  forward: ((seconds: number, labels: Labels) => void) | null = null

  constructor(about: FamilyLabels) {
    this.#about = about
  }

  get name(): string {
    return this.#about.name
  }

  get help(): string {
    return this.#about.help
  }

  observe(milliseconds: number, ...values: readonly string[]): void {
    const seconds = milliseconds / 1000
    const key = values.join('\0')
    const own = this.#values.get(key) ?? this.#add(key, values)
    let at = 0
    while (at < bounds.length && seconds > (bounds[at] as number)) at++
    own.buckets[at] = (own.buckets[at] as number) + 1
    own.sum += seconds
    this.forward?.(seconds, own.labels)
  }

  #add(key: string, values: readonly string[]): Distribution {
    const series = { labels: labelsOf(this.#about, values), buckets: [...bounds, 0].map(() => 0), sum: 0 }
    this.#values.set(key, series)
    return series
  }

  family(): MetricFamily {
    const samples = [...this.#values.values()].flatMap(({ labels, buckets, sum }): Sample[] => {
      let count = 0
      const counted = buckets.map((own, i): Sample => {
        count += own
        return { suffix: '_bucket', labels: { ...labels, le: boundText(bounds[i]) }, value: count }
      })
      return [...counted, { suffix: '_count', labels, value: count }, { suffix: '_sum', labels, value: sum }]
    })
    return { name: this.name, type: 'histogram', unit: 'seconds', help: this.help, samples }
  }
}

/** A bound as OpenMetrics writes it: always as a decimal number. */
const boundText = (bound: number | undefined): string =>
  bound === undefined ? '+Inf' : Number.isInteger(bound) ? `${bound}.0` : String(bound)

const labelsOf = ({ labels }: FamilyLabels, values: readonly string[]): Labels =>
  Object.fromEntries(labels.map((name, i) => [name, values[i] ?? '']))

/** A family of one value without labels. */
export const singleValue = (
  about: Omit<MetricFamily, 'samples' | 'type'> & { readonly type: 'counter' | 'gauge' },
  value: number,
): MetricFamily => ({ ...about, samples: [{ suffix: about.type === 'counter' ? '_total' : '', labels: {}, value }] })
