/** Checks names: an exported name is defined once, a file name has one meaning, and no name uses a retired word. */
import { isPublished, lineAt, mask, type Source } from './source.ts'

const declaration = /^(export\s+)?(?:async\s+)?(?:function\*?|const|let|class|type|interface)\s+([\w$]+)/gm

interface Declared {
  readonly name: string
  readonly path: string
  readonly line: number
  readonly exported: boolean
}

function declaredIn({ path, text }: Source): Declared[] {
  const { bare } = mask(text)
  return [...bare.matchAll(declaration)].map(({ 1: exported, 2: name = '', index }) => ({
    name,
    path,
    line: lineAt(bare, index),
    exported: exported !== undefined,
  }))
}

/** No exported name is defined in two files. */
export function exportedTwice(files: readonly Source[]): string[] {
  const known = new Map<string, string>()
  return files
    .filter(({ path }) => isPublished(path))
    .flatMap(declaredIn)
    .filter(({ exported }) => exported)
    .flatMap(({ name, path, line }) => {
      const other = known.get(name)
      known.set(name, other ?? path)
      return other === undefined || other === path
        ? []
        : `${path}:${line} exports ${name}, which ${other} defines too. One name has one meaning: name it by what differs.`
    })
}

/** File names that mean the same in several rooms: the parts of both stores, and commands named by their subject. */
const shared: Readonly<Record<string, readonly string[]>> = {
  'clock.ts': ['postgres', 'sqlite'],
  'failure.ts': ['postgres', 'sqlite'],
  'read-plan.ts': ['postgres', 'sqlite'],
  'migrate.ts': ['cli', 'postgres', 'sqlite'],
  'open.ts': ['postgres', 'sqlite', 'terminal'],
  'contract.ts': ['cli', 'contract'],
  'keys.ts': ['auth', 'cli'],
  'verify.ts': ['cli', 'proof'],
}

/** A file name occurs in one room only, unless it means the same in others. */
export function fileNames(files: readonly Source[]): string[] {
  const rooms = new Map<string, string[]>()
  for (const { path } of files.filter((one) => isPublished(one.path))) {
    const [, room = '', file] = path.split('/')
    if (file !== undefined) rooms.set(file, [...(rooms.get(file) ?? []), room])
  }
  return [...rooms].flatMap(([file, all]) => {
    const stray = all.filter((room) => !shared[file]?.includes(room))
    return all.length === 1 || stray.length === 0
      ? []
      : `${file} stands in the rooms ${all.join(', ')}. Name each by what differs, or add it to \`shared\` in test/help/words.ts if it means the same.`
  })
}

/** Files whose exports cannot share a word with the file name, each with the reason. */
const namedOtherwise: Readonly<Record<string, string>> = {
  'fields/choice-kinds.ts': 'kinds have the names that declarations use',
  'fields/number-kinds.ts': 'kinds have the names that declarations use',
  'fields/structure-kinds.ts': 'kinds have the names that declarations use',
  'fields/time-kinds.ts': 'kinds have the names that declarations use',
  'resources/infer.ts': 'types that are inferred have the names of what they describe',
  'resources/infer-actions.ts': 'types that are inferred have the names of what they describe',
  'resources/infer-faults.ts': 'types that are inferred have the names of what they describe',
}

const wordsOf = (name: string): string[] =>
  name
    .split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((word) => word.toLowerCase().replace(/ies$/, 'y'))

/** Whether two words have the same beginning, as `refuse` and `refusal`. */
function isSameWord(one: string, other: string): boolean {
  const shorter = Math.min(one.length, other.length)
  const start = Math.max(Math.min(4, shorter), shorter - 2)
  return one.slice(0, start) === other.slice(0, start)
}

/** At least one exported name of a file shares a word with the name of the file. */
export function exportsOfFiles(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => isPublished(path) && !Object.hasOwn(namedOtherwise, path.replace(/^src\//, '')))
    .flatMap((source) => {
      const names = declaredIn(source).flatMap(({ name, exported }) => (exported ? name : []))
      const own = wordsOf(source.path.replace(/^.*\/|\.ts$/g, ''))
      const isNamed = names.flatMap(wordsOf).some((word) => own.some((one) => isSameWord(word, one)))
      return isNamed || names.length === 0
        ? []
        : `${source.path} exports ${names.join(', ')}, and no name has a word of the file's name. Name the file by what it exports.`
    })
}

/** Words that had many meanings and are retired, with their replacements. */
const retiredWords: Readonly<Record<string, string>> = {
  reported: 'what is rendered, written or reported',
  beside: 'joined, extra or otherSide',
  edition: 'ServedVersion',
  epoch: 'StoredVersion',
  scene: 'the context it is, as EndpointContext',
  ground: 'the context it is',
  cellar: 'the store, or StoreContext',
  shelf: 'PreparedCollection',
  haul: 'PagePart',
  doomed: 'RowToRemove',
  gift: 'MovedValue',
  birth: 'NewRow',
  glance: 'what is read',
  desk: 'what it holds, as AuthDeps',
  guests: 'what it holds',
  passage: 'VersionedPath',
  lag: 'Backlog',
  fused: 'combined',
  gather: 'coalesce',
  aside: 'keptForOthers',
  brought: 'asStored',
  strain: 'overload',
  crowd: 'concurrency',
  veiled: 'unreadable',
  muted: 'masked',
  audible: 'readable',
  stretch: 'KeyRange',
}

/** Top-level names and file names do not use the retired words. */
export function words(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => isPublished(path))
    .flatMap((source) => [
      { name: source.path.replace(/^.*\/|\.ts$/g, ''), path: source.path, line: 1 },
      ...declaredIn(source),
    ])
    .flatMap(({ name, path, line }) =>
      name
        .split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/)
        .filter((word) => Object.hasOwn(retiredWords, word.toLowerCase()))
        .map(
          (word) =>
            `${path}:${line} names ${name} with "${word}", which had many meanings. Say ${retiredWords[word.toLowerCase()]}.`,
        ),
    )
}
