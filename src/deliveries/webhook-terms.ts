/**
 * Webhook terms: the options of webhooks that a process has besides the declaration: its secrets, and the addresses that it
 * may send to. Part 6.
 */
import type { ServiceWorld } from '../flow/world.ts'
import type { PrivateTargets, TargetRules } from '../webhooks/address-guard.ts'
import { type SealedSecrets, sealedSecrets } from '../webhooks/sealed-secrets.ts'
import { ed25519Pair, hmacSecret } from '../webhooks/signature.ts'

class WebhookTerms implements TargetRules {
  privateTargets: PrivateTargets = false
  /** The peppers that seal secrets; without them no endpoint can be made. */
  peppers: readonly string[] = []
}

const makeTerms = (): WebhookTerms => new WebhookTerms()

export const webhookTerms = ({ state }: Pick<ServiceWorld, 'state'>): WebhookTerms => state.of(makeTerms, null)

const secretsOf = (world: Pick<ServiceWorld, 'state' | 'fillRandom'>): SealedSecrets =>
  sealedSecrets(webhookTerms(world).peppers, world)

/** A secret as it is kept: the one that it replaces signs until a time. */
interface KeptSecret {
  readonly secret: string
  readonly until: number | null
}

export function newSecret(signature: unknown, { fillRandom }: Pick<ServiceWorld, 'fillRandom'>) {
  const random = fillRandom(new Uint8Array(32))
  return signature === 'v1a' ? ed25519Pair(random) : { secret: hmacSecret(random), publicKey: null }
}

/** The secrets of an endpoint that sign at a time, the newest one first. */
export function signingSecrets(sealed: string, endpoint: string, world: ServiceWorld): readonly string[] {
  const kept = JSON.parse(secretsOf(world).open(sealed, endpoint)) as KeptSecret[]
  return kept.filter(({ until }) => until === null || until > world.now()).map(({ secret }) => secret)
}

export const sealFirst = (secret: string, endpoint: string, world: ServiceWorld): string =>
  secretsOf(world).seal(JSON.stringify([{ secret, until: null }]), endpoint)

/** Adds a new secret to the former ones, which keep signing until a time. */
export function sealNext(
  secret: string,
  former: string,
  { id, until }: { readonly id: string; readonly until: number },
  world: ServiceWorld,
): string {
  const secrets = secretsOf(world)
  const kept = JSON.parse(secrets.open(former, id)) as KeptSecret[]
  const ending = kept.map((one) => ({ ...one, until: Math.min(one.until ?? until, until) }))
  const all = [{ secret, until: null }, ...ending.filter((one) => one.until > world.now())]
  return secrets.seal(JSON.stringify(all.slice(0, 10)), id)
}
