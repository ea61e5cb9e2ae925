/** Secrets: those of the service, from the environment, files or, in development, the store. Part 5, authentication. */
import { readFileSync } from 'node:fs'
import type { Store } from '../flow/store.ts'
import type { Service } from '../service.ts'
import { commandError } from './command-error.ts'

/** The secrets that sign cursors: BYLAW_SECRET (several during a rotation), then the secret of the store. R85. */
export const cursorSecretsOf = (store: Store): readonly string[] => [
  ...secretsFromEnvironment('BYLAW_SECRET'),
  store.secret,
]

/**
 * The peppers that API keys are hashed with: BYLAW_PEPPER (several during a rotation), otherwise the secret of the store. In
 * production this is refused, as anyone who can read the store could test keys against the hashes. R172.
 */
export function peppersOf(service: Service, store: Store, needed = false): readonly string[] {
  const peppers = secretsFromEnvironment('BYLAW_PEPPER')
  if (peppers.length > 0) return peppers
  if (process.env.NODE_ENV !== 'production') return [store.secret]
  // Without a pepper no API key is accepted. The service does not need keys if all operations are public, or if it accepts
  // tokens.
  if (!needed && (!hasAccessRules(service) || service.settings.auth.tokens !== null)) return []
  throw commandError(
    'API keys need a pepper that is not kept in the database, and with NODE_ENV=production none is generated.',
    'Make one with:  openssl rand -base64 32\nGive it to all nodes as BYLAW_PEPPER, or the file that holds it as BYLAW_PEPPER_FILE.',
  )
}

/** Whether any operation is not public. */
export const hasAccessRules = ({ places }: Service): boolean =>
  places.some(({ methods }) => [...methods.values()].some(({ rule }) => rule !== 'public'))

/** Secrets from an environment variable, separated by commas, or from the file that `NAME_FILE` names. */
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
