/**
 * After a restore, and after rows that another process seeds, no list or item of any form is answered 304 for another content: moved
 * fields of older versions, embedded rows, pairs, summaries, derived fields, files, and rows that some callers see. R121, R143.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Service } from 'bylaw'
import { type As, testing } from 'bylaw/testing'
import { operatorDoor } from '../../src/seed/operator-door.ts'
import type { Service as MadeService } from '../../src/service.ts'
import { openStore } from '../../src/terminal/open.ts'
import { places } from '../help/places.ts'
import { backUp, recordRestore } from '../help/restoring.ts'
import { desk, office } from './kept-services.ts'
import { callers, opened, Trial, type Who } from './kept-trial.ts'
import { deskLists, deskWrites, officeLists, officeWrites } from './kept-writes.ts'

const trials = [
  ['office', office, officeLists, officeWrites, ['clients', 'orders', 'tags']],
  ['desk', desk, deskLists, deskWrites, ['tasks']],
] as const

for (const [store, placeOf] of places.slice(0, 1)) // test/store/restored.test.ts has the same on PostgreSQL, with fewer forms
  for (const [name, api, lists, writes] of trials)
    test(`R121 R143: tags from before a restore never match another content: ${name} (${store})`, {
      timeout: 300_000,
    }, async (t) => {
      const place = await placeOf(t)
      const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
      t.diagnostic(`seed ${seed}`)
      const declared = api as unknown as Service
      let services = opened(declared, place)
      const close = () => Promise.all(Object.values(services).map((one) => one.close()))
      t.after(close)
      let trial = new Trial(seed, services)
      const kindsOf = (): Readonly<Record<string, () => Promise<unknown>>> => writes(trial, place, declared)
      /** Starts again, with the items that are known. */
      const reopen = (round: number) => {
        const { items } = trial
        services = opened(declared, place)
        trial = new Trial(seed + round, services)
        Object.assign(trial.items, items)
      }
      const makers = ['client', 'order', 'line', 'tag', 'task', 'step', 'note', 'link', 'upload']
      let kinds = kindsOf()
      for (let i = 0; i < 6; i++) for (const one of makers) await kinds[one]?.()
      const targets = [...new Set(Array.from({ length: 3 }, () => lists(trial)).flat())]
      const known = new Map<string, string>()
      /** Reads all targets, twice as a second answer may be cached, and with every tag that was seen before. */
      const look = async () => {
        for (const target of targets)
          for (const who of Object.keys(callers)) {
            const call = (headers: Record<string, string> = {}) =>
              trial.pick(trial.doors).call(target, { as: callers[who as Who] as never, headers })
            await (await call()).text()
            const answer = await call()
            const [tag, text] = [answer.headers.get('etag'), await answer.text()]
            if (answer.status !== 200 || tag === null) continue
            for (const [place, before] of known) {
              if (!place.startsWith(`${who} ${target} `) || before === text) continue
              const old = place.slice(`${who} ${target} `.length)
              const again = await call({ 'if-none-match': old })
              await again.text()
              assert.equal(again.status, 200, `${who} GET ${target} with ${old}\n${before}\n${text}`)
            }
            const place = `${who} ${target} ${tag}`
            assert.ok((known.get(place) ?? text) === text, `${place} has two contents\n${known.get(place)}\n${text}`)
            known.set(place, text)
          }
      }
      await look()
      await close()
      const restore = await backUp(place)
      for (let round = 1; round < 4; round++) {
        reopen(round)
        kinds = kindsOf()
        const names = Object.keys(kinds).filter((one) => !['time', 'erase'].includes(one))
        for (let step = 0; step < 25; step++) await kinds[trial.pick(names)]?.()
        await look()
        await close()
        await restore()
        await recordRestore(place, declared)
        reopen(round)
        await look()
        await close()
      }
      reopen(9)
    })

for (const [store, placeOf] of places)
  test(`R143: a seed by another process ends the use of cached lists (${store})`, async (t) => {
    const place = await placeOf(t)
    const { call, close } = testing(office as unknown as Service, { database: place.url })
    t.after(close)
    const made = office as unknown as MadeService
    const seeding = await openStore(made, place.url, 'apply')
    t.after(() => seeding.close())
    const { door, url } = operatorDoor(made, seeding, 'north', 'command:seed')
    const as = callers.ann as As
    const paths = ['/v2/orders?sort=number', '/v1/orders?sort=number', '/v2/orders/summaries/by-status', '/v2/clients']
    for (let round = 1; round < 4; round++) {
      const tags = []
      for (const path of paths)
        for (let i = 0; i < 3; i++) {
          const answer = await call(path, { as })
          await answer.text()
          tags.push(answer.headers.get('etag') as string)
        }
      const headers = { 'content-type': 'application/json' }
      for (const [name, json] of [['orders', { number: round }], ['clients', {}]] as const) // biome-ignore format: one line
        assert.equal(
          (await door(new Request(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(json) }))).status,
          201,
        )
      for (const [i, tag] of tags.entries()) {
        const path = paths[Math.floor(i / 3)] as string
        const answer = await call(path, { as, headers: { 'if-none-match': tag } })
        const { data } = (await answer.json()) as { readonly data: readonly { readonly count?: number }[] }
        assert.equal(data[0]?.count ?? data.length, round, path)
      }
    }
  })
