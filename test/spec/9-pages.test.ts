/** Contract section 13: the reference page at /docs, the pages about error types, and what browsers get at the root. */
import assert from 'node:assert/strict'
import { f, type Service, service } from 'bylaw'
import { catalogue } from '../../src/errors/catalogue.ts'
import { doors, spec } from '../help/door.ts'
import { answerOf, browser, idsOf, linksOf, page, unescaped } from '../help/html-pages.ts'
import { shop } from '../help/shop.ts'

const hostile = '"><img src=x onerror=alert(1)></script><script>alert(2)</script>'

const library = service({
  name: 'library',
  versions: {
    v1: { released: '2025-01-01', deprecated: '2026-01-01', guide: 'https://example.com/v2' },
    v2: { released: '2026-01-01' },
  },
  scopes: { 'books:write': `Change books ${hostile}` },
  errors: { 'shelf-full': { status: 409, parents: ['conflict'] } },
  tiers: { free: { hourly: 1000 } },
  events: true,
  resources: {
    books: {
      prefix: 'bok',
      fields: {
        title: f.text({ max: 200, filter: 'like', sort: true }),
        kind: f.enum([hostile, "it's"], { default: hostile, filter: true }),
        note: f.text({ optional: true, writeOnly: true, pattern: '^(?:</style>)?[a-z]*$' }),
        price: f.decimal({ scale: 2, filter: 'range' }),
        shelf: f.integer({ min: -2, optional: true }),
      },
      states: {
        field: 'status',
        initial: 'on-order',
        transitions: { arrivals: { from: ['on-order'], to: 'present' }, losses: { from: ['present'], to: 'lost' } },
      },
      access: { read: 'public', write: 'books:write' },
    },
  },
}).change('v2', 'books', {
  about: `\`title\` was \`name\` ${hostile}`,
  renamed: { name: 'title' },
}) as unknown as Service

/** The shell, Python or TypeScript of an operation. */
const codeOf = (text: string, id: string, language: string): string => {
  const from = text.slice(text.indexOf(`id="${id}"`))
  const [, code = ''] = new RegExp(`<pre class="sample ${language}">([\\s\\S]*?)</pre>`).exec(from) ?? []
  return unescaped(code.replace(/<\/?b[^>]*>/g, ''))
}

