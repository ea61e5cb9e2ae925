/** Makes a declaration into one frozen Service: everything is checked, named and prepared here. Part 1. */

import { declarationMistakes } from './check/mistakes.ts'
import { places } from './endpoints/methods.ts'
import { allMethods } from './endpoints/options.ts'
import { plant } from './endpoints/route.ts'
import { view } from './endpoints/view.ts'
import { type Catalogue, type DeclaredError, extend } from './errors/catalogue.ts'
import type { Branch, Place } from './flow/route.ts'
import type { Concepts, Mistake, ResourceDeclaration } from './resources/declaration.ts'
import type { Checked } from './resources/infer.ts'
import { type Resource, resource } from './resources/resource.ts'
import { type DeclaredSettings, readSettings, type Settings } from './resources/settings.ts'

export interface Declaration {
  readonly name: string
  readonly resources: { readonly [name: string]: ResourceDeclaration }
  /** Structures that several resources use under one name. */
  readonly concepts?: Concepts
  readonly scopes?: { readonly [scope: string]: string }
  readonly errors?: { readonly [type: string]: DeclaredError }
  readonly settings?: DeclaredSettings
}

export interface Service<D extends Declaration = Declaration> {
  readonly declaration: D
  readonly name: string
  readonly settings: Settings
  readonly resources: ReadonlyMap<string, Resource>
  readonly errors: Catalogue
  readonly places: readonly Place[]
  readonly tree: Branch
  /** All methods that any place offers. */
  readonly methods: string
}

/** Checks a declaration and makes the service it declares; all mistakes are reported at once. R219. */
export function service<const D extends Declaration>(declared: Checked<D, Declaration>): Service<D> {
  const declaration = declared as D
  const mistakes = declarationMistakes(declaration)
  if (mistakes.length > 0) throw mistaken(declaration, mistakes)
  const settings = readSettings(declaration.settings, undefined, false, () => {})
  const around = { resources: declaration.resources, concepts: declaration.concepts ?? {}, settings }
  const resources = new Map(
    Object.entries(declaration.resources).map(([name, one]) => [name, resource(name, one, around)]),
  )
  const found = [...resources.values()].flatMap((one) => places({ resource: one, resources, view: view(one, 1) }))
  return Object.freeze({
    declaration,
    name: declaration.name,
    settings,
    resources,
    errors: extend(declaration.errors ?? {}),
    places: found,
    tree: plant(found),
    methods: allMethods(found),
  })
}

/** The error of a declaration with mistakes; it carries them as data too. */
function mistaken(declaration: unknown, mistakes: readonly Mistake[]): Error {
  const name = (declaration as Declaration | null)?.name
  const lines = mistakes.map(({ place, reason, mend }, i) => `${i + 1}. ${place}: ${reason}\n   ${mend}`)
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`
  const whose = typeof name === 'string' ? `The declaration of "${name}"` : 'The declaration'
  return Object.assign(new Error(`${whose} has ${count}.\n\n${lines.join('\n\n')}\n`), { mistakes })
}
