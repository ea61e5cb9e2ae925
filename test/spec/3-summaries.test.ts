/** R236: summaries of lists. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  resources: {
    orders: {
      prefix: 'ord',
      fields: {
        status: f.enum(['draft', 'paid', 'sent'], { default: 'draft', filter: true }),
        total: f.decimal({ scale: 2, optional: true, filter: 'range' }),
        pieces: f.integer({ optional: true }),
        placedAt: f.timestamp({ optional: true }),
        rush: f.boolean({ default: false }),
      },
      summaries: {
        byStatus: { group: ['status', { month: 'placedAt' }], sum: ['total'], average: ['total'] },
        overall: { sum: ['total', 'pieces'], min: ['placedAt', 'pieces'], max: ['total'], average: ['pieces'] },
        rushed: { group: ['rush'] },
      },
      access: 'public',
    },
  },
  settings: { list: { or: true } },
})

const post = async (door: Door, json: object) => {
  const answer = await door.send('POST', '/orders', { json })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

doors('summaries', shop, (door) => {
  spec('R236', 'groups, sums and averages', async () => {
    const empty = await door.send('GET', '/orders/summaries/overall')
    assert.deepEqual(empty.json, {
      data: [
        {
          ...{ id: '', count: 0, sumTotal: '0.00', sumPieces: '0', minPlacedAt: null, minPieces: null },
          ...{ maxTotal: null, averagePieces: null },
        },
      ],
    })
    await post(door, { status: 'paid', total: '10.00', pieces: 3, placedAt: '2026-11-30T23:59:59.999Z' })
    await post(door, { status: 'paid', total: '0.01', pieces: -4, placedAt: '2026-11-01T00:00:00Z', rush: true })
    await post(door, { status: 'paid', placedAt: '2026-12-01T00:00:00Z' })
    await post(door, { status: 'draft', total: '-5.55' })
    const found = await door.send('GET', '/orders/summaries/by-status')
    assert.equal(found.status, 200, found.text)
    assert.deepEqual(found.json, {
      data: [
        {
          ...{ id: 'status=draft&placedAtMonth%5Bnull%5D=true', status: 'draft', placedAtMonth: null, count: 1 },
          ...{ sumTotal: '-5.55', averageTotal: '-5.5500' },
        },
        {
          ...{ id: 'status=paid&placedAtMonth=2026-11', status: 'paid', placedAtMonth: '2026-11', count: 2 },
          ...{ sumTotal: '10.01', averageTotal: '5.0050' },
        },
        {
          ...{ id: 'status=paid&placedAtMonth=2026-12', status: 'paid', placedAtMonth: '2026-12', count: 1 },
          ...{ sumTotal: '0.00', averageTotal: null },
        },
      ],
    })
    const all = await door.send('GET', '/orders/summaries/overall?or=(status=paid;total[lte]=-5)')
    assert.deepEqual(all.json.data, [
      {
        ...{ id: '', count: 4, sumTotal: '4.46', sumPieces: '-1', minPlacedAt: '2026-11-01T00:00:00.000Z' },
        ...{ minPieces: -4, maxTotal: '10.00', averagePieces: '-0.50' },
      },
    ])
    assert.deepEqual((await door.send('GET', '/orders/summaries/rushed?total[gte]=0')).json.data, [
      { id: 'rush=false', rush: false, count: 1 },
      { id: 'rush=true', rush: true, count: 1 },
    ])
  })
})

const snake = service({
  name: 'snake',
  settings: { naming: 'snake' },
  resources: {
    notes: {
      prefix: 'not',
      fields: {
        note_kind: f.enum(['a', 'b'], { filter: true }),
        page_size: f.object({ of_width: f.integer({ filter: true }) }),
        due_on: f.date({ optional: true }),
      },
      summaries: {
        by_kind: { group: ['note_kind', { year: 'due_on' }], sum: ['page_size.of_width'], max: ['created_at'] },
      },
      access: 'public',
      settings: { etag: { mode: 'weak' }, list: { nullsDefault: 'first' } },
    },
  },
})

doors('summaries in snake_case', snake, (door) => {
  spec('R236 R57 R121', 'members follow the naming, nulls and tags the settings', async () => {
    for (const due_on of [null, '2026-12-31', '2025-01-01'])
      await door.send('POST', '/notes', { json: { note_kind: 'a', page_size: { of_width: 2 }, due_on } })
    const { json, headers } = await door.send('GET', '/notes/summaries/by-kind?page_size.of_width=2')
    assert.match(headers.etag ?? '', /^W\//)
    assert.deepEqual(
      json.data.map(({ max_created_at, ...group }: { max_created_at: string }) => {
        assert.match(max_created_at, /^20.*Z$/)
        return group
      }),
      [null, '2025', '2026'].map((year) => ({
        id: `note_kind=a&${year === null ? 'due_on_year%5Bnull%5D=true' : `due_on_year=${year}`}`,
        ...{ note_kind: 'a', due_on_year: year, count: 1, sum_page_size_of_width: '2' },
      })),
    )
  })
})
