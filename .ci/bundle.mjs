// Joins the modules of src into the files of dist that Node loads. What is always used together is one file, and a command is
// loaded with what it needs: 460 files took twice the time and a fifth more memory at start. Types and maps lead to src.
import { realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const { exports, dependencies, peerDependencies } = createRequire(import.meta.url)('../package.json')
const root = realpathSync(fileURLToPath(new URL('..', import.meta.url)))
const path = (name) => join(root, 'src', `${name}.ts`)

/** The modules that users import, the command line, and the programs of threads. */
const entries = new Set([
  ...Object.values(exports).flatMap(({ 'bylaw-source': source }) => /^\.\/src\/(.+)\.ts$/.exec(source)?.[1] ?? []),
  ...['cli/main', 'sqlite/thread', 'terminal/watchdog'],
])

/** The modules that are loaded with some modules, without those that they import later. */
function closure(names, importsOf) {
  const modules = new Set(names.map(path))
  for (const module of modules) for (const imported of importsOf(module)) modules.add(imported)
  return modules
}

/** The modules of the larger chunks; otherwise the bundler would split them into fifty by their users. */
const files = {}
const grouping = {
  name: 'grouping',
  buildEnd() {
    const from = (...names) => closure(names, (module) => this.getModuleInfo(module)?.importedIds ?? [])
    for (const name of entries) if (!this.getModuleInfo(path(name))) throw new Error(`${path(name)} was not bundled.`)
    files.server = from('cli/serve')
    files.declaration = from('index')
    // Without modules of Node.js, as browsers load it.
    files.shared = from('client/client', 'webhooks/verification', 'sqlite/thread').intersection(
      from('index', 'cli/serve'),
    )
    files.watchdog = from('terminal/watchdog')
  },
}
const groups = ['server', 'declaration', 'shared', 'watchdog'].map((name, priority) => ({
  name,
  test: (module) => files[name].has(module),
  priority,
}))

rmSync(join(root, 'dist'), { recursive: true, force: true })
const build = await rolldown({
  cwd: root,
  input: Object.fromEntries([...entries].map((name) => [name, path(name)])),
  platform: 'node',
  external: [/^node:/, ...Object.keys({ ...dependencies, ...peerDependencies })],
  transform: { target: 'node24' },
  plugins: [grouping],
  logLevel: 'warn',
})
await build.write({
  dir: join(root, 'dist'),
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js', // as deep as dist/cli, as modules name files of the package by paths from their own
  codeSplitting: { groups },
  comments: false,
  topLevelVar: true, // calls of functions then need no check that a constant has its value
  sourcemap: true,
  sourcemapExcludeSources: true,
})
