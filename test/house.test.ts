/** Checks the house rules on the source text, and each rule on small examples that break it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import {
  cellarOnly,
  circles,
  empty,
  floors,
  names,
  openings,
  outside,
  packages,
  rooms,
  state,
  world,
} from './help/house.ts'
import { functions, longFiles, longFunctions } from './help/lengths.ts'
import { type Source, sources } from './help/source.ts'

const root = new URL('../', import.meta.url)
const files = sources(root)
const declared = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
const dependencies = Object.keys({ ...declared.dependencies, ...declared.peerDependencies })

/** Source files from their paths and texts. */
const made = (texts: Record<string, string>): Source[] => Object.entries(texts).map(([path, text]) => ({ path, text }))
const lines = (count: number, text: string): string => Array.from({ length: count }, () => text).join('\n')
const lists = (text: string): Source[] => made({ 'src/lists/list-query.ts': text })

function quiet(complaints: readonly string[]): void {
  assert.ok(complaints.length === 0, `\n${complaints.join('\n')}`)
}

function complains(complaints: readonly string[], ...words: readonly string[]): void {
  assert.equal(complaints.length, 1, `one complaint was expected:\n${complaints.join('\n')}`)
  for (const word of words) assert.ok(complaints[0]?.includes(word), `"${complaints[0]}" does not say "${word}"`)
}

describe('the house', () => {
  test('has its files where the judges look', () => {
    for (const path of ['src/errors/problem.ts', 'test/house.test.ts'])
      assert.ok(
        files.some((file) => file.path === path),
        path,
      )
  })
  test('imports only go down the floors', () => quiet(floors(files)))
  test('no imports form a cycle', () => quiet(circles(files)))
  test('every file lies in a room of the plan', () => quiet(rooms(files)))
  test('file names are not vague', () => quiet(names(files)))
  test('every file opens with a sentence', () => quiet(openings(files)))
  test('only Node and the dependencies are imported', () => quiet(packages(files, dependencies)))
  test('only the cellar speaks SQL', () => quiet(cellarOnly(files)))
  test('only some rooms reach out of the process', () => quiet(outside(files)))
  test('time and chance are handed in', () => quiet(world(files)))
  test('no module keeps what services would share', () => quiet(state(files)))
  test('no file is too long', () => quiet(longFiles(files)))
  test('no function is too long', () => quiet(longFunctions(files)))
  test('no test file is empty', () => quiet(empty(files)))
})

describe('floors', () => {
  const on = (path: string, name: string) => floors(made({ [path]: `import type { A } from '${name}'` }))
  test('a lower floor and the own room are allowed', () => {
    quiet(on('src/lists/list-query.ts', '../flow/intent.ts'))
    quiet(on('src/lists/list-query.ts', './sort.ts'))
    quiet(on('src/service.ts', './endpoints/route.ts'))
    quiet(on('src/index.ts', './testing.ts'))
    quiet(on('src/sqlite/open.ts', '../rows/collection.ts'))
  })
  test('up is refused, types too', () => {
    complains(
      on('src/flow/plan.ts', '../lists/query.ts'),
      'src/flow/plan.ts:1',
      '../lists/query.ts',
      'errors, formats',
      'Move',
    )
    complains(on('src/errors/problem.ts', '../resources/field.ts'), 'nothing')
  })
  test('rooms on one floor do not know each other', () => {
    complains(on('src/lists/list-query.ts', '../auth/allow.ts'), 'src/lists/list-query.ts:1')
    complains(on('src/cli/main.ts', '../testing.ts'), 'src/cli/main.ts:1')
  })
  test('the cellar sees a resource only as a collection', () => {
    complains(on('src/sqlite/open.ts', '../resources/field.ts'), 'rows/collection.ts')
  })
  test('nothing outside of src is imported', () => {
    complains(on('src/cli/main.ts', '../../test/help/house.ts'), 'outside of src')
  })
  test('an export from above and a dynamic import count', () => {
    complains(floors(made({ 'src/flow/call.ts': "export * from '../service.ts'" })), '../service.ts')
    complains(
      floors(made({ 'src/flow/call.ts': "const a = 1\nconst b = await import('../service.ts')" })),
      'src/flow/call.ts:2',
    )
  })
  test('tests may look anywhere', () => {
    quiet(on('src/flow/plan.test.ts', '../lists/query.ts'))
  })
})

describe('circles', () => {
  test('a cycle of three is reported once', () => {
    const three = {
      'src/flow/a.ts': "import './b.ts'",
      'src/flow/b.ts': "import './c.ts'",
      'src/flow/c.ts': "import './a.ts'",
    }
    complains(circles(made(three)), 'src/flow/a.ts -> src/flow/b.ts -> src/flow/c.ts -> src/flow/a.ts')
  })
  test('two imports of one file are not a cycle', () => {
    quiet(
      circles(made({ 'src/a.ts': "import './b.ts'\nimport './c.ts'", 'src/b.ts': "import './c.ts'", 'src/c.ts': '' })),
    )
  })
})

