/** Preloaded into the service: applies a mutant to its source text, or fails if the text does not match. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Mutant, mutants } from './mutants.ts'

const [store, name] = (process.env.TORTURE_MUTANT ?? '').split(' ') as [keyof typeof mutants, string]
const { file, changes } = (mutants[store] as Readonly<Record<string, Mutant>>)[name] as Mutant
const target = new URL(`../../src/${file}`, import.meta.url).href

registerHooks({
  load: (url, context, next) => (url === target ? { ...next(url, context), source: changed(url) } : next(url, context)),
})

function changed(url: string): string {
  return changes.reduce(
    (text, { from, to }) => {
      if (text.split(from).length !== 2)
        throw new Error(
          `The mutant ${name} has no place: src/${file} does not say once\n${from}\nBring test/torture/mutants.ts up to date.`,
        )
      return text.replace(from, () => to)
    },
    readFileSync(fileURLToPath(url), 'utf8'),
  )
}
