/** The service of the benchmark of growth. Environment variables set its number of resources and of versions. */
import { f, service } from 'bylaw'

const [resources, versions] = [Number(process.env.BENCH_RESOURCES ?? 1), Number(process.env.BENCH_VERSIONS ?? 0)]

/** The number in four letters, as names of resources have no digits. */
const letters = (n: number): string =>
  [n / 17_576, n / 676, n / 26, n].map((one) => String.fromCharCode(97 + (Math.floor(one) % 26))).join('')

const notes = (i: number) => ({
  prefix: `n${letters(i)}`,
  fields: {
    title: f.text({ max: 200, filter: true, sort: true }),
    text: f.text({ max: 2000 }),
    status: f.enum(['active', 'closed'], { default: 'active', filter: true }),
    stars: f.integer({ default: 0 }),
  },
  access: 'public' as const,
})

/** The change of the second version, of the third, and so on. */
const changes = [
  { about: '`rating` is called `stars`.', renamed: { rating: 'stars' } },
  {
    about: '`name` is called `title`, and has no spaces at its ends.',
    removed: { name: f.text({ max: 200 }) },
    added: ['title'],
    request: ({ name }: { name: string }) => ({ title: name.trim() }),
    response: ({ title }: { title: string }) => ({ name: title }),
  },
  { about: '`status` says it in other words.', mapped: { status: { open: 'active', shut: 'closed' } } },
  { about: '`body` is called `text`.', renamed: { body: 'text' } },
]

/** A service whose changes are not typed: the types of `change` follow one declaration, and here the number of changes varies. */
interface ChangeableService {
  readonly change: (version: string, resource: string, change: object) => ChangeableService
}

const labels = Array.from({ length: versions }, (_, i) => `v${i + 1}`)
const newest = service({
  name: 'growing',
  settings: { server: { engine: process.env.BENCH_ENGINE === 'own' ? 'own' : 'node' } },
  ...(versions === 0
    ? {}
    : { versions: Object.fromEntries(labels.map((label, i) => [label, { released: `2026-0${i + 1}-15` }])) }),
  resources: Object.fromEntries(Array.from({ length: resources }, (_, i) => [`${letters(i)}-notes`, notes(i)])),
})

export default labels
  .slice(1)
  .toReversed()
  .reduce(
    (older: ChangeableService, label) =>
      older.change(label, `${letters(0)}-notes`, changes[Number(label.slice(1)) - 2] as object),
    newest as unknown as ChangeableService,
  )
