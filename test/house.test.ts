/** Checks the rules of the source text, and each rule with small examples that break it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import {
  circles,
  empty,
  floors,
  names,
  openings,
  outside,
  packages,
  rooms,
  sqlInStoreRooms,
  state,
  world,
} from './help/house.ts'
import { functions, longFiles, longFunctions } from './help/lengths.ts'
import { type Source, sources } from './help/source.ts'

const root = new URL('../', import.meta.url)
const files = sources(root)
const declared = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
const dependencies = Object.keys({ ...declared.dependencies, ...declared.peerDependencies })

/** Makes a tree of source files from paths and texts. */
const tree = (texts: Record<string, string>): Source[] => Object.entries(texts).map(([path, text]) => ({ path, text }))
const lines = (count: number, text: string): string => Array.from({ length: count }, () => text).join('\n')
const lists = (text: string): Source[] => tree({ 'src/lists/list-query.ts': text })

function passes(complaints: readonly string[]): void {
  assert.ok(complaints.length === 0, `\n${complaints.join('\n')}`)
}

function reports(complaints: readonly string[], ...words: readonly string[]): void {
  assert.equal(complaints.length, 1, `one complaint was expected:\n${complaints.join('\n')}`)
  for (const word of words) assert.ok(complaints[0]?.includes(word), `"${complaints[0]}" does not say "${word}"`)
}

describe('the source text', () => {
  test('has files in the folders that the checks read', () => {
    for (const path of ['src/errors/problem.ts', 'test/house.test.ts'])
      assert.ok(
        files.some((file) => file.path === path),
        path,
      )
  })
  test('imports only go down the floors', () => passes(floors(files)))
  test('no imports form a cycle', () => passes(circles(files)))
  test('every file is in a room of the plan', () => passes(rooms(files)))
  test('file names are not vague', () => passes(names(files)))
  test('every file begins with a sentence', () => passes(openings(files)))
  test('only Node and the dependencies are imported', () => passes(packages(files, dependencies)))
  test('only the rooms of the store contain SQL', () => passes(sqlInStoreRooms(files)))
  test('only some rooms use files, sockets and processes', () => passes(outside(files)))
  test('time and random numbers come from the World', () => passes(world(files)))
  test('no module has state that services would share', () => passes(state(files)))
  test('no file is too long', () => passes(longFiles(files)))
  test('no function is too long', () => passes(longFunctions(files)))
  test('no test file is empty', () => passes(empty(files)))
})

describe('floors', () => {
  const on = (path: string, name: string) => floors(tree({ [path]: `import type { A } from '${name}'` }))
  test('a lower floor and the own room are allowed', () => {
    passes(on('src/lists/list-query.ts', '../flow/intent.ts'))
    passes(on('src/lists/list-query.ts', './sort.ts'))
    passes(on('src/service.ts', './endpoints/route.ts'))
    passes(on('src/index.ts', './testing.ts'))
    passes(on('src/sqlite/open.ts', '../rows/collection.ts'))
  })
  test('imports from a higher floor are refused, of types too', () => {
    reports(
      on('src/flow/plan.ts', '../lists/query.ts'),
      'src/flow/plan.ts:1',
      '../lists/query.ts',
      'errors, formats',
      'Move',
    )
    reports(on('src/errors/problem.ts', '../resources/field.ts'), 'nothing')
  })
  test('rooms on one floor do not import each other', () => {
    reports(on('src/lists/list-query.ts', '../auth/allow.ts'), 'src/lists/list-query.ts:1')
    reports(on('src/cli/main.ts', '../testing.ts'), 'src/cli/main.ts:1')
  })
  test('the store imports only collections of resources', () => {
    reports(on('src/sqlite/open.ts', '../resources/field.ts'), 'rows/collection.ts')
  })
  test('nothing outside of src is imported', () => {
    reports(on('src/cli/main.ts', '../../test/help/house.ts'), 'outside of src')
  })
  test('an export from a higher floor and a dynamic import count too', () => {
    reports(floors(tree({ 'src/flow/call.ts': "export * from '../service.ts'" })), '../service.ts')
    reports(
      floors(tree({ 'src/flow/call.ts': "const a = 1\nconst b = await import('../service.ts')" })),
      'src/flow/call.ts:2',
    )
  })
  test('tests may import from everywhere', () => {
    passes(on('src/flow/plan.test.ts', '../lists/query.ts'))
  })
})

describe('circles', () => {
  test('a cycle of three is reported once', () => {
    const three = {
      'src/flow/a.ts': "import './b.ts'",
      'src/flow/b.ts': "import './c.ts'",
      'src/flow/c.ts': "import './a.ts'",
    }
    reports(circles(tree(three)), 'src/flow/a.ts -> src/flow/b.ts -> src/flow/c.ts -> src/flow/a.ts')
  })
  test('two imports of one file are not a cycle', () => {
    passes(
      circles(tree({ 'src/a.ts': "import './b.ts'\nimport './c.ts'", 'src/b.ts': "import './c.ts'", 'src/c.ts': '' })),
    )
  })
})

describe('rooms', () => {
  const at = (path: string) => rooms(tree({ [path]: '' }))
  test('the rooms of the plan are allowed', () => {
    for (const path of [
      'src/lists/list-query.ts',
      'src/service.ts',
      'src/lists/list-query.test.ts',
      'test/help/house.ts',
    ])
      passes(at(path))
  })
  test('other places are refused', () => {
    reports(at('src/tools/query.ts'), 'src/tools/query.ts', 'a room the plan does not have')
    reports(at('src/query.ts'), 'outside of the rooms', 'service.ts, testing.ts, index.ts')
    reports(at('src/lists/parts/query.ts'), 'two folders deep')
    reports(at('src/lists/index.ts'), 'index inside a room')
    reports(at('src/service/parts.ts'), 'a room the plan does not have')
  })
  test('a room has at most twenty files, not counting tests', () => {
    const some = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`src/lists/a${n}.ts`, '']).concat([['src/lists/a.test.ts', '']]),
      )
    passes(rooms(tree(some(20))))
    reports(rooms(tree(some(21))), 'src/lists has 21 source files', 'allowed are 20')
  })
})

