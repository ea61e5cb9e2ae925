/** Deployment: the files of examples/deploy, as their tools read them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

export type Variables = Readonly<Record<string, string>>

const textOf = (name: string): string => readFileSync(new URL(`../../examples/deploy/${name}`, import.meta.url), 'utf8')

/** The documents of a YAML file; throws if one has an error, or a key twice. */
export function yamlOf(name: string, text = textOf(name)) {
  return parseAllDocuments(text, { uniqueKeys: true }).map((document) => {
    assert.deepEqual([...document.errors, ...document.warnings].map(String), [], name)
    return document.toJS()
  })
}

/** `NAME=value` lines. */
export const variablesOf = (text: string): Variables =>
  Object.fromEntries(
    text
      .split('\n')
      .flatMap((line) => [/^([A-Z_]+)=(.+)$/.exec(line)?.slice(1, 3) ?? []].filter((one) => one.length > 0)),
  )

interface ComposeService {
  readonly image?: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | number>>
  readonly ports?: readonly string[]
  readonly configs?: readonly { readonly source: string; readonly target: string }[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly configs: Readonly<Record<string, { readonly file?: string; readonly content?: string }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

/** The variables of `.env.example`, which has no values that could be left as they are. */
export function exampleVariables(): Variables {
  const names = [...textOf('.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)]
  for (const [line, , value] of names) assert.equal(value, '', line)
  return Object.fromEntries(names.map(([, name = '']) => [name, `value-of-${name.toLowerCase()}`]))
}

/** compose.yaml with its variables replaced, as Compose does. */
export function composeOf(variables: Variables): Compose {
  const text = textOf('compose.yaml').replace(/\$\{([A-Z_]+)(?::\?[^}]*)?\}/g, (_, name: string) => {
    assert.ok(variables[name], `the variable ${name} is not in .env.example`)
    return variables[name]
  })
  return yamlOf('compose.yaml', text)[0] as Compose
}

/** An instruction of the Dockerfile; its words, if they are a JSON array. */
export interface Instruction {
  readonly name: string
  readonly text: string
  readonly words: readonly string[]
}

export function dockerfile(): readonly Instruction[] {
  const lines = textOf('Dockerfile')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name = '', text = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    const array = /\[".*"\]$/.exec(text)?.[0]
    return { name, text, words: array === undefined ? [] : JSON.parse(array) }
  })
}

export const instruction = (name: string): Instruction => {
  const found = dockerfile().find((one) => one.name === name)
  assert.ok(found, `the Dockerfile has no ${name}`)
  return found
}

/** The values of a key in the section [Service] of the systemd unit. */
export function unitValues(key: string): readonly string[] {
  const lines = textOf('shop.service').split('\n')
  const section = lines.slice(lines.indexOf('[Service]'))
  return section.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))
}

export const deployText = textOf
