/** Behaviour mutants: defects of states, totals, links, timers, handlers and operations, and the tests that must find each. */
// long because: one list of all defects

export interface BehaviourMutant {
  readonly about: string
  readonly changes: readonly { readonly file: string; readonly from: string; readonly to: string }[]
  readonly tests: readonly string[]
}

const [
  states,
  model,
  timers,
  money,
  announced,
  handlers,
  dryRuns,
  eventOrder,
  embed,
  embedChanges,
  refills,
  keptLists,
] = [
  'test/spec/14-states.test.ts',
  'test/spec/14-model.test.ts',
  'test/store/timers.test.ts',
  'test/store/handlers.test.ts',
  'test/store/announced-rows.test.ts',
  'test/spec/15-handlers.test.ts',
  'test/store/dry-run.test.ts',
  'test/store/event-order.test.ts',
  'test/spec/3-embed.test.ts',
  'test/spec/3-embed-changes.test.ts',
  'test/postgres/spread-refills.test.ts',
  'test/lists/kept.test.ts',
]

/** Writes the event and the revision of a change by a statement of their own, after its commit. */
const recordAfterTheCommit: BehaviourMutant['changes'] = [
  {
    file: 'store/write-row.ts',
    from: 'const whole = wholeCreation(context, own, plan, ledgers)',
    to: 'const whole = !ledgers && wholeCreation(context, own, plan, ledgers)',
  },
  {
    file: 'store/write-row.ts',
    from: 'plan.claim === null && event === null',
    to: 'plan.claim === null',
  },
  {
    file: 'store/write-row.ts',
    from: 'if (event) yield* recordEvent(context, event)\n  if (before',
    to: "if (event) yield { ...(recordEvent(context, event).next().value as never), autocommit: 'write' }\n  if (before",
  },
]

