/** Retyped orders: all versions have the same orders and `uniques`, so these need fields that can be compared in each. Part 9, versions. */

import { orderRule, uniqueRule } from '../check/consistency.ts'
import { report } from '../check/field-check.ts'
import { hasMember } from '../check/kind-options.ts'
import type { Field } from '../fields/field.ts'
import { withArticle } from '../formats/naming.ts'
import { resolveConcepts } from '../resources/declaration.ts'
import type { ChangeCheck } from './value-sources.ts'

/** Refuses a retyped field whose older form is in an order or in `uniques` and cannot be compared there. */
export function checkRetypedOrders({ change, path, own, declaration, findings, rules }: ChangeCheck): void {
  const { retyped = {}, version } = change
  const { order = [], sorts = {}, uniques = [] } = own
  const listed = [
    ...order.map((term) => ({ term, key: 'order', rule: orderRule, does: 'sort by it' })),
    ...Object.entries(sorts).flatMap(([name, terms]) =>
      terms.map((term) => ({ term, key: `sorts.${name}`, rule: orderRule, does: 'sort by it' })),
    ),
    ...uniques.flat().map((term) => ({ term, key: 'uniques', rule: uniqueRule, does: 'compare it' })),
  ]
  for (const { term, key, rule, does } of listed) {
    const [top = '', ...members] = term.replace(/^-/, '').split('.')
    if (!hasMember(retyped, top)) continue
    const whole = resolveConcepts(retyped[top] as Field, declaration.concepts ?? {})
    const old = members.reduce<Field | undefined>((field, name) => field?.fields?.[name], whole)
    if (old && rule.fits(old, term, rules.kinds)) continue
    const name = [top, ...members].join('.')
    report(
      { findings },
      [...path, 'retyped', top],
      `\`${key}\` contains \`${name}\`, but versions before ${version} cannot ${does}: there ${formOf(old, name)}. All versions have the same \`${key}\`.`,
      `Leave \`${name}\` out of \`${key}\`, or write removed: { ${top}: … }, added: ['${top}'] in place of \`retyped\`: then older versions leave it out of \`${key}\`.`,
    )
  }
}

function formOf(old: Field | undefined, name: string): string {
  if (!old) return `\`${name}\` does not exist`
  if (old.options.writeOnly) return 'it is `writeOnly`'
  return old.options.read ? `it needs ${old.options.read} to be read` : `it is ${withArticle(old.kind)}`
}
