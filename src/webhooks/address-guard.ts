/** Address guard: the URLs and the addresses that deliveries may go to, so that a caller cannot reach private hosts. Part 6, webhooks. */
import { isIP, type LookupFunction } from 'node:net'
import { isInNetwork, type Network, networkOf } from '../flow/network.ts'

const networks = (...texts: readonly string[]): readonly Network[] => texts.map((text) => networkOf(text) as Network)

/** Unicast addresses of IPv4 that are not public, by the registry of IANA, and the one address inside of Azure that is not in it. */
const closed4 = networks(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16'],
)
const [mapped, globalUnicast, nat64, sixToFour] = networks(
  '::ffff:0:0/96',
  '2000::/3',
  '64:ff9b::/96',
  '2002::/16',
) as [Network, Network, Network, Network]
/** Parts of the global unicast space that are not public: protocols (Teredo among them) and documentation. */
const closed6 = networks('2001::/23', '2001:db8::/32', '3fff::/20')

/** Whether an address is public unicast. One that embeds an address of IPv4 is public if that one is; anything else than an address is not. R211. */
export function isPublicAddress(address: string): boolean {
  const groups = networkOf(address)?.groups
  if (!groups || address.includes('/')) return false
  const embedded = (at: number) => isPublic4([...mapped.groups.slice(0, 6), ...groups.slice(at, at + 2)])
  if (isInNetwork(groups, mapped) || isInNetwork(groups, nat64)) return embedded(6)
  if (isInNetwork(groups, sixToFour)) return embedded(1)
  return isInNetwork(groups, globalUnicast) && !closed6.some((network) => isInNetwork(groups, network))
}

const isPublic4 = (groups: readonly number[]): boolean => !closed4.some((network) => isInNetwork(groups, network))

/** The ports of other protocols, which browsers block too ("bad ports" of the Fetch Standard). */
const blockedPorts: ReadonlySet<number> = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109],
  ...[110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530],
  ...[531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190],
  ...[5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
])

export interface TargetRules {
  readonly privateTargets: PrivateTargets
}

/**
 * Whether private addresses, `localhost`, `http` and every port are allowed, for development only; `loopback`: those of this
 * machine alone.
 */
export type PrivateTargets = boolean | 'loopback'

/** What is wrong with the URL of an endpoint, as the rest of a sentence (`must be …`); null if deliveries may be sent there. R211. */
export function targetFault(text: string, { privateTargets }: TargetRules): string | null {
  const url = URL.parse(text)
  const free = url !== null && isFree(privateTargets, isLoopbackHost(targetHost(url)))
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && free))) return schemeFault(privateTargets)
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password.'
  if (free) return null
  if (blockedPorts.has(targetPort(url))) return 'must not have a port of another protocol.'
  return isPublicHost(targetHost(url)) ? null : 'must not have a private host.'
}

/** Whether a target is free of the rules for public ones. */
const isFree = (privateTargets: PrivateTargets, isLoopback: boolean): boolean =>
  privateTargets === 'loopback' ? isLoopback : privateTargets

function schemeFault(privateTargets: PrivateTargets): string {
  if (privateTargets === 'loopback') return 'must be an absolute https URL, or an http URL of this machine (localhost).'
  return privateTargets ? 'must be an absolute http or https URL.' : 'must be an absolute https URL.'
}

export const targetPort = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80))

/** The host without the brackets of an IPv6 address and without the dot of an absolute name. */
export const targetHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, '')

/** Whether a literal address is public; a name is judged by its addresses, when it is resolved. */
const isPublicHost = (host: string): boolean => (networkOf(host) ? isPublicAddress(host) : !isLocalName(host))
const isLocalName = (host: string): boolean => /(?:^|\.)localhost$/.test(host)
const isLoopbackHost = (host: string): boolean => (networkOf(host) ? isLoopbackAddress(host) : isLocalName(host))
const isLoopbackAddress = (address: string): boolean => address === '::1' || /^127(?:\.\d+){3}$/.test(address)

/** The addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** An attempt that was refused before anything was sent; its message is shown to the owner of the endpoint. */
export class RefusedTarget extends Error {}

/**
 * The `lookup` of a connection: Node connects to the addresses that it returns and to no others, so that a name that resolves
 * to other addresses a moment later changes nothing. A name with a private address among its addresses is refused. R211.
 */
export function guardedLookup(resolve: Resolve, { privateTargets }: TargetRules): LookupFunction {
  // The same message for both reasons: it does not reveal which private names exist.
  const refused = privateTargets === true ? 'The host does not resolve.' : 'The host has no public address.'
  return (host, { all }, done) => {
    const lookup = resolve(host).then((addresses) => {
      const list = addresses.map((address) => ({ address, family: isIP(address) }))
      const isAllowed = addresses.every((one) => isPublicAddress(one) || isFree(privateTargets, isLoopbackAddress(one)))
      const [first] = list
      if (!first || !isAllowed) throw new RefusedTarget(refused)
      return { list, first }
    })
    lookup.then(
      ({ list, first }) => (all ? done(null, list) : done(null, first.address, first.family)),
      (cause) => done(new RefusedTarget(refused, { cause }), []),
    )
  }
}
