/** Checks rules of the source text: floors, import cycles, rooms, names, first sentences, packages, SQL, I/O and the World. */
import { imports, isPublished, isTest, lineAt, mask, type Source } from './source.ts'

const roomsByFloor: readonly (readonly string[])[] = [
  ['errors'],
  ['formats'],
  ['settings'],
  ['fields'],
  ['rows'],
  ['resources'],
  ['check'],
  ['review'],
  ['flow'],
  ['sql'],
  ['catalog'],
  ['ledgers'],
  ['rules'],
  ['lists', 'idempotency', 'auth', 'limits', 'versions', 'changes', 'effects', 'webhooks', 'store'],
  ['telemetry'],
  ['schema'],
  ['rewrite', 'readings'],
  ['sqlite', 'postgres', 'contents'],
  ['handlers', 'views'],
  ['endpoints', 'timers', 'jobs'],
  ['events', 'summaries', 'exports', 'imports', 'pairs'],
  ['history'],
  ['files'],
  ['deliveries'],
  ['routing'],
  ['service'],
  ['contract'],
  ['proof'],
  ['bodies'],
  ['describe'],
  ['pages'],
  ['corridor'],
  ['wire'],
  ['http'],
  ['reactions'],
  ['frames'],
  ['terminal'],
  ['client'],
  ['backup', 'erasure', 'seed'],
  ['cli', 'testing', 'embedding'],
  ['index'],
]
/** What the rooms with SQL may import, besides each other; less than their floors allow: no pages, versions or idempotency keys. */
const storeImports = ['errors', 'flow', 'rows/collection.ts', 'fields/bounds.ts']
/** The rooms that contain SQL for both databases, in such an order that each imports only those before it. */
const layeredSqlRooms = ['sql', 'catalog', 'ledgers', 'store', 'schema', 'rewrite']
const singles = ['settings', 'service', 'testing', 'index']
const mostFiles = 20

const roomOf = (path: string): string => /^src\/([^/]+?)(?:\/|\.ts$)/.exec(path)?.[1] ?? path
const floorOf = (room: string): number => roomsByFloor.findIndex((rooms) => rooms.includes(room))

function allowedFor(room: string): readonly string[] {
  if (room === 'webhooks') return ['errors', 'formats', 'flow'] // parts without a store: relays and endpoints call them
  if (room === 'client') return ['errors', 'formats', 'fields', 'resources', 'lists/where-parameters.ts'] // it runs in browsers
  if (room === 'readings') return [...storeImports, 'catalog', 'ledgers', 'store']
  const databases = ['sqlite', 'postgres'].includes(room)
  const depth = databases ? layeredSqlRooms.length : layeredSqlRooms.indexOf(room)
  if (depth >= 0) return [...storeImports, ...layeredSqlRooms.slice(0, depth), ...(databases ? ['readings'] : [])]
  const lower = roomsByFloor.slice(0, floorOf(room)).flat()
  // The check of the Node version runs before anything of src can be loaded.
  return room === 'cli' ? [...lower, 'bin/node-version.js'] : lower
}

/** Imports, type imports included, only go to lower floors. */
export function floors(files: readonly Source[]): string[] {
  const complaints: string[] = []
  for (const source of files.filter(({ path }) => isPublished(path))) {
    const room = roomOf(source.path)
    for (const { file, name, line } of imports(source)) {
      if (!file || floorOf(room) < 0 || room === roomOf(file)) continue
      const allowed = allowedFor(room)
      if (allowed.some((entry) => entry === roomOf(file) || `src/${entry}` === file)) continue
      const why = !file.startsWith('src/') ? 'which lies outside of src' : 'and imports only go down the floors'
      complaints.push(
        `${source.path}:${line} imports ${name}, ${why}. Allowed for ${room}: ${allowed.join(', ') || 'nothing'}. ` +
          'Move what both need to a lower floor, or have it handed in.',
      )
    }
  }
  return complaints
}

/** No circular imports. */
export function circles(files: readonly Source[]): string[] {
  const house = files.filter(({ path }) => isPublished(path))
  const arrows = new Map(house.map((source) => [source.path, imports(source).flatMap(({ file }) => file ?? [])]))
  const done = new Set<string>()
  const complaints: string[] = []
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path)
    if (start >= 0) {
      const circle = [...way.slice(start), path].join(' -> ')
      complaints.push(`${circle} is a circle of imports; none is allowed. Move what both need into a file below them.`)
    } else if (!done.has(path)) {
      for (const next of arrows.get(path) ?? []) visit(next, [...way, path])
      done.add(path)
    }
  }
  for (const path of arrows.keys()) visit(path, [])
  return complaints
}

