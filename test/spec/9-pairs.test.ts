/** Part 9 of the contract: pairs in versions, whose sides and fields had other names and forms. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { doors, spec } from '../help/door.ts'
import { answerOf, page } from '../help/html-pages.ts'

const library = service({
  name: 'library',
  events: true,
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2025-06-01' }, v3: { released: '2026-01-01' } },
  resources: {
    articles: {
      prefix: 'art',
      fields: { title: f.text({ max: 40, filter: true, sort: true }) },
      embed: ['tags', 'persons'],
      access: 'public',
    },
    tags: {
      prefix: 'tag',
      fields: {
        name: f.text({ max: 40, filter: true, sort: true }),
        colour: f.enum(['red', 'blue'], { default: 'red' }),
      },
      embed: true,
      access: 'public',
    },
    persons: { prefix: 'per', fields: { name: f.text({ max: 40 }) }, embed: ['articles'], access: 'public' },
  },
  pairs: {
    'article-tags': { between: ['articles', 'tags'], access: 'public' },
    authorships: {
      between: ['persons', 'articles'],
      fields: { part: f.enum(['writer', 'editor'], { default: 'writer' }), share: f.integer({ default: 0 }) },
      access: 'public',
    },
  },
})
  .change('v3', 'authorships', {
    about: '`share` is new, and `role` is called `part`.',
    added: ['share'],
    renamed: { role: 'part' },
  })
  .change('v3', 'tags', {
    about: 'Labels are called tags, and `text` is called `name`.',
    was: 'labels',
    renamed: { text: 'name' },
  })
  .change('v3', 'articles', { about: 'Posts are called articles.', was: 'posts' })
  .change('v2', 'persons', { about: 'Persons are new.', begins: true })

doors('pairs in versions', library, (door) => {
  const send = async (method: string, path: string, json?: object) => {
    const answer = await door.send(method, path, json && { json })
    assert.ok(answer.status < 300, `${method} ${path} ${answer.status}: ${answer.text}`)
    return answer
  }
  const idOf = async (path: string, json: object): Promise<string> => (await send('POST', path, json)).json.id

  spec('R196 R4', 'a pair has the URLs and the items of each version', async () => {
    const article = await idOf('/v3/articles', { title: 'Fish' })
    const tag = await idOf('/v3/tags', { name: 'sea', colour: 'blue' })
    const first = await send('PUT', `/v2/posts/${article}/labels/${tag}`)
    assert.equal(first.status, 201)
    assert.equal(first.headers.location, `/v2/posts/${article}/labels/${tag}`)
    assert.deepEqual([first.json.text, first.json.name], ['sea', undefined])
    assert.equal((await send('PUT', `/v3/tags/${tag}/articles/${article}`)).status, 200)
    assert.equal((await send('GET', `/v3/articles/${article}/tags/${tag}`)).json.name, 'sea')
    assert.deepEqual((await send('GET', `/v2/posts/${article}/labels?text=sea&sort=text`)).json.data, [first.json])
    assert.equal((await send('GET', `/v1/labels/${tag}/posts`)).json.data[0].id, article)
    const old = (await send('GET', `/v2/posts/${article}?embed=labels`)).json._embedded
    assert.deepEqual(old.labels.data, [first.json])
    assert.equal((await send('GET', `/v3/tags/${tag}?embed=articles`)).json._embedded.articles.data[0].title, 'Fish')
    for (const path of [`/v3/posts/${article}/labels`, `/v2/articles/${article}/tags`, `/v2/posts/${article}/tags`])
      assert.equal((await door.send('GET', path)).status, 404)
    const refused = await door.send('PUT', `/v2/posts/${article}/labels/${tag.slice(0, -4)}0000`)
    assert.deepEqual([refused.status, refused.json.cause.name], [400, 'labelId'])
    const events = (await send('GET', '/v2/events?resource=article-tags')).json.data
    assert.deepEqual(
      events.map(({ type, data }: { type: string; data: object }) => [type, Object.keys(data)]),
      [['articleTag.created', ['id', 'postId', 'labelId', 'createdAt', 'updatedAt']]],
    )
    const newest = (await send('GET', '/v3/events?resource=article-tags')).json.data
    assert.deepEqual([newest[0].data.articleId, newest[0].data.tagId], [article, tag])
  })

  spec(
    'R196',
    'the fields of a pair have the form of the version, and a side that begins later brings its pairs',
    async () => {
      const article = await idOf('/v3/articles', { title: 'Birds' })
      const person = await idOf('/v3/persons', { name: 'Ann' })
      const path = `/persons/${person}/articles/${article}`
      assert.deepEqual((await send('PUT', `/v3${path}`, { part: 'editor', share: 5 })).json._pair, {
        part: 'editor',
        share: 5,
      })
      const old = `/v2/persons/${person}/posts/${article}`
      assert.deepEqual((await send('GET', old)).json._pair, { role: 'editor' })
      assert.deepEqual((await send('PUT', old, { role: 'writer' })).json._pair, { role: 'writer' })
      assert.equal((await door.send('PUT', old, { json: { part: 'writer' } })).status, 400)
      assert.deepEqual((await send('GET', `/v3${path}`)).json._pair, { part: 'writer', share: 5 })
      assert.deepEqual((await send('GET', `/v2/posts/${article}/persons`)).json.data[0]._pair, { role: 'writer' })
      const embedded = (await send('GET', `/v2/posts/${article}?embed=persons`)).json._embedded.persons.data
      assert.deepEqual(embedded[0]._pair, { role: 'writer' })
      assert.equal((await door.send('GET', `/v1/posts/${article}/persons`)).status, 404)
      assert.equal((await door.send('GET', `/v1/posts/${article}?embed=persons`)).status, 400)
    },
  )

  spec('R214', 'the page shows an item and its pair as the example of an answer', async () => {
    const text = await page(door, '/docs/v3')
    const { data } = answerOf(text, 'persons.articles.list', 200) as { data: Record<string, unknown>[] }
    for (const shown of [data[0], answerOf(text, 'persons.articles.get', 200)])
      assert.deepEqual([shown?.title, shown?._pair], ['Title one', { part: 'writer', share: 1 }])
  })
})
