import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWorld } from '../../test/help/world.ts'
import { runJobsEvery } from './worker.ts'

test('a worker stops although the store cannot give it an operation at that moment', async () => {
  const taking = Promise.withResolvers<never>()
  const warned: string[] = []
  const log = { info: () => {}, error: () => {}, warn: (_: object, message: string) => void warned.push(message) }
  const world = { ...testWorld(), due: () => 0 }
  const execute = () => taking.promise
  const sources = { world, log, store: { execute }, ownHandlers: { handlers: {} }, resources: new Map() }
  const { wake, stop } = runJobsEvery({ sources, settings: { workers: 1 } } as never, 1000)
  wake()
  await new Promise(setImmediate)
  const stopped = stop()
  taking.reject(new Error('The store is away.'))
  await stopped
  assert.deepEqual(warned, ['Due operations could not be read; the next try is soon.'])
})
