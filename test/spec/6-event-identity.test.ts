/** Part 6 of the contract: events without their item, of items whose id is only unique below another item, and of pairs. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const text = () => f.text({ max: 40, default: '' })
const change = {
  about: 'Texts are not in upper case.',
  retyped: { text: text() },
  request: ({ text }: { text: string }) => ({ text: text.toLowerCase() }),
  response: ({ text }: { text: string }) => {
    if (text === 'broken') throw new Error('This text has no upper case.')
    return { text: text.toUpperCase() }
  },
}

/** In v1 `orders` was `purchases`, and rows whose text is `broken` cannot be shown. */
const shop = (payload: 'full' | 'thin', format: 'standard' | 'cloudevents' = 'standard') =>
  service({
    name: 'shop',
    events: true,
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-02-01' } },
    settings: { events: { payload, format } },
    resources: {
      orders: { prefix: 'ord', fields: { note: text() }, access: 'public' },
      tags: { prefix: 'tag', fields: { name: text() }, access: 'public' },
      lines: { parent: 'orders', key: 'number', fields: { number: f.integer(), text: text() }, access: 'public' },
      remarks: { prefix: 'rem', parent: 'orders', fields: { text: text() }, access: 'public' },
    },
    pairs: { labels: { between: ['orders', 'tags'], fields: { text: text() }, access: 'public' } },
  })
    .change('v2', 'orders', { about: 'Purchases are called orders.', was: 'purchases' })
    .change('v2', 'lines', change)
    .change('v2', 'remarks', change)
    .change('v2', 'labels', change)

for (const payload of ['thin', 'full'] as const)
  doors(`events without their item (${payload})`, shop(payload), (door: Door) => {
    spec('R207', 'their data tells which item it is, also if its id is only unique below its owner', async () => {
      const made = async (path: string, json: object): Promise<string> => {
        const answer = await door.send(path.includes('/tags/') ? 'PUT' : 'POST', path, { json })
        assert.equal(answer.status, 201, answer.text)
        return answer.json.id
      }
      const order = await made('/v2/orders', {})
      const tag = await made('/v2/tags', {})
      const remark = await made(`/v2/orders/${order}/remarks`, { text: 'broken' })
      await made(`/v2/orders/${order}/lines`, { number: 1, text: 'broken' })
      await made(`/v2/orders/${order}/tags/${tag}`, { text: 'broken' })
      const events = async (version: string) => {
        const { json } = await door.send('GET', `/${version}/events?resource=in:(lines,remarks,labels)`)
        return Object.fromEntries(json.data.map(({ type, data }: { type: string; data: object }) => [type, data]))
      }
      assert.deepEqual(await events('v1'), {
        'remark.created': { id: remark },
        'line.created': { id: '1', purchaseId: order },
        'label.created': { id: tag, purchaseId: order, tagId: tag },
      })
      if (payload === 'full') return
      const list = await door.send('GET', '/v2/events?resource=labels')
      assert.deepEqual(list.json.data[0].data, { id: tag, orderId: order, tagId: tag })
    })
  })

doors('events of items below others, in the form of CloudEvents', shop('full', 'cloudevents'), (door: Door) => {
  spec(
    'R208',
    'the subject tells which item of the source it is, also if its id is only unique below its owner',
    async () => {
      const made = async (path: string, json: object): Promise<string> => {
        const answer = await door.send(path.includes('/tags/') ? 'PUT' : 'POST', path, { json })
        assert.equal(answer.status, 201, answer.text)
        return answer.json.id
      }
      const tag = await made('/v2/tags', {})
      const subjects: string[] = []
      for (let i = 0; i < 2; i++) {
        const order = await made('/v2/orders', {})
        const remark = await made(`/v2/orders/${order}/remarks`, { text: 'a' })
        await made(`/v2/orders/${order}/lines`, { number: 1, text: 'a' })
        await made(`/v2/orders/${order}/tags/${tag}`, { text: 'a' })
        subjects.push(order, remark, `${order}/1`, `${order}/${tag}`)
      }
      for (const version of ['v1', 'v2']) {
        const { json } = await door.send('GET', `/${version}/events`)
        const [, ...later] = json.data.map(({ subject }: { subject: string }) => subject)
        assert.deepEqual(later, subjects)
      }
    },
  )
})
