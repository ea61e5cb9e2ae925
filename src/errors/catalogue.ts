/** Catalogue: every error type, its parent (which determines `types` and the status) and its title. Part 7, error body. */

interface ErrorType {
  /** The more general type; only `error` has none. */
  readonly parent: string | null
  /** The status; by default that of the parent. */
  readonly status?: number
  /** The title that a service declares. */
  readonly title?: string
}

/** Error types by name. `extendCatalogue` adds those that a service declares. */
export type Catalogue = ReadonlyMap<string, ErrorType>

/** The type of a refusal, with its parent if that is not the one of the catalogue. */
export type RefusalType = string | readonly [type: string, under: string]

const errorClasses = {
  'invalid-request': [
    400,
    'client-error',
    `malformed-request invalid-host invalid-url-encoding unexpected-body body-required malformed-json duplicate-json-key
     invalid-encoding invalid-precondition credentials-in-url ambiguous-credentials`,
  ],
  'validation-failed': [
    400,
    'invalid-request',
    `field-required unknown-field read-only-field immutable-field invalid-type invalid-format invalid-value out-of-range
     too-long too-short too-many-items`,
  ],
  'invalid-query': [
    400,
    'invalid-request',
    `unknown-parameter repeated-parameter invalid-parameter-value unsupported-filter unsupported-operator unsupported-sort
     unsupported-embed unsupported-field unsupported-pagination pagination-conflict invalid-cursor cursor-mismatch cursor-expired`,
  ],
  'invalid-idempotency-key': [
    400,
    'invalid-request',
    'idempotency-key-missing idempotency-key-invalid idempotency-key-mismatch',
  ],
  'invalid-version': [400, 'invalid-request', 'unsupported-version version-conflict version-required'],
  unauthenticated: [401, 'client-error', 'credentials-missing invalid-credentials'],
  forbidden: [403, 'client-error', 'access-denied insufficient-scope'],
  'not-found': [404, 'client-error', 'resource-not-found route-not-found unknown-version'],
  'method-not-allowed': [405, 'client-error', ''],
  'not-acceptable': [406, 'client-error', ''],
  'request-timeout': [408, 'client-error', ''],
  conflict: [
    409,
    'client-error',
    `idempotency-key-reused idempotency-key-payload-mismatch idempotency-in-progress already-exists invalid-state
     patch-conflict has-dependents`,
  ],
  gone: [410, 'client-error', 'resource-deleted version-retired'],
  'precondition-failed': [412, 'client-error', ''],
  'content-too-large': [413, 'client-error', ''],
  'uri-too-long': [414, 'client-error', ''],
  'unsupported-media-type': [415, 'client-error', 'unsupported-charset unsupported-content-coding'],
  'range-not-satisfiable': [416, 'client-error', ''],
  'expectation-failed': [417, 'client-error', ''],
  'misdirected-request': [421, 'client-error', ''],
  unprocessable: [422, 'client-error', ''],
  'precondition-required': [428, 'client-error', ''],
  'too-many-requests': [429, 'client-error', 'quota-exceeded too-many-concurrent-requests'],
  'header-fields-too-large': [431, 'client-error', ''],
  'internal-error': [500, 'server-error', 'version-conversion-failed'],
  'not-implemented': [501, 'server-error', ''],
  unavailable: [503, 'server-error', 'timeout overloaded maintenance dependency-unavailable'],
} as const satisfies Record<string, readonly [status: number, parent: string, types: string]>

type Classes = typeof errorClasses
type Words<Text> = Text extends `${infer A}${' ' | '\n'}${infer B}` ? Words<A> | Words<B> : Exclude<Text, ''>

/** The statuses of all types of the catalogue, for the type checker. */
export type ErrorStatuses = {
  [T in { [C in keyof Classes]: C | Words<Classes[C][2]> }[keyof Classes]]: {
    [C in keyof Classes]: T extends C | Words<Classes[C][2]> ? Classes[C][0] : never
  }[keyof Classes]
}

export const catalogue: Catalogue = buildCatalogue()

function buildCatalogue(): Catalogue {
  const types = new Map<string, ErrorType>([
    ['error', { parent: null }],
    ['client-error', { parent: 'error', status: 400 }],
    ['server-error', { parent: 'error', status: 500 }],
  ])
  for (const [name, [status, parent, below]] of Object.entries(errorClasses)) {
    types.set(name, { parent, status })
    for (const type of below.split(/\s+/).filter(Boolean)) types.set(type, { parent: name })
  }
  return types
}

/** The catalogue with the types that a service declares. Only the first of the declared `parents` counts. R150, R160. */
export function extendCatalogue(declared: Readonly<Record<string, DeclaredError>>): Catalogue {
  const types = new Map(catalogue)
  for (const [name, { status, parents = [], title }] of Object.entries(declared)) {
    const [parent = 'error'] = parents
    const above = status < 500 ? 'client-error' : 'server-error'
    types.set(name, { parent: parent === 'error' ? above : parent, status, ...(title !== undefined && { title }) })
  }
  return types
}

/** A type of error that a service declares. */
export interface DeclaredError {
  /** The status of the answer: `status: 409`. */
  readonly status: number
  /** The more general types, the nearest one first; `client-error` or `server-error` by default: `parents: ['conflict']`. */
  readonly parents?: readonly string[]
  /** What it is called, as the `title` of problem documents; by default its name in words: `title: 'Payment missing'`. */
  readonly title?: string
  /** When it occurs and what a client can do: `description: 'The customer owes too much.'`. */
  readonly description?: string
  /** A message, for the API's description: `example: 'The invoice of March is not paid.'`. */
  readonly example?: string
}

/** The chain of types from a type to `error`. `under` replaces the parent of the type. R150. */
export function typeChain(types: Catalogue, type: string, under?: string): readonly string[] {
  const chain: string[] = []
  for (let name: string | null = type; name !== null; ) {
    chain.push(name)
    name = name === type && under !== undefined ? under : (types.get(name)?.parent ?? null)
  }
  return chain
}

/** The status of a type: its own, or that of the nearest type above it. */
export function typeStatus(types: Catalogue, type: string, under?: string): number {
  const [own, ...above] = typeChain(types, type, under)
  const names = under === undefined ? [own as string, ...above] : above
  for (const name of names) {
    const status = types.get(name)?.status
    if (status !== undefined) return status
  }
  return 500
}

/** The name in the newest version of a type, by the names that versions give to the types of the newest one. */
export const newestType = (type: string, names: Iterable<readonly [newest: string, own: string]>): string =>
  [...names].find(([, own]) => own === type)?.[0] ?? type

/** The title of a type: the declared one, or its name in words: `resource-not-found` is `Resource not found`. */
export function typeTitle(types: Catalogue, type: string): string {
  const declared = types.get(type)?.title
  if (declared !== undefined) return declared
  const words = type.replaceAll('-', ' ').replace(/\b(json|uri|url)\b/g, (name) => name.toUpperCase())
  return words.charAt(0).toUpperCase() + words.slice(1)
}
