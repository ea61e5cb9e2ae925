/** Removes an item and leaves a tombstone: DELETE. Part 4, methods; part 7, 410. */

import { beyond } from '../auth/allow.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { Conditions } from '../flow/intent.ts'
import type { Decide, Seen, Write } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { ruleFor } from '../resources/declaration.ts'
import { removedWith } from './borders.ts'
import { admitWrite } from './conditional.ts'
import { absent, itemRead, keyOf, refused, type Scene } from './item.ts'
import { writing } from './write.ts'

export function remove(scene: Scene): Route {
  const { resource, view } = scene
  const { name } = resource.collection
  const going = removedWith(scene)
  return {
    ...writing(scene, {
      operation: 'remove',
      rule: ruleFor(resource.access, 'remove') as string,
      content: [],
      plan: (intent): Decide => ({
        do: 'decide',
        read: itemRead(scene, intent),
        decide: (seen): Write => {
          admit(scene, intent.conditions, seen, intent.caller)
          if (seen.is !== 'found') return { do: 'keep' }
          const takes = new Set([...going].filter(([, rule]) => permits(intent.caller, rule)).map(([one]) => one))
          const { revision } = seen
          return { do: 'remove', collection: name, key: keyOf(scene, intent), revision, time: intent.time, takes }
        },
      }),
      headers: () => ({}),
      admit: (given, seen, caller) => admit(scene, given, seen, caller),
    }),
    render: ({ key, caller }, outcome) => {
      if (outcome.is === 'withheld') throw withheld(scene, going, outcome.collection, caller)
      if (outcome.is !== 'removed' && outcome.is !== 'kept') throw refused(scene, outcome, key)
      return { status: 204, headers: {}, body: null }
    },
  }

  /** A repeated removal is as good as the first, whatever the conditions. R133. */
  function admit({ resource }: Scene, given: Conditions | null, seen: Seen, caller: Caller): void {
    if (seen.is === 'found') admitWrite(given, seen, view(caller))
    const repeated = seen.is === 'gone' && seen.collection === name && resource.settings.delete.repeat === 'no-content'
    if (seen.is !== 'found' && !repeated) throw absent(scene, seen)
  }
}

/** The refusal of a removal that would take rows along which the caller may not remove. */
function withheld(
  { challenge, resource }: Scene,
  going: ReturnType<typeof removedWith>,
  other: string,
  caller: Caller,
): Error {
  const { auth } = resource.settings
  return beyond(`remove ${other}, which go with it,`, going.get(other), { caller, challenge, auth })
}
