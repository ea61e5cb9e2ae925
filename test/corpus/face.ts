/**
 * Writes the public types into one text that does not depend on files and internal names: the declarations that `bylaw` and
 * `bylaw/testing` export, and the types that they refer to. Types that are not exported are numbered in the order in which they
 * are found; comments are left out. The types of the members of `Service` other than `declaration` are left out too: they are the
 * compiled service, which only this package reads.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Declared {
  readonly file: string
  readonly text: string
}

interface File {
  /** Declarations of the file by their names. */
  readonly own: ReadonlyMap<string, string>
  /** The names that the file imports or re-exports, each with its file and its name there. */
  readonly imported: ReadonlyMap<string, readonly [file: string, name: string]>
  readonly exported: readonly string[]
}

const identifier = /(?<![\w$.'"-])[A-Za-z_$][\w$]*(?![\w$'"])/g

/** A text of declarations without comments. */
export const withoutComments = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^\s*\n/gm, '')

function read(path: string): File {
  const text = withoutComments(readFileSync(path, 'utf8'))
  const imported = new Map<string, readonly [string, string]>()
  const exported: string[] = []
  const rest = text.replace(
    /^(import|export)( type)? \{([^}]*)\}(?: from '([^']+)')?;$/gm,
    (_, word: string, __, names: string, from?: string) => {
      for (const one of names.split(',').flatMap((name) => name.trim() || [])) {
        const [name = '', as = name] = one.replace(/^type /, '').split(' as ')
        if (word === 'export') exported.push(as)
        if (from?.startsWith('.')) imported.set(as, [join(dirname(path), from.replace(/\.(ts|js)$/, '.d.ts')), name])
      }
      return ''
    },
  )
  const own = new Map<string, string>()
  for (const part of rest.split(
    /^(?=(?:export |declare )*(?:declare |abstract )*(?:interface|type|function|const|class|enum) )/m,
  )) {
    const [, name] =
      /^(?:export |declare |abstract )*(?:interface|type|function|const|class|enum) ([\w$]+)/.exec(part) ?? []
    if (name === undefined) continue
    if (part.startsWith('export ')) exported.push(name)
    own.set(name, `${own.get(name) ?? ''}${part.trim()}\n`)
  }
  return { own, imported: imported, exported }
}

/** `Service` with the types of its compiled members left out. */
const opaque = (name: string, text: string): string =>
  name !== 'Service' ? text : text.replace(/^( {4}readonly (?!declaration)\w+\??): .*;$/gm, '$1;')

/** The public types below a folder of `.d.ts` files. */
export function publicTypesOf(folder: string, entries: readonly string[] = ['index.d.ts', 'testing.d.ts']): string {
  const files = new Map<string, File>()
  const fileOf = (path: string): File => {
    const known = files.get(path) ?? read(path)
    files.set(path, known)
    return known
  }
  /** The declaration of a name in a file; null for names of the language and of other packages. */
  const found = (path: string, name: string): Declared | null => {
    const { own, imported } = fileOf(path)
    const text = own.get(name)
    if (text !== undefined) return { file: path, text: opaque(name, text) }
    const from = imported.get(name)
    return from ? found(...from) : null
  }
  const shown = new Map<string, string>()
  const waiting: { readonly title: string; readonly declared: Declared; readonly name: string }[] = []
  for (const entry of entries.map((one) => join(folder, one)))
    for (const name of [...fileOf(entry).exported].sort()) {
      const declared = found(entry, name)
      if (declared === null || shown.has(declared.file + declared.text)) continue
      shown.set(declared.file + declared.text, name)
      waiting.push({ title: name, declared, name })
    }
  let count = 0
  const parts: string[] = []
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { declared, title } = next
    const text = declared.text.replace(identifier, (word) => {
      const other = found(declared.file, word)
      if (other === null) return word
      const before = shown.get(other.file + other.text)
      if (before !== undefined) return before
      const made = `Inner${++count}`
      shown.set(other.file + other.text, made)
      waiting.push({ title: made, declared: other, name: word })
      return made
    })
    parts.push(`// ${title}\n${text.replace(/^export /, '').replace(/^declare /, '')}`)
  }
  return parts.join('\n')
}

/** The public types of the present code, as `npm run build` emits them. */
export function builtPublicTypes(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bylaw-face-'))
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const program = join(root, 'node_modules/typescript/bin/tsc')
  try {
    execFileSync(process.execPath, [program, '-p', 'tsconfig.build.json', '--outDir', folder], { cwd: root })
    return publicTypesOf(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The differences between two texts of public types, by declaration. */
export function publicTypeDifferences(was: string, is: string): string[] {
  const parts = (text: string) =>
    new Map(text.split(/^(?=\/\/ )/m).map((part) => [part.slice(3, part.indexOf('\n')), part]))
  const [before, now] = [parts(was), parts(is)]
  return [...new Set([...before.keys(), ...now.keys()])].flatMap((name) => {
    const [old, own] = [before.get(name), now.get(name)]
    if (old === own) return []
    if (old === undefined || own === undefined) return [`${name} is ${own === undefined ? 'missing' : 'new'}`]
    const lines = (text: string, other: string) =>
      text.split('\n').filter((line) => line.trim() !== '' && !other.split('\n').includes(line))
    return [`${name}: was ${lines(old, own).join(' ')}, is ${lines(own, old).join(' ')}`]
  })
}
