/** Nodes: the processes of the service, which are killed and started again. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Backend } from './backend.ts'
import { launch, type Server } from './server.ts'

/** One process of the service. */
interface Node {
  port: number
  up: Promise<unknown>
  server: Server | null
  starts: number
  /** Whether its end is intended. */
  expected: boolean
}

export interface Nodes {
  /** The port of a process that listens, or did. */
  readonly port: () => number
  /** Resolves when a process listens. */
  readonly up: () => Promise<unknown>
  readonly start: () => Promise<unknown>
  /** Kills a process, or makes the database fail, and restores it. */
  readonly crash: () => Promise<void>
  /** Resolves when all processes are ready again, which takes a moment after a failure of the database. */
  readonly ready: () => Promise<void>
  readonly close: () => Promise<void>
  /** Whether it ever ran: a service that does not start again is a violation, one that never started is not. */
  readonly stood: () => boolean
  readonly failures: string[]
}

interface Setting {
  readonly backend: Backend
  readonly mutant: string | null
  readonly random: (below: number) => number
  /** Called after every kill with the number of lost unsynced writes. */
  readonly killed: (lost: number) => void
}

// long because: its functions share the processes
export function nodesOf({ backend, mutant, random, killed }: Setting): Nodes {
  const failures: string[] = []
  const nodes = Array.from(
    { length: backend.nodes },
    (): Node => ({ port: 0, up: Promise.resolve(), server: null, starts: 0, expected: true }),
  )
  const any = (): Node => nodes[random(nodes.length)] as Node
  let stood = false

  function start(node: Node): Promise<unknown> {
    const number = ++node.starts
    node.expected = false
    node.up = launch({ ...backend.next(), mutant }).then((server) => {
      node.server = server
      node.port = server.port
      stood = true
      server.ended.then(() => {
        if (node.starts === number && !node.expected) failures.push('the service ended by itself')
      })
    })
    return node.up
  }

  async function kill(node: Node): Promise<void> {
    node.expected = true
    node.port = 0
    await node.server?.kill()
    killed(backend.crashed())
  }

  async function fall(): Promise<void> {
    killed(0)
    await backend.fall?.()
  }

  /** Does not start processes while the database fails, as their start would be refused. */
  async function crash(fallen: readonly Node[], alone: boolean): Promise<void> {
    await Promise.all([...fallen.map(kill), ...(alone ? [] : [fall()])])
    await Promise.all(fallen.map(start))
  }

  return {
    port: () =>
      (nodes.find(({ port }) => port !== 0 && random(2) === 0) ?? nodes.find(({ port }) => port !== 0) ?? any()).port,
    up: () => Promise.any(nodes.map(({ up }) => up)),
    start: async () => {
      for (const node of nodes) await start(node)
    },
    crash: async () => {
      const what = backend.fall ? random(4) : 0
      await crash(what === 1 ? nodes : what === 2 ? [] : [any()], what < 2)
    },
    ready: async () => {
      for (const { port } of nodes) await readiness(port, failures)
    },
    close: async () => {
      for (const node of nodes) {
        node.expected = true
        await node.server?.kill()
      }
      await backend.close()
    },
    stood: () => stood,
    failures,
  }
}

async function readiness(port: number, failures: string[]): Promise<void> {
  const until = performance.now() + 30_000
  while ((await fetch(`http://127.0.0.1:${port}/readyz`)).status !== 200) {
    if (performance.now() > until) {
      failures.push('a process is not ready thirty seconds after its database came back')
      return
    }
    await pause(20)
  }
}
