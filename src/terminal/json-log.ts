/** The log of a served service: lines of JSON by pino, written once a turn of the event loop. */
import { pino } from 'pino'
import type { Log } from '../http/server-context.ts'
import type { FatalLog } from './start.ts'

const maxBuffered = 16 * 1024 * 1024
const maxFlushWait = 1000

export function jsonLog(service: string, level: string): Log & FatalLog {
  const out = bufferedStdout()
  const log = pino(
    {
      level,
      base: { service },
      timestamp: timeField(),
      formatters: { level: (label) => ({ level: label }) },
    },
    out,
  )
  const info = log.isLevelEnabled('info') ? infoWriter(service, out.write) : () => {}
  return Object.assign(log, { info, written: out.written })
}

/** The same line as pino writes for what is flat, as what is told of each request is, in less than half of the time. */
function infoWriter(service: string, write: (line: string) => void): Log['info'] {
  const time = timeField()
  const own = `,"service":${JSON.stringify(service)},`
  return (about, message) =>
    write(`{"level":"info"${time()}${own}${JSON.stringify({ ...about, msg: message }).slice(1)}\n`)
}

/** The time of a line; of many lines in one millisecond it is written once. */
function timeField(): () => string {
  let latest = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== latest) text = `,"time":"${new Date(now).toISOString()}"`
    latest = now
    return text
  }
}

/** Lines of one turn go out in one write, which costs half; a reader that stands still stops the lines, not the service. */
function bufferedStdout() {
  const { stdout: out } = process
  let text = ''
  let dropped = 0
  const put = (): void => {
    const lines = text
    text = ''
    out.write(lines)
  }
  const write = (line: string): void => {
    if (out.writableLength > maxBuffered) {
      dropped++
      return
    }
    if (text === '') setImmediate(put)
    text += dropped === 0 ? line : `${line.replace(/\}\n$/, `,"linesDropped":${dropped}}\n`)}`
    dropped = 0
  }
  const written = (): Promise<void> =>
    new Promise((done) => {
      const late = setTimeout(done, maxFlushWait)
      if (text !== '') put()
      out.write('', () => {
        clearTimeout(late)
        done()
      })
    })
  return { write, written }
}
