/** Contract section 2: files, whose contents are uploaded, read with ranges, and removed at the URL of their item. R29 to R34, R51. */
// long because: its tests share one declaration
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { f, service } from 'bylaw'
import { type Answer, type Door, doors, spec } from '../help/door.ts'

const shop = service({
  name: 'shop',
  scopes: { clerk: 'Work with orders', secrets: 'See contracts', audit: 'Read revisions' },
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  settings: { batches: 5 },
  events: true,
  resources: {
    orders: {
      prefix: 'ord',
      owner: 'account',
      fields: {
        note: f.text({ max: 100, optional: true }),
        invoice: f.file({ max: 1000, types: ['application/pdf', 'image/*', 'text/plain'] }),
        contractText: f.file({ max: 100_000, read: 'secrets' }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { closures: { from: ['draft'], to: 'closed' } },
        writable: { change: ['draft'] },
      },
      access: 'clerk',
      history: { read: 'audit' },
      exports: true,
      embed: ['seats'],
    },
    seats: {
      parent: { resource: 'orders', onDelete: 'cascade' },
      key: 'number',
      fields: { number: f.text({ max: 8 }), plan: f.file() },
      access: 'clerk',
    },
  },
}).change('v2', 'orders', { about: 'Another name.', renamed: { bill: 'invoice' }, added: ['contractText'] })

const holders = {
  ann: { account: 'a', scopes: ['clerk'] },
  chief: { account: 'a', scopes: ['clerk', 'secrets', 'audit'] },
  bob: { account: 'b', scopes: ['clerk', 'secrets'] },
}

const pdf = Buffer.from('%PDF-1.4 an invoice of some length')
const png = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1')
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Requests of version 2 by one holder. */
function client(door: Door, who: keyof typeof holders = 'ann', version = 'v2') {
  const as = door.as(who)
  const send = (method: string, path: string, sent: Parameters<Door['send']>[2] = {}): Promise<Answer> =>
    door.send(method, `/${version}${path}`, { ...sent, headers: { ...as, ...sent.headers } })
  const make = async (): Promise<string> => (await send('POST', '/orders', { json: {} })).json.id
  const put = (path: string, body: Buffer, type = 'application/pdf', headers: Record<string, string> = {}) =>
    send('PUT', path, { body, headers: { 'content-type': type, ...headers } })
  return { send, make, put }
}

doors(
  'files',
  shop,
  (door) => {
    spec('R34 R120', 'an upload answers the member although the client prefers no content', async () => {
      const { make, put } = client(door)
      const url = `/orders/${await make()}/invoice`
      for (const status of [201, 200]) {
        const answer = await put(url, pdf, 'application/pdf', { prefer: 'return=minimal' })
        assert.deepEqual([answer.status, answer.json?.length], [status, pdf.length], answer.text)
      }
    })

    spec(
      'R34, R110',
      'an upload answers the member that the item shows from then on, 201 first and 200 after',
      async () => {
        const { send, make, put } = client(door)
        const id = await make()
        const url = `/orders/${id}/invoice`
        assert.equal((await send('GET', `/orders/${id}`)).json.invoice, null)
        const absent = await send('GET', url)
        assert.equal(absent.status, 404)
        assert.match(absent.json.message, /has no invoice; it can be uploaded by PUT/)
        const first = await put(url, pdf, 'application/pdf', {
          'content-disposition': 'attachment; filename="march.pdf"',
        })
        const member = {
          href: `/v2${url}`,
          type: 'application/pdf',
          length: pdf.length,
          sha256: digest(pdf),
          name: 'march.pdf',
        }
        assert.equal(first.status, 201)
        assert.deepEqual(first.json, member)
        assert.equal(first.headers.location, `/v2${url}`)
        assert.deepEqual((await send('GET', `/orders/${id}`)).json.invoice, member)
        const listed = await send('GET', '/orders?fields=invoice')
        assert.deepEqual(
          listed.json.data.find((one: { id: string }) => one.id === id),
          { id, invoice: member },
        )
        const second = await put(url, png, 'image/png')
        assert.deepEqual([second.status, second.json.type, second.json.name], [200, 'image/png', null])
        const read = await send('GET', url)
        assert.deepEqual(read.bytes, png)
        assert.equal(read.headers.etag, second.headers.etag)
        assert.notEqual(read.headers.etag, first.headers.etag)
      },
    )

    spec('R112', 'the same file again changes nothing, and any other one does', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      const url = `/orders/${id}/invoice`
      const name = (text: string) => ({ 'content-disposition': `attachment; filename="${text}"` })
      const first = await put(url, pdf, 'application/pdf', name('a.pdf'))
      const before = await send('GET', `/orders/${id}`)
      const again = await put(url, pdf, 'application/pdf', name('a.pdf'))
      assert.deepEqual([again.status, again.json, again.headers.etag], [200, first.json, first.headers.etag])
      const dry = await put(`${url}?dryRun=true`, pdf, 'application/pdf', name('a.pdf'))
      assert.deepEqual([dry.status, dry.json], [200, first.json])
      const after = await send('GET', `/orders/${id}`)
      assert.deepEqual([after.json, after.headers.etag], [before.json, before.headers.etag])
      const events = async () => (await send('GET', `/events?item=${id}`)).json.data.length
      assert.equal(await events(), 2)
      await put(url, pdf, 'application/pdf', name('b.pdf'))
      await put(url, Buffer.from('%PDF-1.4 other'), 'application/pdf', name('b.pdf'))
      await put(url, Buffer.from('a text'), 'text/plain', name('b.pdf'))
      await put(url, Buffer.from('a text'), 'text/plain; charset=utf-8', name('b.pdf'))
      assert.equal(await events(), 6)
      assert.notEqual((await send('GET', `/orders/${id}`)).headers.etag, before.headers.etag)
    })

    spec('R32, R178', 'refuses contents by type, coding, first bytes and size, and keeps the old one', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      const url = `/orders/${id}/invoice`
      await put(url, pdf)
      const refused = async (status: number, says: RegExp, ...given: Parameters<typeof put>) => {
        const answer = await put(...given)
        assert.equal(answer.status, status)
        assert.match(answer.json.message, says)
      }
      await refused(
        415,
        /type text\/html is not accepted here. Send Content-Type: application\/pdf/,
        url,
        pdf,
        'text/html',
      )
      await refused(415, /first bytes are those of application\/pdf/, url, pdf, 'image/png')
      await refused(415, /first bytes are those of image\/png/, url, png, 'text/plain')
      await refused(415, /first bytes are not those of this type/, url, Buffer.from('<html>'), 'image/png')
      await refused(415, /stored as it is/, url, pdf, 'application/pdf', { 'content-encoding': 'gzip' })
      await refused(413, /larger than 1000 bytes/, url, Buffer.alloc(1001, 32), 'text/plain')
      await refused(400, /Content-Disposition cannot be read/, url, pdf, 'application/pdf', {
        'content-disposition': 'attachment; filename="a',
      })
      assert.equal((await send('PUT', url, { headers: { 'content-length': '0' } })).status, 415)
      assert.deepEqual((await send('GET', url)).bytes, pdf)
      assert.equal((await put(url, Buffer.alloc(1000, 32), 'text/plain')).status, 200)
    })

    spec('R51, R126', 'a content is read in ranges, on conditions, and without content by HEAD', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      const url = `/orders/${id}/invoice`
      await put(url, pdf)
      const whole = await send('GET', url, { headers: { accept: 'image/png' } })
      assert.equal(whole.status, 200)
      assert.equal(whole.headers['accept-ranges'], 'bytes')
      assert.equal(whole.headers['content-length'], String(pdf.length))
      const { etag = '' } = whole.headers
      const ranged = async (range: string, more = {}) => {
        const { status, bytes, headers } = await send('GET', url, { headers: { range, ...more } })
        return [status, status === 416 ? '' : bytes.toString('latin1'), headers['content-range']]
      }
      assert.deepEqual(await ranged('bytes=0-3'), [206, '%PDF', `bytes 0-3/${pdf.length}`])
      assert.deepEqual(await ranged('bytes=-6'), [
        206,
        'length',
        `bytes ${pdf.length - 6}-${pdf.length - 1}/${pdf.length}`,
      ])
      assert.deepEqual((await ranged(`bytes=5-${pdf.length + 50}`))[0], 206)
      assert.deepEqual(await ranged('bytes=900-'), [416, '', `bytes */${pdf.length}`])
      for (const odd of ['bytes=3-1', 'lines=1-2', 'bytes=0-1,3-4', 'bytes=-'])
        assert.deepEqual((await ranged(odd))[0], 200, odd)
      assert.equal((await ranged('bytes=0-3', { 'if-range': etag }))[0], 206)
      assert.equal((await ranged('bytes=0-3', { 'if-range': '"other"' }))[0], 200)
      assert.equal((await ranged('bytes=0-3', { 'if-none-match': etag }))[0], 304)
      assert.equal((await send('GET', url, { headers: { 'if-none-match': etag } })).status, 304)
      assert.equal((await send('GET', url, { headers: { 'if-match': '"other"' } })).status, 412)
      const head = await send('HEAD', url)
      assert.deepEqual([head.status, head.bytes.length, head.headers.etag], [200, 0, etag])
    })

    spec('R10, R29', 'browsers never run a content, and names do no harm', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      const url = `/orders/${id}/invoice`
      const shown = async (type: string, bytes: Buffer, disposition?: string) => {
        const sent = await put(
          url,
          bytes,
          type,
          disposition === undefined ? {} : { 'content-disposition': disposition },
        )
        assert.ok(sent.status < 300, sent.text)
        const { headers } = await send('GET', url)
        assert.equal(headers['x-content-type-options'], 'nosniff')
        assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox")
        return [sent.json.name, headers['content-disposition']]
      }
      assert.deepEqual(await shown('image/svg+xml', Buffer.from('<svg/>')), [null, 'attachment; filename="invoice"'])
      assert.deepEqual(await shown('application/pdf', pdf), [null, 'attachment; filename="invoice.pdf"'])
      assert.deepEqual(await shown('image/png', png), [null, 'inline; filename="invoice.png"'])
      const names = {
        'attachment; filename="../../etc/passwd"': ['passwd', 'attachment; filename="passwd"'],
        'attachment; filename="..\\\\..\\\\boot.ini"': ['boot.ini', 'attachment; filename="boot.ini"'],
        'attachment; filename=".."': [null, 'attachment; filename="invoice.pdf"'],
        'attachment; filename="a\\"b;c.pdf"': ['a_b;c.pdf', 'attachment; filename="a_b;c.pdf"'],
        'attachment; filename="x"; filename*=UTF-8\'\'%e2%82%ac%20rates.pdf': [
          '€ rates.pdf',
          `attachment; filename="_ rates.pdf"; filename*=UTF-8''%E2%82%AC%20rates.pdf`,
        ],
        "attachment; filename*=UTF-8''a%0d%0ab%E2%80%AEfdp.exe": ['abfdp.exe', 'attachment; filename="abfdp.exe"'],
      }
      for (const [given, wanted] of Object.entries(names))
        assert.deepEqual(await shown('application/pdf', pdf, given), wanted, given)
    })

    spec('R34', 'an empty file is a file, and DELETE leaves null', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      const url = `/orders/${id}/invoice`
      assert.equal((await put(url, Buffer.alloc(0))).json.length, 0)
      const read = await send('GET', url)
      assert.deepEqual([read.status, read.bytes.length], [200, 0])
      assert.equal((await send('GET', url, { headers: { range: 'bytes=0-' } })).status, 416)
      assert.equal((await send('DELETE', url)).status, 204)
      assert.equal((await send('DELETE', url)).status, 204)
      assert.equal((await send('GET', url)).status, 404)
      assert.equal((await send('GET', `/orders/${id}`)).json.invoice, null)
    })

    spec('R48, R109', 'bodies do not write files, and a fetched item can be sent back', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      await put(`/orders/${id}/invoice`, pdf)
      const { json } = await send('GET', `/orders/${id}`)
      assert.equal((await send('PUT', `/orders/${id}`, { json })).status, 200)
      const other = { ...json.invoice, href: 'https://elsewhere.example' }
      assert.equal((await send('PATCH', `/orders/${id}`, { json: { invoice: other, note: 'a' } })).status, 200)
      assert.equal((await send('PATCH', `/orders/${id}`, { json: { invoice: null } })).status, 200)
      assert.deepEqual((await send('GET', `/orders/${id}`)).json.invoice, json.invoice)
      const created = await send('POST', '/orders', { json: { invoice: json.invoice } })
      assert.deepEqual([created.status, created.json.type], [400, 'validation-failed'])
    })

    spec('R124, R128', 'If-Match and If-None-Match name the content', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      const url = `/orders/${id}/invoice`
      assert.equal((await put(url, pdf, 'application/pdf', { 'if-match': '*' })).status, 412)
      const first = await put(url, pdf, 'application/pdf', { 'if-none-match': '*' })
      assert.equal(first.status, 201)
      const { etag = '' } = first.headers
      assert.equal((await put(url, png, 'image/png', { 'if-none-match': '*' })).status, 412)
      assert.equal((await put(url, png, 'image/png', { 'if-match': '"other"' })).status, 412)
      assert.equal((await put(url, png, 'image/png', { 'if-match': 'odd' })).status, 400)
      assert.equal((await put(url, png, 'image/png', { 'if-match': etag })).status, 200)
      assert.equal((await send('DELETE', url, { headers: { 'if-match': etag } })).status, 412)
    })

    spec('R54, R169', 'the files of other accounts do not exist, and fields keep their scopes', async () => {
      const [ann, chief, bob] = [client(door), client(door, 'chief'), client(door, 'bob')]
      const id = await ann.make()
      const [invoice, contract] = [`/orders/${id}/invoice`, `/orders/${id}/contract-text`]
      await ann.put(invoice, pdf)
      for (const [method, body] of [['GET'], ['DELETE'], ['PUT', pdf]] as const) {
        const sent = { ...(body && { body, headers: { 'content-type': 'application/pdf' } }) }
        assert.equal((await bob.send(method, invoice, sent)).status, 404, method)
      }
      assert.equal((await ann.put(contract, pdf)).status, 403)
      assert.equal((await ann.send('GET', contract)).status, 403)
      assert.equal((await ann.send('DELETE', contract)).status, 403)
      assert.equal((await chief.put(contract, pdf)).status, 201)
      assert.equal((await ann.send('GET', contract)).status, 403)
      assert.equal('contractText' in (await ann.send('GET', `/orders/${id}`)).json, false)
      const anonymous = await door.send('GET', `/v2${contract}`)
      assert.equal(anonymous.status, 401)
      await ann.send('DELETE', `/orders/${id}`)
      assert.equal((await ann.send('GET', invoice)).status, 410)
      assert.equal((await ann.put(invoice, pdf)).status, 410)
    })

    spec('R222', 'the state of the item decides about uploads', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      await put(`/orders/${id}/invoice`, pdf)
      await send('POST', `/orders/${id}/closures`)
      assert.equal((await put(`/orders/${id}/invoice`, png, 'image/png')).status, 409)
      assert.equal((await send('DELETE', `/orders/${id}/invoice`)).status, 409)
      assert.deepEqual((await send('GET', `/orders/${id}/invoice`)).bytes, pdf)
    })

    spec('R193, R196', 'an older version has its own name for a file, and does not know a later one', async () => {
      const [today, older] = [client(door, 'chief'), client(door, 'chief', 'v1')]
      const id = await today.make()
      await today.put(`/orders/${id}/contract-text`, pdf)
      assert.equal((await older.put(`/orders/${id}/bill`, pdf)).json.href, `/v1/orders/${id}/bill`)
      assert.equal((await older.send('GET', `/orders/${id}`)).json.bill.href, `/v1/orders/${id}/bill`)
      assert.equal((await today.send('GET', `/orders/${id}`)).json.invoice.href, `/v2/orders/${id}/invoice`)
      assert.deepEqual((await older.send('GET', `/orders/${id}/bill`)).bytes, pdf)
      assert.equal((await older.send('GET', `/orders/${id}/invoice`)).status, 404)
      assert.equal((await older.send('GET', `/orders/${id}/contract-text`)).status, 404)
      assert.equal((await older.send('DELETE', `/orders/${id}/bill`)).status, 204)
      assert.equal((await today.send('GET', `/orders/${id}`)).json.invoice, null)
    })

    spec(
      'R121, R124, R193',
      'conditions hold in every version, whichever version has uploaded the content',
      async () => {
        const [today, older] = [client(door, 'chief'), client(door, 'chief', 'v1')]
        const sides = [
          [today, 'invoice', older, 'bill'],
          [older, 'bill', today, 'invoice'],
        ] as const
        for (const [one, own, other, name] of sides) {
          const id = await one.make()
          const [here, there] = [`/orders/${id}/${own}`, `/orders/${id}/${name}`]
          const item = (await other.send('GET', `/orders/${id}`)).headers.etag as string
          assert.equal((await other.put(there, pdf, 'application/pdf', { 'if-match': '*' })).status, 412)
          const { status, headers } = await one.put(here, pdf, 'application/pdf', { 'if-none-match': '*' })
          const { etag = '' } = headers
          assert.equal(status, 201)
          const shown = await other.send('GET', `/orders/${id}`, { headers: { 'if-none-match': item } })
          assert.deepEqual([shown.status, shown.json[name].length], [200, pdf.length])
          const stale = { json: { note: 'blind' }, headers: { 'if-match': item } }
          assert.equal((await other.send('PATCH', `/orders/${id}`, stale)).status, 412)
          assert.equal((await other.send('GET', there, { headers: { 'if-none-match': etag } })).status, 304)
          assert.equal((await other.send('GET', there, { headers: { 'if-match': '"other"' } })).status, 412)
          assert.equal((await other.put(there, png, 'image/png', { 'if-none-match': '*' })).status, 412)
          const changed = await other.put(there, png, 'image/png', { 'if-match': etag })
          assert.equal(changed.status, 200)
          const range = { range: 'bytes=0-3', 'if-range': etag }
          assert.equal((await one.send('GET', here, { headers: range })).status, 200)
          assert.equal((await one.send('GET', here, { headers: { 'if-none-match': etag } })).status, 200)
          assert.equal((await one.put(here, pdf, 'application/pdf', { 'if-match': etag })).status, 412)
          assert.equal((await one.send('DELETE', here, { headers: { 'if-match': etag } })).status, 412)
          const now = { 'if-match': changed.headers.etag as string }
          assert.equal((await one.send('DELETE', here, { headers: now })).status, 204)
          assert.equal((await other.send('DELETE', there, { headers: now })).status, 412)
        }
      },
    )

    spec('R239', 'a dry run checks an upload and stores nothing', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      const url = `/orders/${id}/invoice`
      const dry = await put(`${url}?dryRun=true`, pdf)
      assert.deepEqual([dry.status, dry.json.sha256, dry.headers['dry-run']], [201, digest(pdf), 'true'])
      assert.equal((await put(`${url}?dryRun=true`, pdf, 'image/png')).status, 415)
      assert.equal((await send('GET', url)).status, 404)
    })

    spec('R229', 'a batch carries no contents', async () => {
      const { send, make } = client(door)
      const id = await make()
      const operations = [{ method: 'PUT', path: `/orders/${id}/invoice`, body: {} }]
      const answer = await send('POST', '/batches', { json: { operations } })
      assert.equal(answer.status, 400)
      assert.match(JSON.stringify(answer.json), /A batch cannot contain .* contents of files/)
    })

    spec('R4, R232', 'files of items with a composite key have their URL below the owner, also embedded', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      await send('POST', `/orders/${id}/seats`, { json: { number: '12 A' } })
      const url = `/orders/${id}/seats/12%20A/plan`
      assert.equal((await put(url, pdf)).json.href, `/v2${url}`)
      assert.deepEqual((await send('GET', url)).bytes, pdf)
      const embedded = await send('GET', `/orders/${id}?embed=seats`)
      assert.equal(embedded.json._embedded.seats.data[0].plan.href, `/v2${url}`)
    })

    spec('R237', 'revisions keep their contents, also when the item is deleted', async () => {
      const [{ send, make, put }, chief] = [client(door), client(door, 'chief')]
      const id = await make()
      await put(`/orders/${id}/invoice`, pdf)
      await put(`/orders/${id}/invoice`, png, 'image/png')
      await chief.put(`/orders/${id}/contract-text`, pdf)
      await send('DELETE', `/orders/${id}`)
      const { data } = (await chief.send('GET', `/orders/${id}/revisions`)).json
      const [, contract, second, first, created] = data as { id: string; changes: Record<string, unknown> }[]
      assert.ok('invoice' in (second?.changes ?? {}))
      const url = `/orders/${id}/revisions`
      assert.equal((await chief.send('GET', `${url}/${first?.id}`)).json.invoice.sha256, digest(pdf))
      assert.deepEqual((await chief.send('GET', `${url}/${first?.id}/invoice`)).bytes, pdf)
      assert.deepEqual((await chief.send('GET', `${url}/${second?.id}/invoice`)).bytes, png)
      assert.deepEqual((await chief.send('GET', `${url}/${contract?.id}/contract-text`)).bytes, pdf)
      assert.equal((await chief.send('GET', `${url}/${created?.id}/invoice`)).status, 404)
      assert.equal((await chief.send('GET', `${url}/99999/invoice`)).status, 404)
      assert.equal((await send('GET', `${url}/${first?.id}/invoice`)).status, 403)
      const against = await chief.send('GET', `${url}/${second?.id}/invoice?against=${first?.id}`)
      assert.deepEqual([against.status, against.json.cause.name], [400, 'against'])
    })

    spec('R206, R238', 'events and exports have the member', async () => {
      const { send, make, put } = client(door)
      const id = await make()
      await put(`/orders/${id}/invoice`, pdf)
      const events = await send('GET', `/events?item=${id}`)
      assert.equal(events.json.data.at(-1).data.invoice.href, `/v2/orders/${id}/invoice`)
      const csv = await send('GET', `/orders?id=${id}`, { headers: { accept: 'text/csv' } })
      assert.match(csv.text, /^id,note,invoice\.href,invoice\.type,invoice\.length,invoice\.sha256,invoice\.name,/)
      assert.match(csv.text, new RegExp(`,/v2/orders/${id}/invoice,application/pdf,${pdf.length},`))
    })
  },
  { holders, inBucket: true },
)
