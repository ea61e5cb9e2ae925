/** Two services for tests of OpenAPI documents: one of four versions with every kind of change, and one with every kind of field. */
import { f, service } from 'bylaw'

/** Renamed, split, mapped, moved and retyped fields; added, removed and renamed operations and resources. */
export const archive = service({
  name: 'archive',
  versions: {
    v1: {
      released: '2024-01-01',
      deprecated: '2025-06-01',
      sunset: '2030-12-31',
      guide: 'https://docs.example.com/v2',
    },
    v2: { released: '2025-01-01' },
    v3: { released: '2025-06-01' },
    v4: { released: '2026-01-01' },
  },
  scopes: { 'books:read': 'Read books', 'books:write': 'Change books' },
  tiers: { free: { hourly: 100_000 } },
  errors: { 'shelf-full': { status: 409, parents: ['conflict'] } },
  settings: { auth: { apiKeyHeader: 'X-Api-Key' } },
  resources: {
    shelves: {
      prefix: 'shf',
      fields: {
        label: f.text({ max: 40, filter: 'like', sort: true }),
        hall: f.enum(['north', 'south', 'attic'], { default: 'north', filter: ['ne'], sort: true }),
      },
      access: 'authenticated',
    },
    books: {
      prefix: 'bok',
      fields: {
        title: f.text({ max: 200, min: 1, filter: ['like', 'range'], sort: true }),
        author: f.text({ max: 120, filter: true, sort: true }),
        kind: f.enum(['print', 'audio', 'file'], { default: 'print', filter: ['ne'], sort: true }),
        price: f.decimal({ scale: 2, filter: 'range', sort: true }),
        pages: f.integer({ min: 1, max: 20_000, filter: 'range', sort: true }),
        code: f.text({ pattern: '^[A-Z]{2}[0-9]{2,6}$', unique: true, filter: true }),
        shelfId: f.ref('shelves', { optional: true, filter: true }),
        language: f.text({ min: 2, max: 3 }),
        note: f.text({ optional: true }),
        metadata: f.metadata(),
      },
      access: { read: 'books:read', write: 'books:write' },
      sorts: { worth: ['-price', 'title'] },
      methods: ['list', 'read', 'create', 'change', 'remove'],
      deprecations: { change: { deprecated: '2026-02-01', sunset: '2031-01-01', successor: '/books' } },
    },
    copies: {
      prefix: 'cpy',
      parent: 'books',
      fields: { state: f.text({ max: 20, filter: true }), seen: f.timestamp({ optional: true, filter: 'range' }) },
      access: 'authenticated',
    },
    seals: { prefix: 'sea', fields: { word: f.text({ max: 20 }) }, access: 'authenticated' },
    stamps: { prefix: 'stm', fields: { word: f.text({ max: 20 }) }, access: 'authenticated' },
  },
})
  .change('v4', 'books', {
    about: 'Pages are bounded, prices are decimals, and a language has to be given.',
    retyped: { price: f.integer({ min: 0, filter: 'range', sort: true }) },
    required: { language: 'und' },
    request: ({ price }) => ({ price: `${price}.00` }),
    response: ({ price }) => ({ price: Math.max(0, Math.round(Number(price))) }),
    filters: {
      price: ({ is, value }) => [
        { field: 'price', is, value: is === 'null' ? value : Array.isArray(value) ? value.map(String) : String(value) },
      ],
    },
    sorts: { price: ['price'] },
    errors: { 'shelf-crowded': 'shelf-full' },
  })
  .change('v4', 'stamps', { about: 'Stamps are seals now.', ends: true })
  .change('v3', 'books', {
    about: 'Kinds have other names, and the hall is that of the shelf.',
    mapped: { kind: { paper: 'print', sound: 'audio' } },
    shown: { kind: { file: 'paper' } },
    sorts: { kind: ['kind'] },
    moved: { hall: { by: 'shelfId', to: 'hall' } },
    methods: { added: ['remove'] },
  })
  .change('v3', 'seals', { about: 'Seals are new.', begins: true })
  .change('v2', 'books', {
    about: 'Works are books, and an author has one name.',
    was: 'works',
    renamed: { name: 'title' },
    removed: { firstName: f.text({ max: 50 }), lastName: f.text({ max: 60, default: '' }) },
    added: ['author', 'note'],
    methods: { withdrawn: ['replace'] },
    request: ({ firstName, lastName }) => ({ author: `${firstName} ${lastName}`.trim() }),
    response: ({ author }) => {
      const [firstName = '', ...rest] = author.split(' ')
      return { firstName: firstName.slice(0, 50), lastName: rest.join(' ').slice(0, 60) }
    },
  })

export const archivist = { scopes: ['books:read', 'books:write'], tier: 'free' } as const