/** Source files are in the rooms of the plan, one folder deep, and a room has a limited number of files. */
export function rooms(files: readonly Source[]): string[] {
  const house = files.map(({ path }) => path).filter(isPublished)
  const misplaced = house.flatMap((path) => {
    const [, room = '', file, ...deeper] = path.split('/')
    const mend = 'Put it into the room whose convention it serves.'
    if (deeper.length > 0) return `${path} lies two folders deep; a room has no folders inside. ${mend}`
    if (file === 'index.ts')
      return `${path} is an index inside a room; import the file that is meant, and remove this one.`
    if (file === undefined) {
      const known = singles.map((name) => `${name}.ts`)
      return known.includes(room)
        ? []
        : `${path} stands outside of the rooms; allowed there: ${known.join(', ')}. ${mend}`
    }
    return floorOf(room) >= 0 && !singles.includes(room)
      ? []
      : `${path} is in a room the plan does not have; allowed: ${roomsByFloor.flat().join(', ')}. ${mend}`
  })
  const full = roomsByFloor.flat().flatMap((room) => {
    const count = house.filter((path) => path.startsWith(`src/${room}/`)).length
    return count <= mostFiles
      ? []
      : `src/${room} has ${count} source files; allowed are ${mostFiles}. Join what belongs together, or mend the plan first.`
  })
  return [...misplaced, ...full]
}

const emptyWords = /^(?:managers?|helpers?|utils?|utilit(?:y|ies)|common|core|base)$/i
const wordsOf = (name: string): readonly string[] => name.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/)
const exported =
  /^export\s+(?:default\s+)?(?:async\s+)?(?:abstract\s+)?(?:function\*?|const|let|class|type|interface)\s+([\w$]+)/gm

/** Names of files and exports must not be empty words such as `helper`. */
export function names(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => isPublished(path))
    .flatMap(({ path, text }) => {
      const mend = 'Name it by the one noun or verb of the conventions that it is about.'
      const file = path.replace(/^src\//, '').replace(/\.ts$/, '')
      const inPath = [
        ...wordsOf(file).filter((word) => emptyWords.test(word)),
        ...(/(?:^|\/)types$/.test(file) ? ['types'] : []),
      ]
      const { bare } = mask(text)
      const inText = [...bare.matchAll(exported)].filter(([, name = '']) =>
        wordsOf(name).some((word) => emptyWords.test(word)),
      )
      return [
        ...inPath.map((word) => `${path} is called "${word}", which says nothing; no such word is allowed. ${mend}`),
        ...inText.map(
          ({ 1: name, index }) => `${path}:${lineAt(bare, index)} exports ${name}, a word for anything. ${mend}`,
        ),
      ]
    })
}

/** A file begins with one sentence about its purpose. */
export function openings(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => isPublished(path))
    .flatMap(({ path, text }) => {
      const comment =
        /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\//
          .exec(text)?.[1]
          ?.replace(/\s*\n\s*\*?\s*/g, ' ')
          .trim() ?? ''
      return /^\S+\s+\S.*\.$/.test(comment)
        ? []
        : `${path}:1 does not open with a sentence. Allowed is \`/** Reads filters from the query string. Part 4, filtering. */\`` +
            ' in the first line. Say there what the file is for, and end with a full stop.'
    })
}

/** Published code imports only Node's modules and the dependencies of the package. */
export function packages(files: readonly Source[], dependencies: readonly string[]): string[] {
  return files
    .filter(({ path }) => isPublished(path))
    .flatMap((source) =>
      imports(source).flatMap(({ name, file, line }) => {
        if (file || name.startsWith('node:')) return []
        const own = name.split('/', name.startsWith('@') ? 2 : 1).join('/')
        return dependencies.includes(own)
          ? []
          : `${source.path}:${line} imports ${name}. Allowed: node:* and the dependencies ${dependencies.join(', ')}. ` +
              'Write node: before a module of Node, or do without the package.'
      }),
    )
}

/** The rooms that may contain SQL. */
const sqlRooms = [...layeredSqlRooms, 'sqlite', 'postgres']

const sql = /\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b/g

/** SQL is only in the rooms of the store. */
export function sqlInStoreRooms(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => isPublished(path) && !sqlRooms.includes(roomOf(path)))
    .flatMap(({ path, text }) => {
      const { code } = mask(text)
      return [...code.matchAll(sql)].map(
        (found) =>
          `${path}:${lineAt(code, found.index)} contains SQL (${found[0]}); allowed only in ${sqlRooms.map((room) => `src/${room}`).join(', ')}. ` +
          'Say what is wanted as a Plan and let sql/statements.ts turn it into a Statement.',
      )
    })
}

const modules = /^node:(?:fs|http|https|http2|sqlite|net|tls|dgram|dns|child_process|worker_threads)(?:\/|$)/
const reachesOut = 'wire http contents webhooks sqlite postgres frames terminal backup seed cli'.split(' ')

