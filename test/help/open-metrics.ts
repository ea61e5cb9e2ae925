/** OpenMetrics: a strict reader of the text format, version 1.0.0, which throws at the first deviation. */
import assert from 'node:assert/strict'

export interface ReadSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ReadFamily {
  readonly name: string
  type: string
  unit: string
  help: string
  readonly samples: ReadSample[]
}

const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total', '_created'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum', '_created'],
  unknown: [''],
}
const name = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const metadata = new RegExp(`^# (TYPE|UNIT|HELP) (${name}) (.*)$`)
const sampleLine = new RegExp(`^(${name})(?:\\{(.*)\\})? (\\S+)$`)
const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?!$)|$)/
const number = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?Inf|NaN)$/i

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, one: string) => {
    assert.ok('n"\\'.includes(one), `\\${one} is no escape`)
    return one === 'n' ? '\n' : one
  })

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  for (let rest = text; rest !== ''; ) {
    const found = label.exec(rest)
    assert.ok(found, `labels in: ${line}`)
    const [all, key = '', value = ''] = found
    assert.ok(!key.startsWith('__'), `a reserved label in: ${line}`)
    assert.ok(!Object.hasOwn(labels, key), `a repeated label in: ${line}`)
    labels[key] = unescaped(value)
    rest = rest.slice(all.length)
  }
  return labels
}

const readNumber = (text: string, line: string): number => {
  assert.match(text, number, line)
  return /inf/i.test(text) ? (text.startsWith('-') ? -1 : 1) * Number.POSITIVE_INFINITY : Number(text)
}

/** The families of a text by their names. */
export function readOpenMetrics(text: string): ReadonlyMap<string, ReadFamily> {
  assert.ok(text.endsWith('\n# EOF\n') || text === '# EOF\n', 'it has to end with # EOF')
  assert.ok(!text.includes('\r'), 'lines end with a line feed alone')
  const families = new Map<string, ReadFamily>()
  let own: ReadFamily | undefined
  for (const line of text.split('\n').slice(0, -2)) {
    const [, kind = '', about = '', rest = ''] = metadata.exec(line) ?? []
    if (kind !== '') {
      if (about !== own?.name) {
        assert.ok(!families.has(about), `${about} is interleaved with another family`)
        own = { name: about, type: '', unit: '', help: '', samples: [] }
        families.set(about, own)
      }
      assert.equal(own.samples.length, 0, `metadata after samples: ${line}`)
      const part = kind.toLowerCase() as 'type' | 'unit' | 'help'
      assert.equal(own[part], '', `repeated: ${line}`)
      own[part] = part === 'help' ? unescaped(rest) : rest
      if (part === 'type') assert.ok(suffixes[rest], line)
      if (part === 'unit') assert.ok(about.endsWith(`_${rest}`), `${about} does not end with its unit`)
    } else own?.samples.push(readSample(line, own))
  }
  for (const family of families.values()) checkFamily(family)
  return families
}

function readSample(line: string, { name: family, type }: ReadFamily): ReadSample {
  const [all, own = '', labels = '', value = ''] = sampleLine.exec(line) ?? []
  assert.ok(all, `no sample: ${line}`)
  assert.ok(own.startsWith(family), `${own} is not of ${family}`)
  assert.ok(suffixes[type]?.includes(own.slice(family.length)), `${own} is no sample of a ${type}`)
  return { name: own, labels: readLabels(labels, line), value: readNumber(value, line) }
}

const keyOf = (labels: object): string => JSON.stringify(Object.entries(labels).sort())

function checkFamily({ name: family, type, samples }: ReadFamily): void {
  assert.notEqual(type, '', `${family} has no type`)
  assert.doesNotMatch(family, /_(?:total|bucket|count|sum|created|info)$/, family)
  const series = samples.map(({ name: own, labels }) => own + keyOf(labels))
  assert.equal(new Set(series).size, series.length, `${family} has a series twice`)
  if (type !== 'gauge') for (const { value } of samples) assert.ok(value >= 0, `${family} is negative or NaN`)
  if (type === 'histogram') checkHistogram(family, samples)
}

function checkHistogram(family: string, samples: readonly ReadSample[]): void {
  const groups: { key: string; own: ReadSample[] }[] = []
  for (const one of samples) {
    const { le, ...rest } = one.labels
    assert.equal(le !== undefined, one.name === `${family}_bucket`, `le in ${one.name}`)
    const key = keyOf(rest)
    if (groups.at(-1)?.key !== key) groups.push({ key, own: [] })
    groups.at(-1)?.own.push(one)
  }
  assert.equal(new Set(groups.map(({ key }) => key)).size, groups.length, `${family}: a label set is interleaved`)
  for (const { own } of groups) {
    const buckets = own.filter(({ name: one }) => one.endsWith('_bucket'))
    const bounds = buckets.map(({ labels: { le = '' } }) => readNumber(le, family))
    for (const { labels } of buckets)
      assert.match(labels.le ?? '', /\.|e|^\+Inf$/, `${family}: le is no decimal number`)
    assert.deepEqual(
      bounds,
      [...new Set(bounds)].sort((a, b) => a - b),
      `${family}: bounds do not grow`,
    )
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY, `${family} has no bucket +Inf`)
    for (const [i, { value }] of buckets.entries())
      assert.ok(value >= (buckets[i - 1]?.value ?? 0), `${family}: buckets do not add up`)
    const single = (suffix: string) => own.find(({ name: one }) => one === family + suffix)?.value
    assert.equal(single('_count'), buckets.at(-1)?.value, `${family}: count`)
    assert.notEqual(single('_sum'), undefined, `${family} has no sum`)
  }
}

/** The value of a sample; 0 if there is none. */
export function metricValue(
  families: ReadonlyMap<string, ReadFamily>,
  sample: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const fits = (own: ReadSample): boolean =>
    own.name === sample && Object.entries(labels).every(([key, value]) => own.labels[key] === value)
  return [...families.values()]
    .flatMap(({ samples }) => samples)
    .filter(fits)
    .reduce((sum, { value }) => sum + value, 0)
}