/** Every kind of field with its options, every shape of a resource, and most settings with another value than the default. */
export const museum = service({
  name: 'museum',
  concepts: {
    place: f.object({ city: f.text({ filter: true }), zip: f.text({ optional: true, pattern: '^[0-9]{5}$' }) }),
  },
  scopes: { 'pieces:read': 'Read pieces', 'pieces:write': 'Change pieces', 'pieces:price': 'See prices' },
  tiers: { free: { hourly: 100_000 } },
  errors: { 'piece-lent': { status: 409, parents: ['conflict'] } },
  settings: {
    naming: 'snake',
    path: { trailingSlash: 'ignore' },
    methods: { unknown: 501, query: true },
    query: { ignored: ['utm_source'] },
    body: { unknownFields: 'ignore', onBodyless: 'ignore', maxDepth: 10 },
    request: { codings: ['gzip'] },
    dates: { acceptOffsets: true },
    metadata: { keys: 5, keyLength: 10, valueLength: 20 },
    list: {
      pagination: { style: 'cursor', field: 'paging', names: { hasMore: 'more' }, countLimit: 50 },
      ...{ maxPageSize: 50, pageSize: 10, overMax: 'clamp', maxOffset: 100, maxFilters: 5, maxSetSize: 7 },
      ...{ nullsDefault: 'first', cursor: { ttl: 'PT1H' }, links: 'both' },
    },
    idempotency: { mode: 'replay', scope: 'caller', retention: 'P30D', methods: ['POST', 'PATCH'] },
    prefer: { minimalOnCreate: true },
    deleted: { retention: 'P90D' },
    cache: { groups: true, maxAge: 'PT1M' },
    errors: { problemBase: 'https://example.com/problems/' },
    auth: { apiKeyHeader: 'X-Api-Key' },
    cors: { origins: ['https://app.example.com'] },
    serverTiming: true,
    rateLimit: { headers: 'x-ratelimit' },
    deprecation: { format: 'rfc9745' },
  },
  resources: {
    pieces: {
      prefix: 'pce',
      owner: 'account_id',
      fields: {
        title: f.text({ min: 1, max: 80, fold: true, filter: ['like', 'range', 'gt', 'lt', 'ne'], sort: true }),
        mark: f.text({ pattern: '^[A-Z]{3}$', unique: true, immutable: true, filter: true }),
        email: f.email({ optional: true, filter: true }),
        site: f.url({ optional: true, max: 200 }),
        count: f.integer({ min: 0, max: 50, default: 1, filter: ['range', 'gt', 'lt', 'ne'], sort: true }),
        serial: f.bigint({ optional: true, filter: 'range', sort: true }),
        value: f.decimal({
          precision: 10,
          scale: 3,
          optional: true,
          filter: 'range',
          sort: true,
          read: 'pieces:price',
        }),
        shown: f.boolean({ default: false, filter: ['ne'] }),
        found_at: f.timestamp({ optional: true, filter: 'range', sort: true }),
        made_on: f.date({ optional: true, filter: 'range', sort: true }),
        lasts: f.duration({ optional: true, filter: true }),
        season: f.interval({ optional: true, filter: true }),
        kind: f.enum(['vase', 'coin', 'map'], { default: 'vase', filter: ['ne'], sort: true }),
        hall_id: f.ref('halls', { optional: true, filter: true }),
        labels: f.list(f.text({ max: 10 }), { max: 4 }),
        marks: f.list(f.object({ word: f.text({ max: 5 }), weight: f.integer({ optional: true }) }), {
          min: 1,
          max: 3,
        }),
        place: f.concept('place', { optional: true }),
        origin: f.country({ optional: true, filter: true, sort: true }),
        paid_in: f.currency({ optional: true, filter: true }),
        metadata: f.metadata(),
        secret: f.text({ writeOnly: true, optional: true, max: 20 }),
        seen: f.integer({ readOnly: true, default: 0 }),
      },
      access: { read: 'pieces:read', write: 'pieces:write' },
      sorts: { newest: ['-found_at', 'title'] },
      settings: { concurrency: { required: true }, limits: { body: 20_000 } },
    },
    halls: {
      prefix: 'hal',
      fields: { name: f.text({ max: 20, sort: true }) },
      access: { read: 'public', write: 'authenticated' },
    },
    seats: {
      parent: 'halls',
      key: 'number',
      fields: { number: f.integer({ min: 1, max: 900, sort: true }), note: f.text({ optional: true }) },
      order: ['number'],
      access: 'authenticated',
      settings: { etag: { mode: 'weak' }, delete: { repeat: 'gone' }, missing: { status: 410 } },
    },
    tags: {
      key: 'word',
      fields: { word: f.text({ pattern: '^[a-z]{1,12}$' }), hue: f.text({ optional: true }) },
      access: 'authenticated',
      methods: ['list', 'read', 'create', 'remove'],
      settings: {
        idempotency: { required: true },
        list: { pagination: { styles: ['page'], style: 'page', totals: 'off' } },
      },
    },
    visits: {
      prefix: 'vis',
      parent: { resource: 'pieces', onDelete: 'cascade' },
      fields: { by: f.text({ max: 20 }) },
      access: 'authenticated',
      settings: {
        resource: { id: 'client', putRevives: true },
        idempotency: { bodyField: 'off' },
        etag: { mode: 'off' },
      },
    },
  },
})

export const keeper = {
  account: 'acc_1',
  scopes: ['pieces:read', 'pieces:write', 'pieces:price'],
  tier: 'free',
} as const
