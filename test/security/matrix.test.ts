/** Every caller, resource, operation and kind of row: a row of another account is answered like one that does not exist. Part 5, authentication. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Route } from '../../src/flow/route.ts'
import { ruleFor } from '../../src/resources/declaration.ts'
import { type Answer, type Door, doors, type Sent } from '../help/door.ts'
import { holders, known, exportedTenants as tenants } from '../help/tenants.ts'

type Who = keyof typeof holders
type Kind = 'own' | 'foreign' | 'unknown' | 'gone' | 'gone of others'
const kinds: readonly Kind[] = ['own', 'foreign', 'unknown', 'gone', 'gone of others']
const callers: readonly (Who | null)[] = [null, 'nil', 'ann', 'amy', 'bob', 'bea']
const nowhere = '01h455vb4pex5vsknk084sn02q'

/** The body of a new item of each resource; `mark` names its owner, and must never be answered to other callers. */
const bodies: Readonly<Record<string, (mark: string) => Record<string, unknown>>> = {
  products: (mark) => ({ name: mark }),
  deals: (mark) => ({ name: mark }),
  parts: (mark) => ({ text: mark }),
  seats: (mark) => ({ number: mark.slice(-8), note: mark }),
  tags: (mark) => ({ name: mark.slice(-20), hue: mark }),
  reviews: (mark) => ({ text: mark }),
}

/** The content of a file, with the mark as answers show it. */
const contentOf = (mark: string): Sent => ({ body: `"${mark}"`, headers: { 'content-type': 'text/plain' } })