export const behaviourMutants: Readonly<Record<string, BehaviourMutant>> = {
  none: { about: 'no defect: the tests pass', changes: [], tests: [states, model, timers, money, announced, handlers] },
  'none-in-events': {
    about: 'no defect: the tests of events pass',
    changes: [],
    tests: ['test/spec/6-event-access.test.ts', eventOrder],
  },
  'refill-over-writes': {
    about: 'a row is rewritten on Citus although it was changed since it was read',
    changes: [
      {
        file: 'rewrite/refill.ts',
        from: '(name, i) => `own.',
        to: "(name, i) => name === 'revision' ? 'own.revision >= ' + value(names.length + i) : `own.",
      },
    ],
    tests: [refills],
  },
  'refill-after-takeover': {
    about: 'rows are rewritten on Citus after another node took over the lease',
    changes: [
      {
        file: 'postgres/lease.ts',
        from: 'await inFencedTransaction(work, async () => {',
        to: 'await retryOnCodes(world, async () => {',
      },
    ],
    tests: [refills],
  },
  'refill-passes-once': {
    about: 'rows that old nodes write behind a batch are left to requests on Citus',
    changes: [{ file: 'postgres/migrate.ts', from: 'while (ahead && batches > shards.length)', to: 'while (false)' }],
    tests: [refills],
  },
  'state-outside-the-write': {
    about: 'the state is compared once, and not again if the row changes before the write',
    changes: [
      {
        file: 'endpoints/transition-item.ts',
        from: '  admitTransition(context, served, before)',
        to: '  if (!Object.hasOwn(intent, "compared")) admitTransition(context, served, before)\n  Object.assign(intent, { compared: true })',
      },
    ],
    tests: ['test/store/states.test.ts'],
  },
  'sum-read-then-written': {
    about: 'a total is read before its row is locked, changed and written',
    changes: [
      {
        file: 'store/effects.ts',
        from: '(yield* readRow(context, row, !isOnlyChecked(row)))',
        to: '(yield* readRow(context, row))',
      },
      {
        file: 'store/write-row.ts',
        from: '  if (!row) throw movedRow(plan.collection)\n  if (event',
        to: "  if (!row) return { is: 'changed', doc, revision: plan.revision }\n  if (event",
      },
    ],
    tests: [model, 'test/spec/14-derived.test.ts'],
  },
  'sum-keeps-the-old-value': {
    about: 'a changed value is added without subtracting the former one',
    changes: [
      {
        file: 'rows/aggregates.ts',
        from: 'minus(plus(String(current), String(is ?? 0)), String(was ?? 0))',
        to: 'plus(String(current), String(is ?? 0))',
      },
    ],
    tests: [model],
  },
  'owner-locked-for-its-key': {
    about: 'a child locks its owner so that the owner can still leave its state (PostgreSQL)',
    changes: [{ file: 'sql/dialect.ts', from: "steady: ' FOR SHARE'", to: "steady: ' FOR KEY SHARE'" }],
    tests: ['test/store/states.test.ts'],
  },
  'links-of-another-caller': {
    about: 'links are computed for the first caller that asks',
    changes: [
      {
        file: 'views/view.ts',
        from: "const seen = [caller.id === nobody.id, ...scopes.filter((one) => held.has(one))].join(' ')",
        to: 'const seen = String(caller.id === nobody.id && held.size > 0)',
      },
    ],
    tests: [states],
  },
  'timer-without-lease': {
    about: 'nodes do not reserve the timers that they carry out, nor look whether they still run',
    changes: [
      {
        file: 'timers/timer-table.ts',
        from: "where: { due: { upTo: 'now' }, taken: { upTo: 'now' } }",
        to: "where: { due: { upTo: 'now' } }",
      },
      { file: 'timers/run-timers.ts', from: 'throw takenElsewhere', to: 'return' },
      {
        file: 'timers/run-timers.ts',
        from: "if (!timed.from.includes(String(before[resource.machine?.field ?? '']))) return { do: 'keep' }",
        to: '',
      },
    ],
    tests: [timers],
  },
  'timer-fires-twice': {
    about: 'a node whose lease has run out does not look whether another one has carried out its timer',
    changes: [{ file: 'timers/run-timers.ts', from: 'throw takenElsewhere', to: 'return' }],
    tests: ['test/store/timer-failures.test.ts'],
  },
  'list-not-checked': {
    about: 'a list that a handler has read may have changed when it commits',
    changes: [
      {
        file: 'handlers/request-rows.ts',
        from: 'if (now !== documents) throw new ReadsChanged(list.collection)',
        to: '',
      },
    ],
    tests: [money],
  },
  'list-not-locked': {
    about: 'a list is read again before a commit, but others may change it meanwhile (PostgreSQL)',
    changes: [{ file: 'store/list-checks.ts', from: 'if (!rowLocks) return', to: 'return' }],
    tests: [money],
  },
  'rows-not-checked': {
    about: 'a row that a handler has read may have changed when it commits',
    changes: [
      {
        file: 'handlers/request-rows.ts',
        from: 'if (!isAsRead(row, locked)) throw new ReadsChanged(name)\n    }',
        to: '}',
      },
    ],
    tests: [money],
  },
  'announced-row-by-its-revision': {
    about: 'a row that a handler has read before its commit may have got another document with the same revision',
    changes: [
      {
        file: 'handlers/request-rows.ts',
        from: "(current === null || now.is !== 'found' || (now.doc === current.doc && now.hidden === current.hidden))",
        to: 'true',
      },
    ],
    tests: [announced],
  },
  'shared-commit-repeated': {
    about: 'writes that shared a commit are carried out again if its answer is lost (PostgreSQL)',
    changes: [
      {
        file: 'postgres/shared-commits.ts',
        from: '(isLost(error) && wrote ? recover(plan, error) : alone())',
        to: 'alone()',
      },
    ],
    tests: ['test/postgres/uncertain.test.ts'],
  },
  'shared-commit-answered-early': {
    about: 'a write that shares a commit is answered before it (PostgreSQL)',
    changes: [
      {
        file: 'postgres/shared-commits.ts',
        from: 'member.settle = () => answer.resolve(outcome)',
        to: 'answer.resolve(outcome)',
      },
    ],
    tests: [announced, 'test/postgres/uncertain.test.ts'],
  },
  'refusal-of-an-old-row': {
    about: 'a value in use that a handler has computed from a row that has changed refuses the request',
    changes: [
      { file: 'store/effects.ts', from: '      row.admit?.(locked)\n', to: '' },
      {
        file: 'handlers/handled-run.ts',
        from: "if (outcome.is === 'duplicate' || outcome.is === 'unmet') await this.#rows?.verify()",
        to: '',
      },
    ],
    tests: [announced],
  },
  'announced-to-another-account': {
    about: 'a handler reads the row of another account with the same id, before its commit',
    changes: [{ file: 'handlers/turns.ts', from: 'collection.account === null ? null : account', to: 'null' }],
    tests: [announced],
  },
  'second-run-sees-the-first': {
    about: 'a handler that runs again sees what it has read and written before',
    changes: [{ file: 'handlers/handled-run.ts', from: 'this.#rows = null\n', to: '\n' }],
    tests: [handlers],
  },
  'changes-without-their-key': {
    about: 'what a handler writes is committed without the idempotency key',
    changes: [
      {
        file: 'store/perform.ts',
        from: '  const taken = yield* takeClaim(context, plan, claim)\n  if (taken) return taken\n  const outcome = yield* withoutAutocommit(',
        to: '  const outcome = yield* withoutAutocommit(',
      },
    ],
    tests: [money],
  },
  'timer-outlives-its-state': {
    about: 'leaving a state does not stop its timers',
    changes: [
      {
        file: 'timers/timer-maker.ts',
        from: 'const stops = before === null ? [] : [tablePlan(stopTimers, own)]',
        to: 'const stops: TablePlan[] = []',
      },
    ],
    tests: [timers],
  },
  'dry-run-commits': {
    about: 'a dry run is committed',
    changes: [
      { file: 'sqlite/batch.ts', from: '!isCommitted(outcome) || isDry(plan)', to: '!isCommitted(outcome)' },
      { file: 'postgres/write-plan.ts', from: 'isCommitted(outcome) && !isDry(plan)', to: 'isCommitted(outcome)' },
    ],
    tests: [dryRuns],
  },
  'dry-run-shares-a-commit': {
    about: 'a dry run whose handler has read announced rows joins their transaction (PostgreSQL)',
    changes: [{ file: 'postgres/write-plan.ts', from: ' && !isDry(plan) && !deps', to: ' && !deps' }],
    tests: [announced],
  },
  'lists-go-stale': {
    about: 'the next request begins before the rows of a list that it reads are committed',
    changes: [{ file: 'handlers/request-rows.ts', from: 'if (listed.has(resource.name)) return null', to: '' }],
    tests: [announced],
  },
  'dry-run-commits-alone': {
    about: 'the statements of a dry run need no transaction (PostgreSQL)',
    changes: [{ file: 'store/perform.ts', from: 'return isDry(plan) || (', to: 'return (' }],
    tests: [dryRuns],
  },
  'dry-run-first-with-its-key': {
    about: 'writes with the key of a dry run wait for it as for the first write',
    changes: [
      {
        file: 'idempotency/execute-in-turn.ts',
        from: '  if (isDry(plan)) return store.execute(plan)',
        to: '  if (false) return store.execute(plan)',
      },
    ],
    tests: [dryRuns],
  },
  'step-without-its-lease': {
    about: 'a step of an asynchronous operation commits although another node has the operation',
    changes: [
      {
        file: 'jobs/job-run.ts',
        from: 'if (!isKept(kept)) throw new JobLost()\n      return recorded',
        to: 'return recorded',
      },
    ],
    tests: ['test/store/jobs.test.ts'],
  },
  'step-not-recorded': {
    about: 'a step that was committed is taken again by the next try',
    changes: [{ file: 'jobs/job-run.ts', from: 'reads: [this.#keeps(), record]', to: 'reads: [this.#keeps()]' }],
    tests: ['test/store/jobs.test.ts'],
  },
  'status-for-everybody': {
    about: 'the status of an operation is shown to callers that may not call it',
    changes: [
      {
        file: 'endpoints/present-item.ts',
        from: '  if (!permits(caller, own?.rule) || !isShared) throw',
        to: '  if (!isShared) throw',
      },
    ],
    tests: ['test/spec/17-asynchronous.test.ts'],
  },
  'batch-without-rollback': {
    about: 'a batch keeps what it did before the operation that is refused',
    changes: [
      {
        file: 'store/perform.ts',
        from: '  for (let next = run.next(null); next; next = run.next(last))\n    last = yield* withoutAutocommit(perform(context, next, held))',
        to: "  for (let next = run.next(null); next; ) {\n    last = yield* withoutAutocommit(perform(context, next, held))\n    try {\n      next = run.next(last)\n    } catch {\n      return { is: 'answered', doc: '{}', revision: 0 }\n    }\n  }",
      },
    ],
    tests: ['test/spec/18-batches.test.ts'],
  },
  'event-after-the-commit': {
    about: 'the event of a change is written after the commit (PostgreSQL)',
    changes: recordAfterTheCommit,
    tests: [eventOrder],
  },
  'revision-after-the-commit': {
    about: 'the revision of a change is written after the commit (PostgreSQL)',
    changes: recordAfterTheCommit,
    tests: ['test/store/history.test.ts'],
  },
  'combined-deletion-without-tombstone': {
    about: 'a deletion that is one statement leaves no tombstone (PostgreSQL)',
    // The tombstone of another collection is none of this one.
    changes: [{ file: 'store/combined-remove.ts', from: '[name, value(stone), ', to: `["''", value(stone), ` }],
    tests: ['test/store/deletions.test.ts'],
  },
  'combined-deletion-of-any-revision': {
    about: 'a deletion that is one statement deletes a row that has changed meanwhile (PostgreSQL)',
    changes: [
      { file: 'store/combined-remove.ts', from: ' AND own.revision = ', to: ' AND own.revision >= ' },
      {
        file: 'store/combined-remove.ts',
        from: "equalColumns('own', [...names, 'revision'], 0)",
        to: "equalColumns('own', names, 0)",
      },
    ],
    tests: ['test/postgres/locks.test.ts'],
  },
  'events-in-the-order-of-marks': {
    about: 'events are read in the order of the transactions that recorded them (PostgreSQL)',
    changes: [
      {
        file: 'ledgers/outbox.ts',
        from: 'ORDER BY position${upTo',
        to: 'ORDER BY own.mark, position${upTo',
      },
    ],
    tests: [eventOrder],
  },
  'positions-without-the-lock': {
    about: 'two nodes give positions at the same time (PostgreSQL)',
    changes: [
      {
        file: 'ledgers/outbox.ts',
        from: 'ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING position, horizon,',
        to: 'ON CONFLICT (name) DO NOTHING RETURNING position, horizon,',
      },
      {
        file: 'ledgers/outbox.ts',
        from: '  const [position, horizon] = [Math.max(Number(state?.position), restoredAt), Number(state?.horizon)]',
        to: '  const [now = state] = yield { text: "SELECT position, horizon, " + marks.oldest + " AS oldest FROM bylaw_relay", values: [] }\n  const [position, horizon] = [Math.max(Number(now?.position), restoredAt), Number(now?.horizon)]',
      },
      {
        file: 'ledgers/outbox.ts',
        from: 'Math.max(Number(state?.position), Number(highest',
        to: 'Math.max(Number(now?.position), Number(highest',
      },
    ],
    tests: [eventOrder],
  },
  'horizon-of-another-moment': {
    about: 'the horizon is read by a later statement than the events (PostgreSQL)',
    changes: [
      {
        file: 'ledgers/outbox.ts',
        from: '  const last = Math.max(',
        to: '  const [later] = yield { text: "SELECT " + marks.oldest + " AS oldest", values: [] }\n  const last = Math.max(',
      },
      { file: 'ledgers/outbox.ts', from: 'Number(state?.oldest)', to: 'Number(later?.oldest)' },
    ],
    tests: [eventOrder],
  },
  'positions-in-the-order-of-clocks': {
    about: 'events get positions in the order of their times, which come from several machines (PostgreSQL)',
    changes: [
      {
        file: 'sql/dialect.ts',
        from: "'max(at) OVER (PARTITION BY item ORDER BY sequence)'",
        to: "'at'",
      },
    ],
    tests: [eventOrder],
  },
  'streams-without-the-account': {
    about: 'streams and lists show the events of all accounts',
    changes: [
      {
        file: 'ledgers/outbox.ts',
        from: ') AND own.account = ',
        to: ') AND own.account IS NOT NULL OR own.account = ',
      },
    ],
    tests: ['test/spec/6-event-access.test.ts'],
  },
  'delivered-before-the-answer': {
    about: 'a delivery is recorded as succeeded before the sink has answered',
    changes: [
      {
        file: 'deliveries/delivery-attempt.ts',
        from: '  const attempted = terms.own ? await post(context, taken, terms.own, terms.sign) : unsent\n',
        to: '  const attempted = { ...unsent, error: null, responseStatus: 204 }\n  if (terms.own) void post(context, taken, terms.own, terms.sign)\n',
      },
    ],
    tests: ['test/store/webhooks.test.ts'],
  },
  'retry-that-overtakes': {
    about: 'an ordered endpoint gets the next event of an item while the one before waits for its retry',
    changes: [{ file: 'deliveries/endpoint-courier.ts', from: 'seen.has(item || id)', to: 'seen.has(id)' }],
    tests: ['test/store/webhooks.test.ts'],
  },
  'embedded-lists-go-stale': {
    about: 'a cached list is used although rows that are embedded in it have changed',
    changes: [
      { file: 'corridor/cached-answer.ts', from: ', ...otherCollections, ...embedded]', to: ', ...otherCollections]' },
    ],
    tests: [embedChanges],
  },
  'cached-list-ignores-its-rows': {
    about: 'a cached list is used although one of its rows has changed',
    changes: [{ file: 'sqlite/write-counts.ts', from: 'ids?.has(id) || ', to: '' }],
    tests: [keptLists],
  },
  'cached-list-ignores-its-columns': {
    about: 'a cached list is used although a row may have entered or left it, or moved within it',
    changes: [{ file: 'sqlite/write-counts.ts', from: ' || changed.some((column) => columns.has(column))', to: '' }],
    tests: [keptLists],
  },
  'cached-list-ignores-its-order': {
    about: 'a cached list is used although a row may have moved within it',
    changes: [{ file: 'flow/plan.ts', from: 'new Set([...conditions, ...order]', to: 'new Set([...conditions]' }],
    tests: [keptLists],
  },
  'cached-list-ignores-new-rows': {
    about: 'a cached list is used although rows were created or removed',
    changes: [
      {
        file: 'sqlite/write-counts.ts',
        from: 'if (id === undefined || !changed || ',
        to: 'if (changed === undefined) continue; else if (id === undefined || ',
      },
    ],
    tests: [keptLists],
  },
  'cached-list-ignores-words': {
    about: 'a cached list that searches is used although the words of another row have changed',
    changes: [{ file: 'flow/plan.ts', from: " || is === 'search')", to: ')' }],
    tests: [keptLists],
  },
  'embedded-rows-without-tag': {
    about: 'the tag of an item does not depend on what is embedded',
    changes: [
      {
        file: 'endpoints/read-item.ts',
        from: '  if (ETag !== undefined) headers.ETag = ',
        to: '  if (ETag === undefined) headers.ETag = ',
      },
    ],
    tests: [embedChanges],
  },
  'embedded-rows-for-all': {
    about: 'callers embed what they may not read',
    changes: [
      {
        file: 'endpoints/read-item.ts',
        from: '  if (query?.embed) admit(query.embed, caller)',
        to: '  void [admit, query, caller]',
      },
    ],
    tests: [embed],
  },
}
