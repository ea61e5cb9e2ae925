/** The options of curl that the documentation uses, so that its examples run if curl is not installed. */
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true },
    data: { type: 'string', short: 'd' },
    json: { type: 'string' },
    include: { type: 'boolean', short: 'i' },
    silent: { type: 'boolean', short: 's' },
    head: { type: 'boolean', short: 'I' },
    globoff: { type: 'boolean', short: 'g' },
    retry: { type: 'string', default: '0' },
    'retry-all-errors': { type: 'boolean' },
    'max-time': { type: 'string', default: '60' },
  },
})
const body = values.json ?? values.data
const headers = new Headers(
  (values.header ?? []).map((line) => [line.split(':', 1)[0] as string, line.slice(line.indexOf(':') + 1).trim()]),
)
if (values.json !== undefined) headers.set('content-type', 'application/json')
const url = (positionals[0] as string)
  .replace(/^(?:http:\/\/)?localhost:3000/, `http://127.0.0.1:${process.env.PORT}`)
  .replace('http://127.0.0.1:4555/', process.env.ISSUER ?? '')
const method = values.request ?? (values.head ? 'HEAD' : body === undefined ? 'GET' : 'POST')
const answer = await asked(Number(values.retry))
const shown = [...answer.headers].map(([name, value]) => `${name}: ${value}`)
if (values.include || values.head)
  process.stdout.write(`HTTP/1.1 ${answer.status} ${answer.statusText}\n${shown.join('\n')}\n\n`)
process.stdout.write(await answer.text())

async function asked(retries: number): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(Number(values['max-time']) * 1000)
    return await fetch(url, { method, headers, redirect: 'manual', signal, ...(body === undefined ? {} : { body }) })
  } catch (error) {
    if (retries === 0) throw error
    return asked(retries - 1)
  }
}
