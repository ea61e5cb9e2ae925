/** The text of metrics, read by a strict reader; and the reader itself, on texts that break the format. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metricValue, readOpenMetrics } from '../../test/help/open-metrics.ts'
import { Counter, Histogram, singleValue } from './metrics.ts'
import { joinedFamilies, openMetricsText } from './open-metrics.ts'

test('counters, gauges and histograms are written as OpenMetrics requires', () => {
  const counter = new Counter({ name: 'refusals', help: 'A "help"\nof two lines \\', labels: ['type'] })
  counter.add('a"b\\c\nd')
  counter.add('a"b\\c\nd')
  const histogram = new Histogram({ name: 'duration_seconds', help: 'Durations.', labels: ['route'] })
  for (const time of [0.5, 1, 3000, 60_000]) histogram.observe(time, '/{id}')
  const memory = singleValue({ name: 'memory_bytes', type: 'gauge', unit: 'bytes', help: 'Memory.' }, -1.5)
  const read = readOpenMetrics(openMetricsText([counter.family(), histogram.family(), memory]))
  assert.equal(read.get('refusals')?.help, 'A "help"\nof two lines \\')
  assert.equal(metricValue(read, 'refusals_total', { type: 'a"b\\c\nd' }), 2)
  const at = (le: string): number => metricValue(read, 'duration_seconds_bucket', { route: '/{id}', le })
  assert.deepEqual([at('0.001'), at('1.0'), at('2.5'), at('5.0'), at('+Inf')], [2, 2, 2, 3, 4])
  assert.equal(metricValue(read, 'duration_seconds_sum'), 63.0015)
  assert.equal(metricValue(read, 'memory_bytes'), -1.5)
})

test('the metrics of workers are told apart by a label', () => {
  const families = (n: number) => {
    const histogram = new Histogram({ name: 'duration_seconds', help: 'Durations.', labels: [] })
    histogram.observe(n)
    return [histogram.family(), singleValue({ name: 'busy', type: 'gauge', help: 'Busy.' }, n)]
  }
  const read = readOpenMetrics(
    openMetricsText(
      joinedFamilies(
        new Map([
          ['1', families(1)],
          ['2', families(2)],
        ]),
      ),
    ),
  )
  assert.deepEqual([metricValue(read, 'busy', { worker: '1' }), metricValue(read, 'busy', { worker: '2' })], [1, 2])
  assert.equal(metricValue(read, 'duration_seconds_count'), 2)
})

for (const [what, text] of Object.entries({
  'no end': '# TYPE a gauge\na 1\n',
  'a counter without _total': '# TYPE a counter\na 1\n# EOF\n',
  'a unit that is not in the name': '# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n',
  'an unescaped quote': '# TYPE a gauge\na{b="""} 1\n# EOF\n',
  'an interleaved family': '# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# HELP a A.\n# EOF\n',
  'a series twice': '# TYPE a gauge\na 1\na 2\n# EOF\n',
  'a sample of no family': '# TYPE a gauge\nb 1\n# EOF\n',
  'no bucket +Inf': '# TYPE a histogram\na_bucket{le="1.0"} 1\na_count 1\na_sum 1\n# EOF\n',
  'buckets that shrink': '# TYPE a histogram\na_bucket{le="1.0"} 2\na_bucket{le="+Inf"} 1\na_count 1\na_sum 1\n# EOF\n',
  'a negative counter': '# TYPE a counter\na_total -1\n# EOF\n',
}))
  test(`the reader refuses ${what}`, () => assert.throws(() => readOpenMetrics(text)))
