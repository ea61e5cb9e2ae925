/** Mutants: defects, as changes of the source text of the service. The torture test must find each. */

interface Change {
  readonly from: string
  readonly to: string
}

export interface Mutant {
  readonly about: string
  /** The file that is changed, below src/. */
  readonly file: string
  readonly changes: readonly Change[]
  /** Whether it can only be found with loss of power. */
  readonly power?: boolean
  /** Whether it can only be found in a rolling upgrade. */
  readonly upgrade?: boolean
}

/** Whether a run records events. Giving them positions takes transaction ids all the time, so none would be reused. */
export const recordsEvents = (mutant: string | null): boolean => mutant?.endsWith('remembered-over-crashes') !== true

const write = 'if (isWritePlan(plan)) return writes.join(plan)'

type Mutants = Readonly<Record<string, Mutant>>

/** Mutants of code that all stores use. */
const everywhere: Mutants = {
  'cut-content': {
    about: 'only the beginning of content is read if it arrives in pieces while its request waits',
    file: 'http/node-call.ts',
    changes: [{ from: 'request.read(length) : null', to: 'request.read(Math.min(length, 65_305)) : null' }],
  },
  'no-tombstone': {
    about: 'a deletion leaves no tombstone',
    file: 'ledgers/tombstones.ts',
    changes: [
      {
        from: 'function* writeTombstone(',
        to: 'function* writeTombstone(..._: unknown[]): Steps<void> {}\nfunction* _unused(',
      },
    ],
  },
  'stale-columns': {
    about: 'a change does not update the columns',
    file: 'store/write-row.ts',
    changes: [
      {
        from: 'const which = viewed.shape === shape ? plan.changedCells : [...cells.keys()]',
        to: 'const which: number[] = []',
      },
    ],
  },
}

const sqlite: Mutants = {
  'two-transactions': {
    about: 'the key is committed before the row, and deleted if the row is refused',
    file: 'sqlite/sqlite.ts',
    changes: [
      {
        from: "import { batchedWrites } from './batch.ts'",
        to: `import { batchedWrites } from './batch.ts'
import { claimTable, takeClaim } from '../ledgers/idempotency-claims.ts'`,
      },
      {
        from: write,
        to: `if (plan.do === 'create' && plan.claim) {
          const taken = runSteps(takeClaim(context, plan, plan.claim), run)
          if (taken) return taken
          const { hash } = plan.claim
          return pause(world, 20).then(() => writes.join({ ...plan, claim: null })).then((outcome) => {
            if (outcome.is !== 'created') run({ text: \`DELETE FROM \${claimTable.name} WHERE hash = ?1\`, values: [hash] })
            return outcome
          })
        }
        ${write}`,
      },
    ],
  },
  'keys-in-memory': {
    about: 'keys are kept in memory only',
    file: 'sqlite/sqlite.ts',
    changes: [
      {
        from: "db.exec('PRAGMA busy_timeout = 0')",
        to: `db.exec('PRAGMA busy_timeout = 0')
        const { sql } = db.prepare("SELECT sql FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%fingerprint%'").get() as { sql: string }
        db.exec(sql.replace('CREATE TABLE', 'CREATE TEMP TABLE'))`,
      },
    ],
  },
  'early-answer': {
    about: 'writes are answered before they are committed',
    file: 'sqlite/batch.ts',
    changes: [
      { from: '      run(commit)\n', to: '' },
      {
        from: '      run(begin)\n',
        to: `      if (!db.isTransaction) {
        run(begin)
        setTimeout(() => run(commit), 100)
      }
`,
      },
    ],
  },
  'early-condition': {
    about: 'the tag is compared before the write, not in it',
    file: 'sqlite/sqlite.ts',
    changes: [
      {
        from: write,
        to: `if (plan.do === 'decide') {
          const early = runSqliteRead(reading, plan.read) as never
          plan.admit?.(early)
          const decided = plan.decide(early) as { revision: number }
          return writes.join({ ...plan, admit: () => {}, decide: (seen) => ({ ...decided, revision: (seen as { revision: number }).revision }) as never })
        }
        ${write}`,
      },
    ],
  },
  'stale-rows': {
    about: 'a cached row is not invalidated by a write',
    file: 'sqlite/batch.ts',
    changes: [{ from: 'if (row.key) rows.delete(', to: 'if (row.key) void (' }],
  },
  'nobody-undone': {
    about: 'writes of a member that is refused later stay in the batch',
    file: 'sqlite/batch.ts',
    changes: [{ from: 'if (!apart) throw batchMustRestart', to: 'if (!apart) return' }],
  },
  'two-states': {
    about: 'a page has the rows of one snapshot and the total of another',
    file: 'sqlite/read-plan.ts',
    changes: [{ from: 'if (isStill()) return withTotal(rows, total)', to: 'return withTotal(rows, total)' }],
  },
  'no-sync': {
    about: 'writes do not wait for the disk',
    file: 'sqlite/sqlite.ts',
    changes: [{ from: 'PRAGMA synchronous = FULL', to: 'PRAGMA synchronous = OFF' }],
    power: true,
  },
  'late-sync': {
    about: 'writes wait for the disk at checkpoints only',
    file: 'sqlite/sqlite.ts',
    changes: [{ from: 'PRAGMA synchronous = FULL', to: 'PRAGMA synchronous = NORMAL' }],
    power: true,
  },
}

