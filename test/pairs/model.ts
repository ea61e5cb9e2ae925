/** A model of the service in memory: the expected statuses, and the rows after each request. */
import type { Setup } from './factors.ts'
import { quota } from './shop.ts'

export type Version = Setup['version']
export type Operation = Setup['operation']

/** A request; its body has the names and values of the newest version. */
export interface Deed {
  readonly operation: Operation
  readonly version: Version
  readonly id: string | null
  readonly body: Readonly<Record<string, unknown>> | null
  /** The price of the plan, which the first version writes in things where the field has moved. */
  readonly price: string | null
  readonly key: string | null
}

interface Thing {
  body: Record<string, unknown>
  parts: number
}

export interface Expected {
  readonly statuses: readonly number[]
  /** Things that the answer holds, as the version shows them. */
  readonly items?: readonly Record<string, unknown>[]
}

/** The names of older versions for members of the newest. */
export const namesIn = (version: Version): Readonly<Record<string, string>> => {
  if (version === 'v3') return {}
  return version === 'v2' ? { note: 'remark' } : { note: 'remark', size: 'amount' }
}

const blank = { note: null, size: 0, grade: 'a', hint: null } as const

/** The payload that is compared for a key: the fields with the names of the request, in any version. */
function sentBy({ version, body, price }: Deed): string {
  const names = namesIn(version)
  const fields = Object.entries(body ?? {}).map(([name, value]) => [names[name] ?? name, value] as const)
  return JSON.stringify([price, fields.sort(([a], [b]) => (a < b ? -1 : 1))])
}

export class Model {
  readonly things = new Map<string, Thing>()
  readonly gone = new Set<string>()
  readonly plans = new Map<string, string>()
  /** The used idempotency keys, with the thing that each created and its request. */
  readonly keys = new Map<string, { readonly id: string; readonly sent: string }>()
  /** Whether the field `hint` is declared at present. */
  hasHint = true
  private readonly setup: Setup
  private used = 0

  constructor(setup: Setup) {
    this.setup = setup
  }

  /** The expected answer to an action. `done` applies its changes when the answer is known. */
  expected(deed: Deed): Expected {
    this.used++
    if (this.setup.quota === 'used up' && this.used > quota) return { statuses: [429] }
    if (this.setup.scope === 'lacking') return { statuses: [403] }
    switch (deed.operation) {
      case 'list':
      case 'query':
        return { statuses: [200], items: [...this.things.keys()].map((id) => this.shown(id, deed.version)) }
      case 'read':
        return this.present(deed) ?? { statuses: [200], items: [this.shown(deed.id as string, deed.version)] }
      case 'create':
        return { statuses: this.creating(deed) }
      case 'replace':
        return { statuses: this.replacing(deed) }
      case 'change':
        return this.present(deed) ?? { statuses: this.fits(deed, false) ?? [200] }
      case 'remove':
        return { statuses: this.removing(deed) }
    }
  }

  private present({ id }: Deed): Expected | null {
    if (this.things.has(id as string)) return null
    return { statuses: [this.gone.has(id as string) ? 410 : 404] }
  }

  private creating(deed: Deed): number[] {
    const used = deed.key !== null && this.keys.get(deed.key)
    if (used) {
      if (this.setup['idempotency mode'] === 'conflict') return [409]
      return [used.sent === sentBy(deed) ? 201 : 422]
    }
    const refused = this.fits(deed, true)
    if (refused) return refused
    const chosen = this.chosenId(deed)
    if (chosen !== null && this.things.has(chosen)) return [409]
    return chosen !== null && this.gone.has(chosen) ? [410] : [201]
  }

  private chosenId({ body }: Deed): string | null {
    const { key } = this.setup
    return key === 'made' ? null : String(key === 'own' ? body?.name : body?.id)
  }

  private replacing(deed: Deed): number[] {
    const id = deed.id as string
    if (this.gone.has(id)) return [410]
    return this.fits(deed, true) ?? [this.things.has(id) ? 200 : 201]
  }

  private removing({ id }: Deed): number[] {
    const thing = this.things.get(id as string)
    if (!thing) return [this.gone.has(id as string) ? 204 : 404]
    return thing.parts > 0 && this.setup.cascade === 'no' ? [409] : [204]
  }

  /** The statuses that refuse a body; null if it fits. */
  private fits({ body, id, operation }: Deed, whole: boolean): number[] | null {
    const own = body as Record<string, unknown>
    const hidden = this.setup['hidden field']
    const isRepeated = operation !== 'create' && this.things.get(id as string)?.body.grade === 'z' // a misfit may be sent unchanged
    const isWrong =
      typeof own.size === 'string' || (own.grade === 'z' && !isRepeated) || ('hint' in own && !this.hasHint)
    if ('secret' in own && hidden === 'takes a scope') return isWrong ? [400, 403] : [403]
    if (isWrong || ('secret' in own && hidden === 'none')) return [400]
    const isNamed = own.name !== undefined || (this.setup.key === 'own' && operation === 'replace') // its path names it
    if (whole && (!isNamed || own.planId === undefined)) return [400]
    if (own.planId !== undefined && !this.plans.has(String(own.planId))) return [400]
    const isRenamed = this.setup.key === 'own' && operation !== 'create' && own.name !== undefined && own.name !== id
    return isRenamed ? [400] : null
  }

  /** Applies the changes of an answered action. */
  done(deed: Deed, status: number, id: string | null): void {
    const { operation, body, key } = deed
    const own = (id ?? deed.id) as string
    if (operation === 'create' && status === 201) {
      if (key !== null && this.keys.has(key)) return // a replay of the first answer
      if (key !== null) this.keys.set(key, { id: own, sent: sentBy(deed) })
      this.write(own, { ...blank, ...body }, deed)
    } else if (operation === 'replace' && status < 300)
      this.write(own, { ...(this.setup.key === 'own' && { name: own }), ...blank, ...body }, deed)
    else if (operation === 'change' && status < 300)
      this.write(own, { ...(this.things.get(own) as Thing).body, ...body }, deed)
    else if (operation === 'remove' && status === 204 && this.things.delete(own)) this.gone.add(own)
  }

  private write(id: string, body: Record<string, unknown>, { price, version, operation }: Deed): void {
    const before = this.things.get(id)
    const { secret: _, id: __, ...seen } = body
    // While the field is not declared, its value is set aside and no write reaches it.
    const hint = this.hasHint ? seen.hint : (before?.body.hint ?? null)
    this.things.set(id, { body: { ...seen, hint }, parts: before?.parts ?? 0 })
    if (this.setup['moved field'] === 'no' || version !== 'v1') return
    // A PUT replaces the whole item, the price with its default; an item that is new leaves the price of its plan as it is.
    const written = price ?? (operation === 'replace' && before ? '0.00' : null)
    if (written !== null) this.plans.set(String(seen.planId), written)
  }

  /** Fills the rows that do not fit the narrower declaration, if it has a `fill`. */
  narrowed(): void {
    if (this.setup['earlier rows'] !== 'filled') return
    for (const { body } of this.things.values()) if (body.grade === 'z') body.grade = 'b'
  }

  shown(id: string, version: Version): Record<string, unknown> {
    const { hint, ...rest } = (this.things.get(id) as Thing).body
    const body = this.hasHint ? { ...rest, hint } : rest
    const names = namesIn(version)
    const price =
      version === 'v1' && this.setup['moved field'] === 'yes' ? { price: this.plans.get(String(body.planId)) } : {}
    return {
      id,
      ...Object.fromEntries(Object.entries(body).map(([name, value]) => [names[name] ?? name, value])),
      ...price,
    }
  }
}
