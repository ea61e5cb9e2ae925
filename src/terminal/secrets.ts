/** The secrets of a service: from the environment, from a file that it names or, in development, from the store itself. Part 5, authentication. */
import { readFileSync } from 'node:fs'
import type { Store } from '../flow/store.ts'
import type { Service } from '../service.ts'
import { commandError } from './command-error.ts'

/** What signs cursors: BYLAW_SECRET, several of them while they are changed, else what the store keeps. R85. */
export const cursorSecretsOf = (store: Store): readonly string[] => [
  ...secretsFromEnvironment('BYLAW_SECRET'),
  store.secret,
]

/**
 * What API keys are sealed with: BYLAW_PEPPER, several of them while they are changed, else what the store keeps. In production that
 * is not enough, as whoever reads the store could then try keys against it. R172.
 */
export function peppersOf(service: Service, store: Store, needed = false): readonly string[] {
  const peppers = secretsFromEnvironment('BYLAW_PEPPER')
  if (peppers.length > 0) return peppers
  if (process.env.NODE_ENV !== 'production') return [store.secret]
  if (!needed && (!hasAccessRules(service) || service.settings.auth.tokens !== null)) return [] // no key is taken, and none is needed
  throw commandError(
    'API keys need a pepper that is not kept in the database, and with NODE_ENV=production none is made up.',
    'Make one with:  openssl rand -base64 32\nGive it to all nodes as BYLAW_PEPPER, or the file that holds it as BYLAW_PEPPER_FILE.',
  )
}

/** Whether there is something that not everybody may do. */
export const hasAccessRules = ({ places }: Service): boolean =>
  places.some(({ methods }) => [...methods.values()].some(({ rule }) => rule !== 'public'))

/** Secrets of the environment, parted by commas, or those of the file that it names. */
function secretsFromEnvironment(name: string): readonly string[] {
  const file = process.env[`${name}_FILE`]
  const text = process.env[name] || (file ? readSecretFile(name, file) : '')
  const secrets = text.split(',').flatMap((secret) => secret.trim() || [])
  if (secrets.every((secret) => secret.length >= 16)) return secrets
  throw commandError(`A secret of ${name} is shorter than 16 characters.`, 'Make one with: openssl rand -base64 32')
}

function readSecretFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw commandError(
      `The file of ${name}_FILE cannot be read: ${(error as Error).message}.`,
      'Name one that this user may read.',
    )
  }
}