const postgres: Mutants = {
  'two-transactions': {
    about: 'the key is committed before the row, and deleted if the row is refused',
    file: 'postgres/write-plan.ts',
    changes: [
      {
        from: "import { perform } from '../store/perform.ts'",
        to: "import { perform } from '../store/perform.ts'\nimport { takeClaim } from '../ledgers/idempotency-claims.ts'",
      },
      {
        from: 'return await tryWrite(deps, plan, { isFirst: tries === 1, isAlone })',
        to: `if (plan.do !== 'create' || !plan.claim) return await tryWrite(deps, plan, { isFirst: tries === 1, isAlone })
      const { claim } = plan
      const taken = await deps.pool.use(({ ask }) => runStepsAsync(takeClaim(deps.context, plan, claim), ask))
      if (taken) return taken
      await pause(deps.world, 20)
      const outcome = await tryWrite(deps, { ...plan, claim: null }, { isFirst: tries === 1, isAlone })
      if (outcome.is !== 'created') await deps.pool.use(({ ask }) => ask({ text: \`DELETE FROM \${claimTable.name} WHERE hash = $1\`, values: [claim.hash] }))
      return outcome`,
      },
    ],
  },
  'key-looked-up': {
    about: 'a key is looked up before it is written, and concurrent writers are not noticed',
    file: 'store/write-row.ts',
    changes: [
      {
        from: "import { keepAnswer, takeClaim } from '../ledgers/idempotency-claims.ts'",
        to: "import { keepAnswer, recallClaim, takeClaim } from '../ledgers/idempotency-claims.ts'",
      },
      { from: 'if (whole && (yield whole).length > 0) return', to: 'if (whole === undefined) return' },
      {
        from: 'const taken = plan.claim && (yield* takeClaim(context, plan, plan.claim))',
        to: `const keyed = plan.claim && (yield* recallClaim(context, { do: 'recall', claim: plan.claim }))
  const taken = keyed?.is === 'claimed' && keyed
  yield { text: 'SELECT pg_sleep(0.02)', values: [] }
  if (plan.claim && !taken) yield* takeClaim(context, plan, plan.claim)`,
      },
    ],
  },
  'early-answer': {
    about: 'commits do not wait for the disk',
    file: 'postgres/connect.ts',
    changes: [{ from: '...(options !== null && { options }),', to: "options: '-c synchronous_commit=off'," }],
  },
  'early-condition': {
    about: 'the tag is compared before the write, not in it',
    file: 'store/combined.ts',
    changes: [
      { from: "equalColumns('own', [...names, 'revision'], set.length)", to: "equalColumns('own', names, set.length)" },
    ],
  },
  'remembered-over-crashes': {
    about: 'cached answers are used after a crash that reuses transaction ids',
    file: 'postgres/database-state.ts',
    changes: [
      { from: '(pg_control_checkpoint()).checkpoint_lsn,', to: '' },
      { from: `last = \`\${pool.losses()} \${setbacks} \${state}\``, to: 'last = state' },
    ],
  },
  'one-for-all': {
    about: 'all statements of a batch get the rows of the first',
    file: 'postgres/coalesce.ts',
    changes: [
      { from: 'resolve(rows.get(name) ?? [])', to: 'resolve(rows.get(name) && ([...rows.values()][0] ?? []) || [])' },
    ],
  },
}

/** Mutants of the code for sharded databases. */
const citus: Mutants = {
  'value-not-freed': {
    about: 'a deleted row keeps its unique values',
    file: 'ledgers/remote-entries.ts',
    changes: [
      {
        from: 'if (before.has(name)) {',
        to: 'if (before.has(name) && mark.unique) continue\n    if (before.has(name)) {',
      },
    ],
  },
  'reference-not-told': {
    about: 'a row stores no links to the rows that it refers to',
    file: 'ledgers/remote-entries.ts',
    changes: [{ from: 'return new Map([...values, ...to]', to: 'return new Map([...values]' }],
  },
  'key-elsewhere': {
    about: 'a row that is created with a key is on any shard',
    file: 'endpoints/create-item.ts',
    changes: [
      {
        from: 'claim ? colocateId(makeId(), claim.hash) : makeId()',
        to: 'claim ? colocateId(makeId(), makeId()) : makeId()',
      },
    ],
  },
}

/** Mutants of the code that changes the declaration. */
const upgrading: Mutants = {
  'list-not-merged': {
    about: 'a list that a new node wrote once ignores later writes of old nodes',
    file: 'rows/kept-for-others.ts',
    changes: [{ from: 'if (views.length === 0) return', to: 'if (views.length >= 0) return' }],
    upgrade: true,
  },
  'refused-too-late': {
    about: 'a start is refused after it has changed the tables',
    file: 'cli/serve.ts',
    changes: [
      {
        from: 'import { retirementSurvey, warnOfVersionDates }',
        to: "import { readVersionUses } from '../versions/usage.ts'\nimport { retirementHazard, warnOfVersionDates }",
      },
      { from: 'isWorker ? [] : [retirementSurvey(service)]', to: '[]' },
      {
        from: 'if (!isWorker) warnOfVersionDates(',
        to: 'const late = retirementHazard(service, await readVersionUses(store), Date.now())\n  if (late) throw commandError(late.about, "")\n  if (!isWorker) warnOfVersionDates(',
      },
    ],
    upgrade: true,
  },
}

/** The mutants of each store. */
export const mutants = {
  sqlite: { ...sqlite, ...everywhere, ...upgrading },
  postgres: { ...postgres, ...everywhere, ...upgrading },
  citus: { ...citus, ...everywhere },
} as const satisfies Readonly<Record<string, Mutants>>