doors(
  'the matrix',
  tenants,
  (door: Door) => {
    const send = (who: Who | null, method: string, path: string, { headers, ...sent }: Sent = {}): Promise<Answer> =>
      door.send(method, path, { ...sent, headers: { ...(who && door.as(who)), ...headers } })

    /** Makes an item and its parents; returns its path and that of its parent. */
    async function made(who: Who, name: string, mark: string): Promise<{ path: string; below: string }> {
      const { parent } = resource(name)
      const above = parent
        ? await made(resource(parent.resource).collection.account ? who : 'nil', parent.resource, mark)
        : null
      const below = above?.path ?? ''
      const answer = await send(who, 'POST', `${below}/${name}`, { json: bodies[name]?.(mark) })
      assert.equal(answer.status, 201, answer.text)
      const path = answer.headers.location as string
      if (resource(name).byName.has('scan'))
        assert.equal((await send(who, 'PUT', `${path}/scan`, contentOf(mark))).status, 201)
      return { path, below }
    }

    /** The path of a request, by the kind of row. */
    async function pathTo(route: Route, given: string, kind: Kind, who: Who, mark: string): Promise<string> {
      if (given.endsWith('/scan')) return `${await pathTo(route, given.slice(0, -5), kind, who, mark)}/scan`
      const [template = '', number] = given.split('/revisions')
      if (number !== undefined) return `${await pathTo(route, template, kind, who, mark)}/revisions${number && '/1'}`
      const { name, parent, collection } = route.resource
      const others: Who = who === 'bob' || who === 'bea' ? 'ann' : 'bob'
      const owner = kind === 'foreign' || kind === 'gone of others' ? others : who === 'bea' ? 'bob' : who
      const isItem = template.endsWith('}')
      if (!isItem && (!parent || !template.startsWith(`/${parent.resource}/`))) return template
      const { path, below } = await made(owner, name, mark)
      const target = isItem ? path : below
      if (kind.startsWith('gone') && (isItem || collection.account))
        assert.ok([204, 409].includes((await send(owner, 'DELETE', target)).status))
      const shown = isItem ? target : target + template.slice(template.indexOf('}') + 1)
      return kind === 'unknown' ? unknownFor(shown, mark) : shown
    }

    for (const { template, methods } of tenants.places) {
      for (const [method, route] of methods) {
        const { name, collection } = route.resource
        for (const who of callers) {
          it(`${who ?? 'nobody'} ${method} ${template}`, async () => {
            const seen = new Map<Kind, string>()
            for (const kind of kinds) {
              const mark = randomUUID().replaceAll('-', '')
              const scribe = who === null || who === 'nil' ? (collection.account === null ? 'nil' : 'ann') : who
              const path = await pathTo(route, template, kind, scribe, mark)
              const json =
                method === 'POST' || method === 'PUT'
                  ? bodies[name]?.(`new${mark}`)
                  : method === 'PATCH'
                    ? {}
                    : undefined
              const headers: Record<string, string> = method === 'PUT' ? { 'if-match': '*' } : {}
              // A list is exported too; its refusals are those of the list.
              for (const accept of method === 'GET' && route.operation === 'list' ? (route.streams ?? []) : []) {
                const exported = await send(who, method, path, { headers: { accept } })
                assert.ok(exported.status < 500, `${path}: ${exported.status}`)
                judge(who, route, kind, exported, mark)
                assert.equal(
                  exported.text.includes(mark),
                  (await send(who, method, path)).text.includes(mark) && exported.status === 200,
                )
              }
              const answers: string[] = []
              for (const query of method === 'GET' && route.embeds ? ['', `?embed=${route.embeds.names}`] : ['']) {
                const isUpload = route.upload !== undefined
                const sent = isUpload
                  ? contentOf(`new${mark}`)
                  : { ...(json && { json: keyed(path, name, json) }), headers }
                const answer = await send(who, method, path + query, sent)
                assert.ok(answer.status < 500, `${path}: ${answer.status}`)
                answers.push(
                  known(answer, `-`)
                    .replaceAll(mark, '{mark}')
                    .replaceAll(new RegExp(idsIn(path), 'g'), '{id}'),
                )
                judge(who, route, kind, answer, mark)
              }
              seen.set(kind, answers.join('\n'))
            }
            if (collection.account !== null && who !== null && who !== 'nil' && template.includes('{')) {
              const sharedAbove = route.resource.parent?.resource === 'products' && !template.endsWith('}')
              if (sharedAbove) return // shared items exist for each of the accounts
              assert.equal(
                seen.get('foreign'),
                seen.get('unknown'),
                `${method} ${template}: another account's is told from none`,
              )
              assert.equal(
                seen.get('gone of others'),
                seen.get('unknown'),
                `${method} ${template}: a deleted one is told from none`,
              )
            }
          })
        }
      }
    }

    it('R232 R170: what is embedded has no row of another account', async () => {
      const { path } = await made('ann', 'products', 'shared')
      for (const who of ['ann', 'bob'] as const) {
        const answer = await send(who, 'POST', `${path}/reviews`, { json: { text: `by ${who}` } })
        assert.equal(answer.status, 201)
        const deal = { name: who, productId: path.split('/').at(-1) }
        assert.equal((await send(who, 'POST', '/deals', { json: deal })).status, 201)
      }
      for (const at of [
        `${path}?embed=reviews`,
        `/products?name=shared&embed=reviews`,
        `/deals?productId=${path.split('/').at(-1)}&embed=product.reviews`,
        `${path}/reviews?embed=product.reviews`,
      ])
        for (const [who, own, other] of [
          ['ann', 'by ann', 'by bob'],
          ['amy', 'by ann', 'by bob'],
          ['bea', 'by bob', 'by ann'],
        ] as const) {
          const { text } = await send(who, 'GET', at)
          assert.ok(text.includes(own) && !text.includes(other), `${who} ${at}: ${text}`)
        }
      assert.equal((await send('nil', 'GET', `${path}?embed=reviews`)).status, 403)
      assert.equal((await send(null, 'GET', `${path}?embed=reviews`)).status, 401)
    })

    function judge(
      who: Who | null,
      { rule: given, resource: { name, collection, access }, operation }: Route,
      kind: Kind,
      answer: Answer,
      mark: string,
    ): void {
      const foreign = kind === 'foreign' || kind === 'gone of others'
      // Whoever may not read deals may not read their revisions either.
      const rule = operation === 'revisions' && name === 'deals' ? (ruleFor(access, 'read') as string) : given
      if (who === null) assert.equal(answer.status, 401)
      else if (rule !== 'authenticated' && !holders[who].scopes.some((scope) => scope === rule))
        assert.equal(answer.status, 403)
      else if (who === 'nil' && collection.account !== null) assert.equal(answer.status, 403)
      else if (foreign && collection.account !== null) assert.ok(!answer.text.includes(`"${mark}"`), answer.text)
    }
  },
  { holders },
)

describe('the matrix itself', () => {
  it('has every resource and every operation', () => {
    const all = tenants.places.flatMap(({ methods }) =>
      [...methods.values()].map((one) => `${one.resource.name} ${one.operation}`),
    )
    assert.deepEqual([...new Set(all.map((one) => one.split(' ')[0]))].sort(), Object.keys(bodies).sort())
    assert.equal(
      new Set(all).size,
      Object.keys(bodies).length * 6 + 12,
      'four of them have summaries, four a history, and two a file, whose revisions are read too',
    )
  })
})

const resource = (name: string) => tenants.resources.get(name) ?? assert.fail(name)

/** The same path with identifiers that do not exist. */
const unknownFor = (path: string, mark: string): string =>
  path
    .replaceAll(/\b([a-z]{3})_[0-9a-z]{26}/g, `$1_${nowhere}`)
    .replaceAll(mark.slice(-20), 'n'.repeat(20))
    .replaceAll(mark.slice(-8), 'n'.repeat(8))

/** Finds the identifiers in a path. */
const idsIn = (path: string): string =>
  path
    .split('/')
    .filter((part) => /^[a-z]{3}_|^[0-9a-fn]{8,}$/.test(part))
    .join('|') || '$^'

/** A body with the key of the address. */
const keyed = (path: string, name: string, json: Record<string, unknown>): Record<string, unknown> => {
  const { key } = resource(name)
  const last = path.split('/').at(-1) as string
  return key === null || last === name ? json : { ...json, [key]: last }
}
