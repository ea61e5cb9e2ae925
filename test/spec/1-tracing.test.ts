/** Part 1 of the contract: traces are continued, and Server-Timing is sent if it is enabled. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'

const resources = { notes: { prefix: 'not', plural: true, fields: { text: f.text() }, access: 'public' } } as const
const quiet = service({ name: 'quiet', resources })
const timed = service({ name: 'timed', resources, settings: { serverTiming: 'on' } })

const trace = '0af7651916cd43dd8448eb211c80319c'
const zeros = '0'.repeat(32)

doors(
  'tracing',
  quiet,
  (door) => {
    const lineOf = async (headers: Record<string, string>, path = '/notes') => {
      const { status } = await door.send('GET', path, { headers })
      return { status, line: door.answered.at(-1) ?? {} }
    }

    spec('R26', 'a valid traceparent is continued in the log', async () => {
      for (const given of [
        `00-${trace}-b7ad6b7169203331-01`,
        `00-${trace}-b7ad6b7169203331-00`,
        `cc-${trace}-b7ad6b7169203331-01`,
        `cc-${trace}-b7ad6b7169203331-01-what-the-future-will-be-like`,
      ]) {
        const { status, line } = await lineOf({ traceparent: given, tracestate: 'congo=t61rcWkgMzE' })
        assert.deepEqual([status, line.traceId], [200, trace], given)
      }
      const missing = await lineOf({ traceparent: `00-${trace}-b7ad6b7169203331-01` }, '/nope')
      assert.deepEqual([missing.status, missing.line.traceId], [404, trace])
    })

    spec('R26', 'an invalid traceparent and its tracestate are ignored', async () => {
      for (const given of [
        `00-${zeros}-b7ad6b7169203331-01`,
        `00-${trace}-0000000000000000-01`,
        `00-${trace}-b7ad6b7169203331-01-more`,
        `00-${trace}-b7ad6b7169203331-1`,
        `00-${trace}-b7ad6b7169203331`,
        `00-${trace.slice(1)}-b7ad6b7169203331-01`,
        `00-${trace.toUpperCase()}-b7ad6b7169203331-01`,
        `ff-${trace}-b7ad6b7169203331-01`,
        `cc-${trace}-b7ad6b7169203331-01what`,
        `00-${trace}-b7ad6b7169203331-zz`,
        `00-${trace}-b7ad6b7169203331-01, 00-${trace}-b7ad6b7169203331-01`,
        'x',
        '',
      ]) {
        const { status, line } = await lineOf({ traceparent: given, tracestate: 'congo=t61rcWkgMzE' })
        assert.deepEqual([status, line.traceId], [200, undefined], given)
        assert.doesNotMatch(JSON.stringify(line), /congo/)
      }
    })
  },
  { socketOnly: true },
)

doors('no timing', quiet, (door) => {
  spec('R26', 'the time of an answer is not sent unless it is turned on', async () => {
    for (const path of ['/notes', '/nope', '/healthz'])
      assert.equal((await door.send('GET', path)).headers['server-timing'], undefined, path)
  })
})

doors('timing', timed, (door) => {
  spec('R26', 'Server-Timing has the total time and that of each phase', async () => {
    const time = '\\d+(\\.\\d{1,2})?'
    for (const path of ['/notes', '/nope', '/healthz']) {
      const timing = (await door.send('GET', path)).headers['server-timing'] ?? ''
      assert.match(timing, new RegExp(`^total;dur=${time}, message;dur=${time}(, [a-z]+;dur=${time})*$`), path)
      assert.equal(/, store;dur=/.test(timing), path === '/notes', path)
    }
  })
})
