/** Proves that values of stored rows are copied to the resource that a field moved to, all of them or none. The store. */
import { describe, test } from 'node:test'
import { moves, movesDuringUpgrades } from '../help/moved-trials.ts'
import { places } from '../help/places.ts'

for (const [store, make] of places)
  describe(`fields that moved to another resource (${store})`, () => {
    for (const [name, trial] of Object.entries({ ...moves, ...movesDuringUpgrades })) test(name, (t) => trial(t, make))
  })
