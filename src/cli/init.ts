/** `bylaw init`: makes a project of the template that the package brings, with resources, a handler, a test and a Dockerfile. */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isTooOld, neededNode, nodePackage } from '../../bin/node-version.js'
import { listInWords } from '../formats/naming.ts'
import type { Command, CommandInput } from '../terminal/command.ts'
import { commandError } from '../terminal/command-error.ts'

export const initCommand: Command = {
  name: 'init',
  about: 'Makes a new project in a folder.',
  details:
    'The project has two resources, a handler, a test, rows to begin with, and a Dockerfile. Nothing is downloaded until ' +
    '`npm install`, and no file is overwritten.',
  arguments: [{ name: 'folder', about: 'the folder of the new project' }],
  flags: {},
  examples: ['bylaw init my-api', 'bylaw init .'],
  run,
}

const root = new URL('../../', import.meta.url)
const template = fileURLToPath(new URL('template/', root))
/** Files that have another name in the template: npm would leave `.gitignore` out, and take `package.json` for a package. */
const renamed = { gitignore: '.gitignore', 'package.template.json': 'package.json' }

async function run({ arguments: [path = ''] }: CommandInput): Promise<number> {
  const folder = resolve(path)
  const name = projectName(folder)
  refuseExisting(folder, path)
  cpSync(template, folder, { recursive: true })
  for (const [from, to] of Object.entries(renamed)) renameSync(join(folder, from), join(folder, to))
  for (const file of ['api.ts', '.env.example']) rewrite(join(folder, file), (text) => text.replaceAll('my-api', name))
  rewrite(join(folder, 'package.json'), (text) => packageFile(JSON.parse(text), name))
  console.log(nextSteps(name, folder, path))
  return 0
}

/** The name of a folder as the name of a service and a package. */
function projectName(folder: string): string {
  const words = basename(folder)
    .toLowerCase()
    .match(/[a-z][a-z0-9]*/g)
  if (words) return words.join('-')
  throw commandError(
    `The folder "${basename(folder)}" gives the project no name: it needs a letter from a to z.`,
    'Choose another folder, as in:  bylaw init my-api',
  )
}

function refuseExisting(folder: string, path: string): void {
  const names: Readonly<Record<string, string>> = renamed
  const files = readdirSync(template).map((file) => names[file] ?? file)
  const existing = files.filter((file) => existsSync(join(folder, file)))
  if (existing.length === 0) return
  throw commandError(
    `The folder ${path} has ${listInWords(existing, 'and')} already; nothing was written.`,
    'Choose a new folder, as in:  bylaw init my-api',
  )
}

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, 'utf8')))
}

/** The project depends on this release, and on a Node of its own where that of the machine is too old. */
function packageFile(file: { devDependencies: object }, name: string): string {
  const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  const devDependencies = { ...file.devDependencies, ...(isTooOld && { [nodePackage]: '^26.0.0' }) }
  return `${JSON.stringify({ ...file, name, dependencies: { bylaw: `^${version}` }, devDependencies }, null, 2)}\n`
}

function nextSteps(name: string, folder: string, path: string): string {
  const here = folder === process.cwd()
  const steps = [...(here ? [] : [`cd ${/\s/.test(path) ? JSON.stringify(path) : path}`]), 'npm install', 'npm run dev']
  return [
    `${name} is in ${here ? 'this folder' : path}: api.ts declares it, handlers.ts has its rules, and api.test.ts tests them.`,
    ...(isTooOld ? [`It brings a Node of its own, as ${process.version} is older than ${neededNode}.`] : []),
    'Next:',
    ...steps.map((step) => `  ${step}`),
  ].join('\n')
}
