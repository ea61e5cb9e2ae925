/** Load: imports the file of a declaration and returns the service that it exports. */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { f } from '../fields/field.ts'
import { listInWords, nearestName } from '../formats/naming.ts'
import { codeFrame, frameAt, linesOf } from '../frames/code-frame.ts'
import { placeFrame } from '../frames/declared-place.ts'
import type { Mistake } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import { commandError, indented } from './command-error.ts'

/** The service, or the mistakes of its declaration. Any other failure throws a command error. */
export type LoadResult =
  | { readonly service: Service; readonly mistakes: readonly [] }
  | { readonly mistakes: readonly Mistake[] }

const fileEndings = ['.ts', '.mts', '.js', '.mjs']

/** Loads the service of a file and adds to `files` the file itself and its own imports, even if loading fails. */
export async function loadService(file: string, files: Set<string> = new Set()): Promise<Service> {
  const loaded = await tryLoad(file, files)
  if ('service' in loaded) return loaded.service
  throw commandError(mistakesText(file, loaded.mistakes, files), '')
}

export async function tryLoad(file: string, files: Set<string> = new Set()): Promise<LoadResult> {
  const path = existingFile(file)
  files.add(path)
  trackImports(files)
  const exported = await importFile(file, path, files)
  if (Array.isArray(exported)) return { mistakes: exported }
  return { service: exportedService(file, exported as Record<string, unknown>), mistakes: [] }
}

/** All mistakes as text, each with the lines of the files where it is. */
export function mistakesText(file: string, mistakes: readonly Mistake[], files: Iterable<string>): string {
  const frames = mistakes.map(({ place }) => placeFrame(place, files))
  const lines = mistakes.map(({ place, reason, mend }, i) => {
    const frame = frames[i] === frames[i + 1] ? '' : frames[i] // shown once for mistakes at one place
    return `${i + 1}. ${place}\n   ${reason}\n   ${mend.trimEnd()}${frame ? `\n\n${indented(frame, '   ')}` : ''}`
  })
  return `${file} has ${mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`}.\n\n${lines.join('\n\n')}\n`
}

function existingFile(file: string): string {
  const path = resolve(file)
  if (!existsSync(path)) {
    const folder = dirname(path)
    const others = existsSync(folder) ? readdirSync(folder).filter((name) => fileEndings.includes(extname(name))) : []
    const guess = nearestName(basename(path), others)
    throw commandError(
      `There is no file ${file}${file === path ? '' : ` (${path})`}.`,
      guess
        ? `Did you mean ${join(dirname(file), guess)}?`
        : 'Name the file whose default export is made by service({…}).',
    )
  }
  if (!statSync(path).isFile() || !fileEndings.includes(extname(path)))
    throw commandError(
      `${file} is not a file that can hold a declaration.`,
      `Name a file that ends in ${listInWords(fileEndings)}.`,
    )
  return realpathSync(path)
}

/** Resolves `bylaw` to this installation in every file, and loads TypeScript as modules whatever package.json says. */
function trackImports(files: Set<string>): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'bylaw' || specifier.startsWith('bylaw/'))
        return next(specifier, { ...context, parentURL: import.meta.url })
      const { parentURL = '' } = context
      const own = parentURL.startsWith('file:') && files.has(fileURLToPath(parentURL))
      if (own && specifier.startsWith('.')) files.add(fileURLToPath(new URL(specifier, parentURL))) // even if it is missing
      const resolved = next(specifier, context)
      if (own && resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/'))
        files.add(fileURLToPath(resolved.url))
      const typed =
        /\.m?ts$/.test(resolved.url) && resolved.url.startsWith('file:') && files.has(fileURLToPath(resolved.url))
      return typed ? { ...resolved, format: 'module-typescript' } : resolved
    },
  })
}

async function importFile(file: string, path: string, files: ReadonlySet<string>): Promise<unknown> {
  try {
    const exported = await import(pathToFileURL(path).href)
    void (exported.default as Partial<Service> | undefined)?.resources // this getter throws the mistakes of changes
    return exported
  } catch (error) {
    const { mistakes } = error as { mistakes?: readonly Mistake[] }
    if (Array.isArray(mistakes)) return mistakes
    throw commandError(`${file} cannot be loaded: ${importFailureText(error, files)}`, importMend(error))
  }
}

/** The message with the place in the user's own files, without the frames of the engine. */
function importFailureText(error: unknown, files: ReadonlySet<string>): string {
  if (!(error instanceof Error)) return `it throws ${JSON.stringify(error)}.`
  const stack = error.stack ?? ''
  const [excerpt] = /^(?:file:\/\/)?\/.*:\d+\n(?:.*\n)*?(?=\n|\w*Error)/.exec(stack) ?? ['']
  const place = excerpt === '' ? codeFrame(stack) || importFrame(error.message, files) : excerpt.trimEnd()
  return `${error.name}: ${error.message}${place === '' ? '' : `\n\n${place}\n`}`
}

/** The import of a module that cannot be found; its error has no place. */
function importFrame(message: string, files: ReadonlySet<string>): string {
  const [, missing = '', by = ''] = /'([^']+)' imported from (.+)$/.exec(message) ?? []
  const lines = files.has(by) ? linesOf(by) : []
  const at = lines.findIndex((line) => /['"]/.test(line) && line.includes(basename(missing)))
  return at < 0 ? '' : frameAt(by, at + 1, (lines[at] as string).indexOf(basename(missing)) + 1)
}

function importMend(error: unknown): string {
  const { code, message = '' } = error as NodeJS.ErrnoException
  const [, kind] = /^f\.(\w+) is not a function$/.exec(message) ?? []
  const guess = kind && nearestName(kind, Object.keys(f))
  if (kind) return guess ? `Did you mean f.${guess}?` : `The kinds of fields are ${listInWords(Object.keys(f), 'and')}.`
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return 'Node runs TypeScript by leaving the types out, so an enum, a namespace or a parameter property does not run. Write an object, a union or a field instead.'
  if (code === 'ERR_MODULE_NOT_FOUND' && message.includes('Cannot find package'))
    return 'Install the package where the file lies.'
  if (code === 'ERR_MODULE_NOT_FOUND') return 'Imports name the file as it is, with its ending: `./prices.ts`.'
  if (message.includes('Cannot use import statement'))
    return 'Write "type": "module" into package.json, or name the file .mjs or .ts.'
  return ''
}

function exportedService(file: string, exported: Readonly<Record<string, unknown>>): Service {
  const value = exported.default
  if (isService(value)) return value
  const mend = 'It has to end in:  export default service({ … })'
  const named = Object.keys(exported).find((name) => isService(exported[name]))
  if (value === undefined && named)
    throw commandError(`${file} exports its service as "${named}", not as its default.`, mend)
  if (value === undefined) throw commandError(`${file} has no default export.`, mend)
  throw commandError(`The default export of ${file} is ${describeKind(value)}, not a service.`, mend)
}

/** Recognized by its shape, as another copy of the package may have made it. */
function isService(value: unknown): value is Service {
  const { declaration, resources, places, tree } = (value ?? {}) as Partial<Service>
  return (
    typeof declaration === 'object' && resources instanceof Map && Array.isArray(places) && typeof tree === 'object'
  )
}

function describeKind(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? typeof value
  return 'resources' in value ? 'a declaration that was not given to service()' : 'an object'
}
