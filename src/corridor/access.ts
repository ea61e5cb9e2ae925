/** Access: checks a caller against the rule of a route and the accounts of its items. Part 5, authentication. */
import { allow, allowAccount, isScope } from '../auth/allow.ts'
import { rowRuleText, rowTest } from '../rules/row-rules.ts'
import { check } from './phase.ts'

export const accessRulePhase = check({
  name: 'rule',
  needs: ['route', 'identified'],
  pass: ({ route, identified, context }) => allow(identified.caller, route.rule, context.service.challenge),
  refuses: ({ route }) =>
    [route?.rule, ...(route?.furtherRules ?? [])].some((one) => one && isScope(one)) ? ['insufficient-scope'] : [],
  explains: [
    {
      step: 'rule',
      check: ({ route: { rule, rowRule }, request, service }) => {
        allow(request.caller, rule, service.challenge)
        if (rowRule)
          return rowTest(rowRule, request.caller) === null
            ? `the caller may use all items: ${rowRuleText(rowRule)}`
            : `the caller may use some of the items: ${rowRuleText(rowRule)}; its id is ${JSON.stringify(request.caller.id)}`
        if (rule === 'public') return 'public: for all callers'
        return rule === 'authenticated' ? 'for all authenticated callers' : `the caller has the required scope ${rule}`
      },
    },
  ],
})

export const accountPhase = check({
  name: 'account',
  needs: ['route', 'identified'],
  pass: ({ route, identified }) => allowAccount(identified.caller, route.resource),
  refuses: ({ route }) =>
    route && (route.resource.collection.account !== null || route.furtherRules?.includes(undefined))
      ? ['access-denied']
      : [],
  explains: [
    {
      step: 'account',
      check: ({ route: { resource }, request: { caller } }) => {
        const { account } = resource.collection
        if (account === null) return null
        allowAccount(caller, resource)
        return `the items belong to accounts (${account}); the caller sees only those of ${caller.account}`
      },
    },
  ],
})
