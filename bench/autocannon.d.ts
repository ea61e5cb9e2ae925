/** The types of the parts of autocannon that are used here. */
declare module 'autocannon' {
  export interface Sent {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
  }
  interface Options {
    readonly url: string
    readonly connections: number
    readonly duration: number
    readonly requests: readonly { readonly setupRequest: (request: Sent) => Sent }[]
  }
  interface Result {
    readonly requests: { readonly average: number }
    readonly latency: { readonly p50: number; readonly p99: number }
    readonly non2xx: number
    readonly errors: number
    readonly statusCodeStats?: Readonly<Record<string, { readonly count: number }>>
  }
  export default function autocannon(options: Options): Promise<Result>
}