describe('rooms', () => {
  const at = (path: string) => rooms(made({ [path]: '' }))
  test('the rooms of the plan are allowed', () => {
    for (const path of [
      'src/lists/list-query.ts',
      'src/service.ts',
      'src/lists/list-query.test.ts',
      'test/help/house.ts',
    ])
      quiet(at(path))
  })
  test('other places are refused', () => {
    complains(at('src/tools/query.ts'), 'src/tools/query.ts', 'a room the plan does not have')
    complains(at('src/query.ts'), 'outside of the rooms', 'service.ts, testing.ts, index.ts')
    complains(at('src/lists/parts/query.ts'), 'two folders deep')
    complains(at('src/lists/index.ts'), 'index inside a room')
    complains(at('src/service/parts.ts'), 'a room the plan does not have')
  })
  test('twenty files fill a room, tests not counted', () => {
    const some = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`src/lists/a${n}.ts`, '']).concat([['src/lists/a.test.ts', '']]),
      )
    quiet(rooms(made(some(20))))
    complains(rooms(made(some(21))), 'src/lists has 21 source files', 'allowed are 20')
  })
})

describe('names', () => {
  test('vague words are refused in paths', () => {
    for (const path of ['src/lists/helper.ts', 'src/lists/query-utils.ts', 'src/core/query.ts', 'src/lists/types.ts']) {
      complains(names(made({ [path]: '' })), path, 'no such word is allowed')
    }
    quiet(names(made({ 'src/lists/score.ts': '', 'src/store/database.ts': '', 'test/help/house.ts': '' })))
  })
  test('and in what is exported', () => {
    complains(names(lists('\nexport class QueryManager {}')), 'src/lists/list-query.ts:2', 'QueryManager')
    quiet(names(lists('export const base64 = 1\nexport function managed() {}\nconst base = 2')))
  })
})

describe('openings', () => {
  test('the first line has to be a sentence', () => {
    quiet(openings(lists('/** Reads filters. Part 4, filtering. */\n')))
    quiet(openings(lists('#!/usr/bin/env node\n/**\n * Reads filters\n * from the query.\n */\n')))
    for (const text of [
      '',
      'const a = 1\n/** Reads filters. */',
      '/** query */',
      '/** Reads filters */',
      '// Reads filters.',
    ]) {
      complains(openings(lists(text)), 'src/lists/list-query.ts:1', 'full stop')
    }
  })
})

describe('packages', () => {
  test('node: and dependencies are allowed', () => {
    quiet(
      packages(lists("import pino from 'pino'\nimport { x } from 'pino/file'\nimport { join } from 'node:path'"), [
        'pino',
      ]),
    )
  })
  test('others are refused, and Node without its prefix', () => {
    complains(
      packages(lists("import Ajv from 'ajv/dist/2020.js'"), ['pino']),
      'ajv/dist/2020.js',
      'node:* and the dependencies pino',
    )
    complains(packages(lists("import { join } from 'path'"), ['pino']), 'imports path')
    complains(packages(lists("import { a } from '@one/two/three'"), ['@one/three']), '@one/two/three')
  })
})

describe('SQL', () => {
  test('is spoken in the cellar only', () => {
    const text = 'const a = 1\nconst b = `SELECT ${a} FROM b`'
    complains(cellarOnly(lists(text)), 'src/lists/list-query.ts:2', 'SELECT', 'src/store')
    complains(cellarOnly(lists("run('UPDATE orders SET a = 1')")), 'UPDATE orders SET')
    quiet(cellarOnly(made({ 'src/sql/statements.ts': text })))
    quiet(cellarOnly(lists('// a SELECT is made of it\nconst select = 1')))
  })
})

describe('the outside', () => {
  const text = "import { readFileSync } from 'node:fs'\nimport net from 'node:net'"
  test('may be used by the rooms of servers, stores and commands', () => {
    for (const path of ['src/cli/dev.ts', 'src/terminal/load.ts', 'src/sqlite/sqlite.ts', 'src/http/stop.ts'])
      quiet(outside(made({ [path]: text })))
  })
  test('and by no other; type imports do not count', () => {
    for (const path of ['src/sql/statements.ts', 'src/limits/meter.ts', 'src/corridor/handle.ts', 'src/testing.ts'])
      assert.equal(outside(made({ [path]: text })).length, 2, path)
    complains(outside(lists("import net from 'node:net'")), 'src/lists/list-query.ts:1', 'node:net', 'handed in')
    quiet(outside(lists("import type { Server } from 'node:http'\nconst say = 'node:net'")))
    const heavy = "import http, { type Server } from 'node:http'"
    complains(outside(made({ 'src/http/stop.ts': heavy })), 'src/http/stop.ts:1', "getBuiltinModule('node:http')")
  })
})

