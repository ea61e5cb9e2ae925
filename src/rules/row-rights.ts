/** Row rights: the rights of a caller in one request, if they depend on rows. Part 5, authentication. */

import { Problem } from '../errors/problem.ts'
import { type Caller, permits } from '../flow/caller.ts'
import type { RowRights, VisibleRows } from '../flow/plan.ts'
import type { Route, RowRule, ServedVersion } from '../flow/route.ts'
import { listInWords, titleInSentence } from '../formats/naming.ts'
import { ruleFor } from '../resources/declaration.ts'
import { conditionsText, hasRowRules, type RuledResources, rowRuleOf, rowTest } from './row-rules.ts'
import { TestedRows } from './visible-rows.ts'

type NamesOf = (field: string) => readonly string[]

/**
 * The rights of a request of a version; undefined if they do not depend on rows. `ruled` is null if no rule of
 * the service depends on rows.
 */
export function rowRightsOf(
  ruled: RuledResources | null,
  version: Pick<ServedVersion, 'namesOf'>,
  { resource, safe, rowRule }: Pick<Route, 'resource' | 'rowRule' | 'safe'>,
  caller: Caller,
): RowRights | undefined {
  if (!ruled) return undefined
  const own = ruled.resources.get(resource.collection.name)
  const seen = ruled.visibleTo(caller)
  if (!own || safe || !hasRowRules(own))
    return seen && { visible: seen, admit: () => {}, admitWritten: admitterOf(seen) }
  const namesOf: NamesOf = (field) => version.namesOf(resource.name, own.name, field)
  const { name } = own.collection
  const using = rowRule ?? null
  const used = using && rowTest(using, caller)
  // For a caller that may not read the items, only those exist that the rule of this operation allows.
  const isBlind = !permits(caller, ruleFor(own.access, 'read'))
  const all = seen ?? allRows
  const visible = isBlind && used ? all.with(name, used) : all
  const [making, reading] = [rowRuleOf(own, 'create') ?? null, rowRuleOf(own, 'read') ?? null]
  const check = (doc: string, rule: RowRule | null, deed: (item: string) => string): void => {
    if (rule && rowTest(rule, caller)?.matches(doc) === false)
      throw refusal(deed(titleInSentence(own.title)), rule, namesOf)
  }
  return {
    visible,
    admit: (row) => {
      if (row.is === 'found') check(row.doc, using, (item) => `do this with the ${item} as it is`)
    },
    admitWritten: ({ do: write, row: { doc } }) => {
      if (write === 'create') check(doc, making, (item) => `create the ${item} like this`)
      else check(doc, using, (item) => `leave the ${item} like this, as they could not change it then`)
      check(doc, reading, (item) => `leave the ${item} like this, as they could not read it then`)
    },
  }
}

/** Refuses to write rows of a resource of which no row exists for the caller, as endpoints of webhooks. */
const admitterOf =
  (visible: VisibleRows): RowRights['admitWritten'] =>
  ({ collection, row: { doc } }) => {
    if (visible.of(collection)?.matches(doc) === false)
      throw new Problem(
        'access-denied',
        `The credentials do not permit to write ${collection}, which need the right to read all items that have events.`,
      )
  }

const allRows = new TestedRows(new Map())

function refusal(deed: string, { alternatives }: RowRule, namesOf: NamesOf): Problem {
  const allowed = alternatives.map((one) =>
    'scope' in one ? `all items with the scope ${one.scope}` : `items where ${conditionsText(one.where, namesOf)}`,
  )
  return new Problem('access-denied', `The credentials do not permit to ${deed}. Allowed are ${listInWords(allowed)}.`)
}