doors('pages', library, (door) => {
  spec('R214', 'the reference page describes every operation, field, state, change, event and error', async () => {
    const text = await page(door, '/docs')
    const { json } = await door.send('GET', '/openapi.json')
    const operations = Object.values(json.paths as object).flatMap((item) =>
      Object.values(item as object).filter((one) => one.operationId),
    )
    assert.ok(operations.length > 5)
    assert.ok(text.includes('<summary>1 field</summary>') && !text.includes('>1 fields<'))
    const ids = new Set(idsOf(text))
    assert.equal(ids.size, idsOf(text).length, 'every id is there once')
    for (const { operationId } of operations) {
      assert.ok(ids.has(operationId), operationId)
      for (const language of ['curl', 'TypeScript', 'Python']) assert.notEqual(codeOf(text, operationId, language), '')
    }
    for (const part of [
      'introduction',
      'authentication',
      'versions',
      'limits',
      'lists',
      'errors',
      'events',
      'resource-books',
    ])
      assert.ok(ids.has(part), part)
    for (const said of [
      'write-only',
      'read-only',
      'required',
      'books:write',
      '<svg role="img"',
      '[*] --&gt; on_order',
      'book.created',
      'shelf-full',
      '1000 requests',
      '?price[gte]=',
      'At least -2.',
      'One of <code>on-order</code>, <code>present</code>, <code>lost</code>.',
    ])
      assert.ok(text.includes(said), said)
  })

  spec('R214', 'operations show an example of their answer with every field', async () => {
    const text = await page(door, '/docs')
    const { json } = await door.send('GET', '/openapi.json')
    const { id, _links, ...book } = answerOf(text, 'books.create', 201)
    assert.deepEqual(Object.keys({ id, ...book, _links }), json.components.schemas.Book.required)
    assert.deepEqual(_links, { self: `/v2/books/${id}` })
    const { data, pagination } = answerOf(text, 'books.list', 200) as {
      data: unknown
      pagination: Record<string, unknown>
    }
    assert.deepEqual([data, pagination.hasMore, pagination.nextCursor], [[{ id, _links, ...book }], false, null])
  })

  spec('R214', 'each version has its page, with a switch, its deprecation and what changed', async () => {
    const [old, now] = [await page(door, '/docs/v1'), await page(door, '/docs/v2')]
    assert.equal(await page(door, '/docs'), now)
    assert.match(old, /href="\/docs\/v1" aria-current="page"/)
    assert.match(old, /To be left from 2026-01-01 on\. How to move: <a href="https:\/\/example\.com\/v2">/)
    assert.match(old, /<h3>Changed in v2<\/h3><ul><li><code>books<\/code>: <code>title<\/code> was <code>name<\/code>/)
    assert.match(old, /<code>\?name\[like\]=/)
    assert.match(now, /<code>\?title\[like\]=/)
    assert.equal((await door.send('GET', '/docs/v9')).json.type, 'unknown-version')
    assert.equal((await door.send('GET', '/docs/index.html')).json.type, 'route-not-found')
  })

  spec('R214', 'pages run nothing but their own script, name no other host and keep no key', async () => {
    const { headers, text } = await door.send('GET', '/docs')
    const policy = headers['content-security-policy'] ?? ''
    assert.match(
      policy,
      /^default-src 'none'; style-src 'sha256-[^']{44}'; script-src 'sha256-[^']{44}'; connect-src 'self';/,
    )
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    assert.deepEqual([headers['x-content-type-options'], headers['referrer-policy']], ['nosniff', 'no-referrer'])
    const tags = (text.match(/<[a-z][^>]*>/g) ?? []).join('')
    assert.doesNotMatch(tags.replace(/"[^"]*"/g, ''), / (?:src|on\w+|style)=/)
    assert.doesNotMatch(text.slice(0, text.indexOf('<body>')), /<link (?!rel="icon" href="data:,")|@import|url\(/)
    const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(text) ?? []
    assert.ok(script.includes('fetch('))
    assert.doesNotMatch(script, /localStorage|sessionStorage|indexedDB|cookie|history|innerHTML|eval|document\.write/)
    for (const [kind, content] of [
      ['style', /<style>([\s\S]*?)<\/style>/],
      ['script', /<script>([\s\S]*?)<\/script>/],
    ] as const) {
      const bytes = new TextEncoder().encode(content.exec(text)?.[1])
      const digest = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64')
      assert.ok(policy.includes(`${kind}-src 'sha256-${digest}'`), kind)
    }
  })

  spec('R214', 'texts of the declaration are text on the page', async () => {
    for (const path of ['/docs', '/docs/v1', '/problems', '/problems/shelf-full']) {
      const text = await page(door, path)
      assert.doesNotMatch(text, /<img|<script>alert|onerror=alert\(1\)>/, path)
      assert.equal(text.match(/<\/style>/g)?.length, 1)
    }
    const text = await page(door, '/docs')
    assert.ok(text.includes('&lt;img src=x onerror=alert(1)&gt;'))
    assert.match(codeOf(text, 'books.create', 'curl'), /-H "Authorization: Bearer \$API_KEY"/)
  })

  spec('R214', 'pages have a tag, HEAD, 304, OPTIONS and compression', async () => {
    for (const path of ['/docs', '/problems', '/problems/conflict']) {
      const { headers, text } = await door.send('GET', path)
      const tag = headers.etag as string
      const again = await door.send('GET', path, { headers: { 'if-none-match': tag } })
      assert.deepEqual([again.status, again.text, again.headers.vary], [304, '', headers.vary])
      const head = await door.send('HEAD', path)
      assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', tag])
      const coded = await door.send('GET', path, { headers: { 'accept-encoding': 'gzip' } })
      assert.deepEqual([coded.headers['content-encoding'], coded.text], ['gzip', text])
      assert.ok(coded.bytes.length < 100_000)
      assert.equal((await door.send('OPTIONS', path)).headers.allow, 'GET, HEAD, OPTIONS')
      assert.equal((await door.send('POST', path)).status, 405)
    }
  })

  spec('R158', 'every error type has a page at the URL that problems name, and all links lead somewhere', async () => {
    const seen = new Set<string>()
    const waiting = ['/docs', '/problems']
    for (const path of waiting) {
      const text = await page(door, path)
      seen.add(path)
      for (const link of linksOf(text)) {
        const [place = '', id] = link.split('#')
        if (/^(https:\/\/example\.com\/|data:)/.test(link)) continue
        if (place === '' || waiting.includes(place)) {
          if (id !== undefined)
            assert.ok(idsOf(place === '' ? text : await page(door, place)).includes(id), `${path}: ${link}`)
        } else if (place.startsWith('/openapi')) assert.equal((await door.send('GET', place)).status, 200)
        else waiting.push(place)
      }
    }
    for (const type of [...catalogue.keys(), 'shelf-full']) assert.ok(seen.has(`/problems/${type}`), type)
    const refused = await door.send('GET', '/books/bok_0', {
      headers: { accept: 'application/problem+json, application/json' },
    })
    const text = await page(door, refused.json.type)
    assert.ok(text.includes(`<h1>${refused.json.title}</h1>`))
    assert.match(
      await page(door, '/problems/shelf-full'),
      /<code>409<\/code> Conflict[\s\S]*href="\/problems\/conflict"/,
    )
    assert.equal((await door.send('GET', '/problems/no-such-type')).json.type, 'route-not-found')
  })

  spec('R214', 'the root is the page for browsers and JSON for all others', async () => {
    const own = await page(door, '/docs')
    const ranked = ['text/html, application/json;q=0.9', 'text/*;q=0.5, application/json;q=0.4']
    for (const accept of [browser, 'text/html', ...ranked]) {
      const { headers, text } = await door.send('GET', '/', { headers: { accept } })
      assert.equal(text, own, accept)
      assert.match(headers.link ?? '', /rel="service-desc"/)
      assert.match(headers.vary ?? '', /\bAccept(,|$)/)
    }
    const others = ['application/json, text/html', 'text/html;q=0.5, */*', 'nonsense']
    for (const accept of ['*/*', 'application/json', ...others]) {
      const { headers, json } = await door.send('GET', '/', { headers: { accept } })
      assert.equal(json.name, 'library')
      assert.match(headers.vary ?? '', /\bAccept(,|$)/)
      assert.equal(headers['content-security-policy'], undefined)
    }
    assert.equal((await door.send('GET', '/')).json.name, 'library')
  })
})

doors('pages of a larger service', shop as unknown as Service, (door) => {
  spec('R214', 'the page has at most 100 kB, and its samples can be sent', async () => {
    const { bytes, text } = await door.send('GET', '/docs', { headers: { 'accept-encoding': 'gzip' } })
    assert.ok(bytes.length < 100_000, String(bytes.length))
    const samples = [...text.matchAll(/id="([\w.-]+)" aria-labelledby="[^"]*" data-request="([^"]*)"/g)]
    assert.ok(samples.length > 10)
    for (const [, id = '', request = ''] of samples) {
      const { method, template, body, headers } = JSON.parse(unescaped(request))
      if (!id.endsWith('.create') && !id.endsWith('.list')) continue
      if (template.includes('{')) continue
      const answer = await door.send(method, template, {
        headers: Object.fromEntries(headers),
        ...(body && { json: body }),
      })
      assert.ok(
        answer.status < 300 || /references|reference|exist/i.test(answer.text) || [401, 403].includes(answer.status),
        `${id}: ${answer.text}`,
      )
    }
  })
})
