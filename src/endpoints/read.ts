/** Reads an item: GET and HEAD. Part 4, methods. */
import type { Found } from '../flow/plan.ts'
import type { Route } from '../flow/route.ts'
import { noParameters } from '../lists/parameters.ts'
import { ruleFor } from '../resources/declaration.ts'
import { absent, admitPresent, isAbsent, itemRead, itemReply, keyOf, type Scene } from './item.ts'

export function read(scene: Scene): Route {
  const { resource } = scene
  return {
    operation: 'read',
    resource,
    rule: ruleFor(resource.access, 'read') as string,
    content: [],
    query: ({ target }) => {
      noParameters(target, resource.settings)
      return null
    },
    target: (asked) => itemRead(scene, asked),
    parse: (asked) => ({ ...asked, key: keyOf(scene, asked), time: 0, conditions: null, document: null, claim: null }),
    plan: (intent) => itemRead(scene, intent),
    render: ({ caller, world }, outcome) => {
      if (isAbsent(outcome)) throw absent(scene, outcome)
      return itemReply(scene, caller, 200, outcome as Found, world)
    },
    recall: null,
    admitKey: () => {},
    admit: (_, target) => admitPresent(scene, target),
  }
}