describe('the World', () => {
  const clocks =
    'Date.now() | new Date() | new Date | Date() | performance.now() | performance.mark() | process.hrtime()'
  const chance = 'Math.random() | randomUUID() | randomBytes(32) | randomInt(5) | randomFillSync(bytes)'
  const turns =
    'setTimeout(act, 5) | setInterval(act, 5) | setImmediate(act) | clearTimeout(timer) | Atomics.wait(cell)'
  for (const one of `${clocks} | ${chance} | ${turns} | AbortSignal.timeout(5) | process.env`.split(' | '))
    test(`${one} is refused below the commands, and allowed in them and in the real World`, () => {
      for (const text of [`const b = 1\nconst a = ${one}`, `const b = 1\nconst a = globalThis.${one}`]) {
        if (text.includes('.new')) continue
        for (const path of ['src/lists/list-query.ts', 'src/sqlite/sqlite.ts', 'src/http/stop.ts', 'src/testing.ts'])
          complains(world(made({ [path]: text })), `${path}:2`, one.replace(/\(.*/, ''), 'World')
        for (const path of ['src/cli/dev.ts', 'src/terminal/start.ts', 'src/flow/real-world.ts', 'src/flow/a.test.ts'])
          quiet(world(made({ [path]: text })))
      }
    })
  test('so are the modules of timers', () => {
    for (const name of ['node:timers', 'node:timers/promises', 'timers/promises', 'node:perf_hooks'])
      complains(world(lists(`import * as turn from '${name}'`)), name, 'World')
  })
  test('injected times, strings, and methods of these names are allowed', () => {
    quiet(
      world(
        lists(
          "const at = new Date(1)\nconst of = new Date(time)\nsocket.setTimeout(5)\n// Date.now\nconst say = 'Date.now()'\nDate.parse(text)",
        ),
      ),
    )
  })
})

describe('lengths', () => {
  const house = (text: string) => lists(text)
  const body = (head: string, count: number) => `${head}\n${lines(count - 2, '  a()')}\n}`
  test('a file has up to 300 lines, or a reason at its top', () => {
    quiet(longFiles(house(lines(300, 'a()'))))
    complains(
      longFiles(house(lines(301, 'a()'))),
      'src/lists/list-query.ts has 301 lines',
      'allowed are 300',
      '// long because:',
    )
    quiet(longFiles(house(`// long because: one table\n${lines(301, 'a()')}`)))
    complains(longFiles(house(`${lines(301, 'a()')}\n// long because: too late`)), '302 lines')
    complains(longFiles(house(`// long because:\n${lines(301, 'a()')}`)), '302 lines')
  })
  const heads = {
    plain: 'export async function plain(a: string, b = {}): Promise<{ a: string }> {',
    shaped: 'function shaped<T extends { a: string }>(a: T): { b: string } | undefined {',
    spread: 'function spread(\n  a: string,\n): a is string {',
    bound: 'const bound = async (a: string): Promise<void> => {',
    wide: 'export const wide = (\n  a: string,\n): Store => {',
    inside: 'class A {\n  async inside(a: string): Promise<void> {',
    private: 'const b = {\n  private() {',
  }
  for (const [name, head] of Object.entries(heads)) {
    test(`a function has up to 40 lines: ${head.replaceAll('\n', ' ')}`, () => {
      const [above, own] = head.startsWith('c') && head.includes('\n') ? head.split('\n') : ['', head]
      const of = (count: number) => `${above}\n${body(own as string, count - (own as string).split('\n').length + 1)}\n`
      quiet(longFunctions(house(of(40))))
      complains(longFunctions(house(of(41))), `src/lists/list-query.ts:2 ${name} has 41 lines`, 'directly above')
      quiet(longFunctions(house(`${above}\n// long because: one table\n${of(41).split('\n').slice(1).join('\n')}`)))
    })
  }
  test('blocks, calls and declarations without a body are not functions', () => {
    const text =
      'interface A {\n  a(b: string): void\n  c: () => void\n}\nfunction f(a: 1): void\nif (a) {\n  b(c)\n}\nfor (;;) {\n}\n'
    assert.deepEqual(
      functions(text).map(({ name }) => name),
      [],
    )
  })
  test('braces in strings do not count', () => {
    const text = 'function f() {\n  return `}${a ? "}" : \'}\'}}` + /[}/]}/.source // }\n}\nconst after = 1\n'
    assert.deepEqual(functions(text), [{ name: 'f', from: 1, to: 3 }])
  })
})
