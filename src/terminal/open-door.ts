/** Open door: listens, and explains why it cannot. */
import type { ServerContext } from '../corridor/server-context.ts'
import type { Log } from '../flow/world.ts'
import { type ListeningServer, type ListenPlace, listen } from '../http/listening.ts'
import { type MetricsServer, serveMetrics } from '../http/metrics-server.ts'
import type { MetricFamily } from '../telemetry/metrics.ts'
import { commandError } from './command-error.ts'

export async function openDoor(context: ServerContext, at: ListenPlace): Promise<ListeningServer> {
  try {
    return await listen(context, at)
  } catch (error) {
    throw listenFailure(error as NodeJS.ErrnoException, at.port, at.host)
  }
}

/** Serves the metrics. If that fails, the error explains why. */
export async function openMetricsDoor(
  read: () => Promise<readonly MetricFamily[]>,
  at: ListenPlace,
  log: Log,
): Promise<MetricsServer> {
  try {
    return await serveMetrics(read, at, log)
  } catch (error) {
    throw listenFailure(error as NodeJS.ErrnoException, at.port, at.host, '--metrics')
  }
}

function listenFailure(error: NodeJS.ErrnoException, port: number, host: string, flag = '--port'): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return commandError(
        `Port ${port} on ${host} is in use by another program.`,
        `Stop that one, or choose another port with ${flag}; ${flag} 0 takes a free one.`,
      )
    case 'ERR_SOCKET_BAD_PORT':
      return commandError(`There is no port ${port}.`, 'Choose one from 0 to 65535; 0 takes a free one.')
    case 'EACCES':
      return commandError(`Port ${port} is not allowed to this user.`, `Choose one from 1024 on with ${flag}.`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return commandError(
        `${host} is not an address of this machine.`,
        'Choose with --host: 127.0.0.1 for this machine alone, 0.0.0.0 for all its networks.',
      )
    default:
      return error
  }
}
