import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { readableLog } from './readable-log.ts'

test('nothing that a client sent reaches the terminal as a control or a formatting character', () => {
  const lines: string[] = []
  const { mock: end } = mock.method(console, 'log', (line: string) => void lines.push(line))
  const log = readableLog()
  const evil = 'a\x1b]0;title\x07\x1b[2J\x9b31m\r\b\x7f\u202eb\u2028\nc'
  log.info({ requestId: '1', method: evil, path: `/${evil}`, status: 400, ms: 1 }, 'answered')
  log.error({ requestId: evil, err: new Error(evil) }, evil)
  log.warn({ err: evil }, 'text')
  end.restore()
  const styles = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g')
  for (const line of lines) {
    const bare = line.replace(styles, '')
    assert.doesNotMatch(bare, /(?!\n)[\p{Cc}\u202e\u2028]/u)
    assert.ok(bare.includes('a\\u{1b}]0;title\\u{7}'), bare)
  }
  assert.equal(lines[0]?.includes('\n'), false, 'a request is one line')
})