/** Only some rooms use files, sockets and other processes. Importing node:http reads all of its exports, one of which loads WebSockets. */
export function outside(files: readonly Source[]): string[] {
  const mend = (path: string, name: string): string[] => {
    if (/^node:https?$/.test(name)) return [`is loaded with WebSockets: use process.getBuiltinModule('${name}').`]
    if (reachesOut.includes(roomOf(path))) return []
    return [`reaches out of the process; only these rooms do: ${reachesOut.join(', ')}. Have what it reads handed in.`]
  }
  return files
    .filter(({ path }) => isPublished(path))
    .flatMap((source) =>
      imports(source)
        .filter(({ name, typeOnly }) => modules.test(name) && !typeOnly)
        .flatMap(({ name, line }) => mend(source.path, name).map((what) => `${source.path}:${line} ${name} ${what}`)),
    )
}

/** Node's globals for time, timers, random numbers and the environment. */
const globals = [
  /\bnew Date\b(?!\s*\(\s*[^\s)])/,
  /(?<!(?<!globalThis)\.|\w|new )Date\(\s*\)/,
  /\b(?:Date\.now|Math\.random|AbortSignal\.timeout|Atomics\.wait(?:Async)?|process\.(?:env|hrtime|uptime)|getBuiltinModule\('node:(?:crypto|timers))\b/,
  /\bperformance\.\w+/,
  /(?<!(?<!globalThis)\.|\w)(?:set|clear)(?:Timeout|Interval|Immediate)\b/,
  /\b(?:random(?:Bytes|UUID|Int|Fill|FillSync)|getRandomValues|generateKey(?:Pair)?(?:Sync)?)\b/,
]
const timers = /^(?:node:)?(?:timers|timers\/promises|perf_hooks)$/
/** Commands, and the modules that run in the processes of receivers of webhooks and of clients. */
const knowsGlobals =
  /^src\/(?:flow\/real-world\.ts|webhooks\/verification\.ts|client\/|terminal\/|backup\/|seed\/|cli\/)/

/** Time, timers and random numbers come from the World, so that a test can run a service with its own clock. */
export function world(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => isPublished(path) && !knowsGlobals.test(path))
    .flatMap((source) => {
      const { bare } = mask(source.text)
      const all = new RegExp(globals.map((one) => one.source).join('|'), 'g')
      const touched = [
        ...imports(source).filter(({ name }) => timers.test(name)),
        ...[...bare.matchAll(all)].map((found) => ({ name: found[0], line: lineAt(bare, found.index) })),
      ]
      return touched.map(
        ({ name, line }) =>
          `${source.path}:${line} takes ${name} from the machine; only src/flow/real-world.ts, src/terminal and src/cli do. ` +
          'Take it from the World that is handed in (src/flow/world.ts): now, monotonic, after, inBackground, every, nextTurn, random, fillRandom, environment.',
      )
    })
}

const moduleState =
  /^(?:export )?(?:(?:let|var) (\w+)|const (\w+)(: Readonly(?:Map|Set)[^=]*)?[^=\n]* = new (Map|Set|WeakMap|WeakSet|Memo|Remembered|Prepared|ServiceState)\b(?:<[^\n]*?>)?\((\)?))/gm
const isPure = /\/\*\* Pure: (?:(?!\*\/)[\s\S])*\*\/\s*$/
/** The entry of a worker thread, whose state is that of the thread. */
const threads = ['src/sqlite/thread.ts']

/** Services in one process share no state: a module has only constant tables, and memos of pure functions. */
export function state(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => isPublished(path) && !threads.includes(path))
    .flatMap(({ path, text }) => {
      const { bare } = mask(text)
      return [...bare.matchAll(moduleState)].flatMap(
        ({ 1: variable, 2: name, 3: frozen, 4: made, 5: isEmpty, index }) => {
          const isTable = (made === 'Map' || made === 'Set') && (frozen !== undefined || isEmpty === '')
          if (isTable || (made === 'Memo' && isPure.test(text.slice(0, index)))) return []
          return (
            `${path}:${lineAt(bare, index)} keeps ${variable ?? name} for the whole process, so that two services share it. ` +
            'Keep it in the function that makes the service, in its ServiceState, or in the value that it was made from (Prepared). ' +
            'A Memo of a pure function of a text may stay; its comment begins with "Pure:" and says of what.'
          )
        },
      )
    })
}

/** A test file without a test would always pass. */
export function empty(files: readonly Source[]): string[] {
  return files
    .filter(({ path, text }) => isTest(path) && !/\b(?:test|it|spec)\s*\(/.test(mask(text).bare))
    .map(({ path }) => `${path} holds no test and would always pass. Write one with test(...), or remove the file.`)
}