describe('names', () => {
  test('vague words are refused in paths', () => {
    for (const path of ['src/lists/helper.ts', 'src/lists/query-utils.ts', 'src/core/query.ts', 'src/lists/types.ts']) {
      reports(names(tree({ [path]: '' })), path, 'no such word is allowed')
    }
    passes(names(tree({ 'src/lists/score.ts': '', 'src/store/database.ts': '', 'test/help/house.ts': '' })))
  })
  test('vague words are refused in exported names', () => {
    reports(names(lists('\nexport class QueryManager {}')), 'src/lists/list-query.ts:2', 'QueryManager')
    passes(names(lists('export const base64 = 1\nexport function managed() {}\nconst base = 2')))
  })
})

describe('openings', () => {
  test('the first line has to be a sentence', () => {
    passes(openings(lists('/** Reads filters. Part 4, filtering. */\n')))
    passes(openings(lists('#!/usr/bin/env node\n/**\n * Reads filters\n * from the query.\n */\n')))
    for (const text of [
      '',
      'const a = 1\n/** Reads filters. */',
      '/** query */',
      '/** Reads filters */',
      '// Reads filters.',
    ]) {
      reports(openings(lists(text)), 'src/lists/list-query.ts:1', 'full stop')
    }
  })
})

describe('packages', () => {
  test('node: and dependencies are allowed', () => {
    passes(
      packages(lists("import pino from 'pino'\nimport { x } from 'pino/file'\nimport { join } from 'node:path'"), [
        'pino',
      ]),
    )
  })
  test('other packages are refused, and modules of Node without `node:`', () => {
    reports(
      packages(lists("import Ajv from 'ajv/dist/2020.js'"), ['pino']),
      'ajv/dist/2020.js',
      'node:* and the dependencies pino',
    )
    reports(packages(lists("import { join } from 'path'"), ['pino']), 'imports path')
    reports(packages(lists("import { a } from '@one/two/three'"), ['@one/three']), '@one/two/three')
  })
})

describe('SQL', () => {
  test('is only in the rooms of the store', () => {
    const text = 'const a = 1\nconst b = `SELECT ${a} FROM b`'
    reports(sqlInStoreRooms(lists(text)), 'src/lists/list-query.ts:2', 'SELECT', 'src/store')
    reports(sqlInStoreRooms(lists("run('UPDATE orders SET a = 1')")), 'UPDATE orders SET')
    passes(sqlInStoreRooms(tree({ 'src/sql/statements.ts': text })))
    passes(sqlInStoreRooms(lists('// a SELECT is made of it\nconst select = 1')))
  })
})

describe('I/O', () => {
  const text = "import { readFileSync } from 'node:fs'\nimport net from 'node:net'"
  test('may be used by the rooms of servers, stores and commands', () => {
    for (const path of ['src/cli/dev.ts', 'src/terminal/load.ts', 'src/sqlite/sqlite.ts', 'src/http/stop.ts'])
      passes(outside(tree({ [path]: text })))
  })
  test('may be used by no other room; type imports do not count', () => {
    for (const path of ['src/sql/statements.ts', 'src/limits/meter.ts', 'src/corridor/handle.ts', 'src/testing.ts'])
      assert.equal(outside(tree({ [path]: text })).length, 2, path)
    reports(outside(lists("import net from 'node:net'")), 'src/lists/list-query.ts:1', 'node:net', 'handed in')
    passes(outside(lists("import type { Server } from 'node:http'\nconst say = 'node:net'")))
    const heavy = "import http, { type Server } from 'node:http'"
    reports(outside(tree({ 'src/http/stop.ts': heavy })), 'src/http/stop.ts:1', "getBuiltinModule('node:http')")
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
          reports(world(tree({ [path]: text })), `${path}:2`, one.replace(/\(.*/, ''), 'World')
        for (const path of ['src/cli/dev.ts', 'src/terminal/start.ts', 'src/flow/real-world.ts', 'src/flow/a.test.ts'])
          passes(world(tree({ [path]: text })))
      }
    })
  test('so are the modules of timers', () => {
    for (const name of ['node:timers', 'node:timers/promises', 'timers/promises', 'node:perf_hooks'])
      reports(world(lists(`import * as turn from '${name}'`)), name, 'World')
  })
  test('injected times, strings, and methods of these names are allowed', () => {
    passes(
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
    passes(longFiles(house(lines(300, 'a()'))))
    reports(
      longFiles(house(lines(301, 'a()'))),
      'src/lists/list-query.ts has 301 lines',
      'allowed are 300',
      '// long because:',
    )
    passes(longFiles(house(`// long because: one table\n${lines(301, 'a()')}`)))
    reports(longFiles(house(`${lines(301, 'a()')}\n// long because: too late`)), '302 lines')
    reports(longFiles(house(`// long because:\n${lines(301, 'a()')}`)), '302 lines')
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
      passes(longFunctions(house(of(40))))
      reports(longFunctions(house(of(41))), `src/lists/list-query.ts:2 ${name} has 41 lines`, 'directly above')
      passes(longFunctions(house(`${above}\n// long because: one table\n${of(41).split('\n').slice(1).join('\n')}`)))
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
