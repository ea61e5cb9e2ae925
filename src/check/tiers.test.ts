/** Tiers: tiers and their mistakes, as a table. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, shop, table } from '../../test/help/mistakes.ts'
import { declarationMistakes } from './declaration-mistakes.ts'

const tiers = (given: unknown) => () => shop({ orders: open }, { tiers: given })

table('tiers (R181)', [
  ['the usual ones', tiers({ free: { hourly: 1000 }, pro: { hourly: 50_000 } }), ''],
  [
    'all that can be said',
    tiers({
      anonymous: { hourly: { quota: 1, partition: 'tier' }, burst: { quota: 2, window: 'PT1S', partition: 'address' } },
      'very-large': { daily: { quota: 1_000_000_000_000, window: 'P1D', partition: 'tier' } },
    }),
    '',
  ],
  ['none', tiers({}), ''],
  ['features for all callers', tiers({ free: { hourly: 1, features: ['v2'] } }), ''],
  ['features alone', tiers({ free: { features: ['v2'] } }), 'tiers.free', '{ hourly: 1000 }'],
  ['features that are no names', tiers({ free: { hourly: 1, features: 'v2' } }), 'tiers.free.features', "['v2']"],
  ['no object', tiers(['free']), 'tiers', 'tiers: { … }'],
  ['a name of another form', tiers({ veryLarge: { hourly: 1 } }), 'tiers.veryLarge', '`very-large`'],
  ['a tier without a quota', tiers({ free: {} }), 'tiers.free', '{ hourly: 1000 }'],
  ['a tier that is a number', tiers({ free: 1000 }), 'tiers.free', '1000', '{ hourly: 1000 }'],
  ['no quota at all', tiers({ free: { hourly: 0 } }), 'tiers.free.hourly', 'from 1'],
  ['part of a request', tiers({ free: { hourly: 1.5 } }), 'tiers.free.hourly', '1.5'],
  ['a number without a time', tiers({ free: { daily: 5 } }), 'tiers.free.daily', "{ quota: 5, window: 'PT1M' }"],
  ['a text', tiers({ free: { hourly: '5' } }), 'tiers.free.hourly', '"5"', 'quota: 20'],
  ['an object without a time', tiers({ free: { daily: { quota: 5 } } }), 'tiers.free.daily', "window: 'PT1M'"],
  ['a quota of another form', tiers({ free: { 'A B': { quota: 5, window: 'PT1S' } } }), 'tiers.free["A B"]', 'kebab'],
  ['no such member', tiers({ free: { hourly: { quota: 5, windw: 'PT1H' } } }), 'tiers.free.hourly.windw', '`window`'],
  ['no number', tiers({ free: { hourly: { quota: '5' } } }), 'tiers.free.hourly.quota', '"5"'],
  ...['PT0S', 'PT0.5S', 'PT1.5S', 'P1M', 'P367D', 'hour', 3600].map(
    (window) =>
      [
        `a window of ${window}`,
        tiers({ free: { daily: { quota: 5, window } } }),
        'tiers.free.daily.window',
        "'PT1S'",
      ] as const,
  ),
  [
    'an hour that is none',
    tiers({ free: { hourly: { quota: 5, window: 'PT2H' } } }),
    'tiers.free.hourly.window',
    'rename the quota',
  ],
  [
    'no such partition',
    tiers({ free: { hourly: { quota: 5, partition: 'key' } } }),
    'tiers.free.hourly.partition',
    "'caller', 'tier' or 'address'",
  ],
  [
    'nobody to tell apart',
    tiers({ anonymous: { hourly: { quota: 5, partition: 'caller' } } }),
    'tiers.anonymous.hourly.partition',
    "'address'",
  ],
])

test('all mistakes of all tiers are reported at once', () => {
  const found = declarationMistakes({
    name: 'shop',
    resources: { orders: open },
    tiers: { free: { daily: 5, hourly: -1 }, Pro: 7, large: { burst: { quota: 0, partition: 'key' } } },
  })
  assert.deepEqual(
    found.map(({ place }) => place),
    [
      'tiers.free.daily',
      'tiers.free.hourly',
      'tiers.Pro',
      'tiers.Pro',
      'tiers.large.burst',
      'tiers.large.burst.quota',
      'tiers.large.burst.partition',
    ],
  )
})
