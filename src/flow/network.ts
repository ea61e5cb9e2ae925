/** Network: finds a client's address behind proxies, and the block of addresses that it owns. Part 8, request counts. */

const ipv4Pattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/
const ipv4Prefix = [0, 0, 0, 0, 0, 0xffff]

/** The eight groups of an address; IPv4 is mapped into IPv6. Null if the text is not an address. */
function addressGroups(text: string): readonly number[] | null {
  const bytes = ipv4Pattern.exec(text)?.slice(1).map(Number)
  if (bytes) {
    const [a = 0, b = 0, c = 0, d = 0] = bytes
    return bytes.every((byte) => byte < 256) ? [...ipv4Prefix, a * 256 + b, c * 256 + d] : null
  }
  const bare = text.replace(/%[\w.-]+$/, '')
  if (!bare.includes(':') || !URL.canParse(`http://[${bare}]`)) return null
  const [head = '', tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const [before, behind] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== '')) as [
    string[],
    string[],
  ]
  const zeros = tail === undefined ? 0 : 8 - before.length - behind.length
  return [...before, ...Array.from({ length: zeros }, () => '0'), ...behind].map((group) => Number.parseInt(group, 16))
}

const isIpv4 = (groups: readonly number[]): boolean => ipv4Prefix.every((group, i) => groups[i] === group)

/** The addresses that one client is assumed to own: one of IPv4, or a /64 network of IPv6. R184. */
export function clientBlock(address: string): string {
  if (!address.includes(':')) return address
  const groups = addressGroups(address)
  if (!groups) return address
  if (!isIpv4(groups))
    return groups
      .slice(0, 4)
      .map((group) => group.toString(16))
      .join(':')
  const [high = 0, low = 0] = groups.slice(6)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

export interface Network {
  readonly groups: readonly number[]
  readonly bits: number
}

/** Parses an address, or a network such as `10.0.0.0/8`; undefined if the text is neither. */
export function networkOf(text: string): Network | undefined {
  const [address = '', length, ...more] = text.trim().split('/')
  const groups = addressGroups(address)
  if (!groups || more.length > 0) return undefined
  const own = address.includes(':') ? 128 : 32
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined
  const bits = length === undefined ? own : Number(length)
  return bits <= own ? { groups, bits: bits + 128 - own } : undefined
}

export function isInNetwork(groups: readonly number[], { groups: own, bits }: Network): boolean {
  return own.every((group, i) => {
    const counted = Math.min(16, Math.max(0, bits - i * 16))
    return group >> (16 - counted) === (groups[i] as number) >> (16 - counted)
  })
}

/** Removes quotes, and the port that some proxies append: `192.0.2.1:5678`, `[2001:db8::1]:443`. */
function withoutPort(address: string): string {
  const text = /^"(.*)"$/.exec(address)?.[1] ?? address
  return /^\[(.+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\da-f:]*[\d.]+\.\d+):\d{1,5}$/i.exec(text)?.[1] ?? text
}

/** The address of the client: only trusted proxies may report it. R184. */
export function clientAddress(peer: string, forwarded: string | undefined, trusted: readonly Network[]): string {
  if (trusted.length === 0 || forwarded === undefined) return peer
  const way = [...forwarded.split(',').map((one) => withoutPort(one.trim())), peer]
  for (;;) {
    const last = way.pop() as string
    const groups = addressGroups(last)
    const before = way.at(-1)
    if (!groups || before === undefined || !addressGroups(before)) return last
    if (!trusted.some((network) => isInNetwork(groups, network))) return last
  }
}
