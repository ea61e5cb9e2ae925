/** Places of a declaration in its source files. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { placeFrame } from './declared-place.ts'

const folder = mkdtempSync(join(tmpdir(), 'bylaw-place-'))
after(() => rmSync(folder, { recursive: true }))

const api = `import { f, service } from 'bylaw'
// resources: { orders: { fields: { comment: 1 } } }
const pattern = /^{"']\\/$/
const address = { city: f.text(), 'post-code': f.text() }
const list = (of) => { const fields = { x: 1 }; return { of } }
export default service({
  name: 'shop', /* name: 2 */
  scopes: { 'orders:read': \`a { b: \${{ c: 1 }} \` },
  resources: {
    orders: {
      fields: { total: f.decimal({ scale: 2, min: '{' }), lines: f.list(f.object({ count: f.integer() })), address },
      states: states(), access: 'public',
    },
    customers, invoices: resource(invoices), carts,
  },
}).change('v2', 'orders', { about: '', retyped: { total: f.text() } })
`
const customers = `export const customers = resource({ fields: { name: f.text(), address: f.object(address) } })\n`
const invoices = `export default resource({ fields: { name: f.text() } })\n`
const carts = `export const carts = resource({\n  fields: {\n    mail: f.text({ max: 'a' }),\n  },\n})\n`

const files = Object.entries({ api, customers, invoices, carts }).map(([name, text]) => {
  const path = join(folder, `${name}.ts`)
  writeFileSync(path, text)
  return path
})

/** The file and the text that begins at the place. */
function found(place: string): string {
  const [, file = '', line = '', column = ''] = /([a-z]+)\.ts:(\d+):(\d+)\n/.exec(placeFrame(place, files)) ?? []
  const text = { api, customers, invoices, carts }[file]?.split('\n')[Number(line) - 1]?.slice(Number(column) - 1)
  return text === undefined ? '' : `${file} ${text.slice(0, 12)}`
}

test('a place is found in the file that declares it', () => {
  assert.equal(found('name'), `api name: 'shop'`)
  assert.equal(found('scopes["orders:read"]'), `api 'orders:read`)
  assert.equal(found('resources.orders.fields.total'), 'api total: f.dec')
  assert.equal(found('resources.orders.fields.total.min'), `api min: '{' }),`)
  assert.equal(found('resources.orders.fields.lines.fields.count'), 'api lines: f.lis')
  assert.equal(found('resources.customers.fields.name'), 'customers name: f.text')
  assert.equal(found('resources.invoices.fields.name'), 'invoices name: f.text')
  assert.equal(found('resources.carts.fields.mail.max'), `carts max: 'a' }),`)
  assert.equal(found('versions.v2.orders.retyped.total'), 'api total: f.tex')
})

test('a place that is not written shows the part around it, and nothing if there is none', () => {
  assert.equal(found('resources.orders.prefix'), 'api orders: {')
  assert.equal(found('resources.orders.states.initial'), 'api states: stat')
  assert.equal(found('resources.orders.fields.comment'), 'api fields: { to')
  assert.equal(found('resources.addresses'), 'api resources: {')
  assert.equal(found('tiers.pro'), '')
  assert.equal(found(''), '')
})
