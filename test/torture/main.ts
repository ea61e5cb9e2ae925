/**
 * `npm run torture -- --rounds 20 --seed 1`: kills the service under load and checks that no acknowledged write is lost.
 * `--power` also drops unsynced writes, `--mutant NAME` applies a mutant, `--mutants` tries all of them.
 */
import { parseArgs } from 'node:util'
import { type Mutant, mutants } from './mutants.ts'
import { backends, type Tally, torture } from './rounds.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    power: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    mutants: { type: 'boolean', default: false },
  },
})
const [rounds, seed] = [Number(values.rounds), Number(values.seed)]
const stores = Object.keys(backends)
const store = values.store as keyof typeof backends
const wrong: Readonly<Record<string, Mutant>> = store in mutants ? mutants[store as keyof typeof mutants] : {}
const names = Object.keys(wrong)
const second = 1000

/** Not on Citus, whose tables come from plans for another declaration; a standby makes no difference to an upgrade. */
const upgrades = (mutant: string | null): boolean =>
  (store === 'sqlite' || store === 'postgres') && (mutant === null || wrong[mutant]?.upgrade === true)

function refuse(why: string): void {
  console.error(why)
  process.exitCode = 2
}

async function one(): Promise<void> {
  const mutant = values.mutant ?? null
  const power = values.power || (mutant !== null && wrong[mutant]?.power === true)
  console.log(
    `torture: ${store}, ${rounds} rounds, seed ${seed}${power ? ', with loss of power' : ''}${mutant ? `, mutant ${mutant}` : ''}`,
  )
  const tally = await torture({
    store,
    rounds,
    seed,
    mutant,
    power,
    time: Number.POSITIVE_INFINITY,
    upgrades: upgrades(mutant) && !power,
    tell: console.log,
  })
  for (const violation of tally.violations.slice(0, 20)) console.log(`  ${violation}`)
  console.log(reported(tally))
  process.exitCode = tally.violations.length === 0 ? 0 : 1
}

const reported = ({ rounds, kills, promotions, acknowledged, keys, lost, violations }: Tally): string =>
  `rounds ${rounds}, kills ${kills}, promotions ${promotions}, writes acknowledged ${acknowledged}, keys ${keys}, unsynced writes ${lost}, violations ${violations.length}`

/** The violations of one attempt; none if it broke off, for example because its database did not start. */
async function attempted(
  mutant: string,
  { power, seed }: { power: boolean; seed: number },
): Promise<readonly string[]> {
  const setting = { store, rounds: 100, seed, mutant, power, upgrades: upgrades(mutant), time: 60 * second }
  return torture({ ...setting, tell: () => {} }).then(
    ({ violations }) => violations,
    (error: Error) => {
      console.log(`${mutant}: an attempt with the seed ${seed} broke off: ${error.stack}`)
      return []
    },
  )
}

/** Every mutant must be found: otherwise a run without findings would prove nothing. Rare timings get further minutes. */
async function all(): Promise<void> {
  for (const [name, { about, power = false }] of Object.entries(wrong)) {
    const started = performance.now()
    let violations: Tally['violations'] = []
    for (let attempt = 0; attempt < 3 && violations.length === 0; attempt++)
      violations = await attempted(name, { power, seed: seed + attempt })
    const seconds = ((performance.now() - started) / second).toFixed(1)
    console.log(
      `${name} (${about}): ${violations.length > 0 ? `found after ${seconds} s: ${violations[0]}` : 'NOT FOUND'}`,
    )
    if (violations.length === 0) process.exitCode = 1
  }
}

if (!stores.includes(store)) refuse(`There is no store ${store}. Allowed: ${stores.join(', ')}.`)
else if (values.power && store !== 'sqlite')
  refuse('Loss of power is tried on sqlite alone: a server of databases keeps its own log.')
else if (!(rounds >= 1 && seed >= 0)) refuse('--rounds and --seed take whole numbers.')
else if (values.mutant !== undefined && !names.includes(values.mutant))
  refuse(`There is no mutant ${values.mutant}. Allowed: ${names.join(', ')}.`)
else if (values.mutants) await all()
else await one()
