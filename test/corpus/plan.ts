/** The sessions of the corpus: each service on both databases behind both doors, with its share of the requests. */
import type { Door, Setting, Store } from './exchange.ts'
import type { Share } from './record.ts'
import { corpusServices } from './services.ts'

const ways: readonly (readonly [Store, Door])[] = [
  ['SQLite', 'fetch'],
  ['SQLite', 'node'],
  ['PostgreSQL', 'fetch'],
  ['PostgreSQL', 'node'],
]

/** Services with many rules get more requests than those that vary one. */
const heavy = new Set([
  ...[
    'shop',
    'market',
    'desk',
    'history',
    'archive',
    'museum',
    'tenants',
    'clinic',
    'clinic, shared',
    'pairs of versions',
  ],
])

export const sessions: readonly (readonly [Setting, Share])[] = Object.keys(corpusServices).flatMap((service) =>
  ways.map(([store, door]): readonly [Setting, Share] => {
    const share = {
      described: heavy.has(service) ? 45 : 30,
      twisted: heavy.has(service) ? 120 : 75,
      raw: service === 'shop' ? 150 : service === 'orders' ? 50 : 0,
    }
    return [{ name: `${service}, ${store}, ${door}`, service, store, door }, share]
  }),
)
