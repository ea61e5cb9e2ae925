/** Part 7 of the contract: declared types of errors with further fields, which handlers fill. R160. */
import assert from 'node:assert/strict'
import { f, service } from 'bylaw'
import { type Door, doors, spec } from '../help/door.ts'

const bank = service({
  name: 'bank',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-02-01' } },
  concepts: {
    money: f.object({ amount: f.decimal({ scale: 2 }), currency: f.currency() }),
    holder: f.ref('accounts'),
  },
  errors: {
    'credit-exceeded': {
      status: 409,
      parents: ['conflict'],
      example: 'The credit is used up.',
      fields: {
        missingMoney: f.concept('money'),
        holder: f.concept('holder', { optional: true }),
        note: f.ref('notes', { optional: true }),
        accounts: f.list(f.ref('accounts')),
        reason: f.enum(['limit', 'block'], { default: 'limit', description: 'Why it is refused.' }),
        until: f.date({ optional: true }),
      },
    },
    'account-closed': { status: 409, parents: ['conflict'], fields: { reason: f.text() } },
    frozen: { status: 403 },
    'too-large': { status: 413, fields: { most: f.integer() } },
  },
  settings: { batches: 5 },
  resources: {
    accounts: { prefix: 'acc', fields: { name: f.text({ unique: true }) }, access: 'public' },
    notes: { prefix: 'not', fields: { text: f.text() }, access: 'public' },
    payments: {
      prefix: 'pay',
      fields: { accountId: f.ref('accounts'), total: f.integer(), wrong: f.text({ default: '' }) },
      access: 'public',
    },
  },
})
  .change('v2', 'payments', {
    about: 'Named better.',
    renamed: { sum: 'total' },
    errors: { 'no-credit': 'credit-exceeded' },
  })
  .change('v2', 'accounts', { about: 'A better word.', was: 'clients' })
  .change('v2', 'notes', { about: 'New.', begins: true })
  .handlers({
    payments: {
      create({ input: { accountId, total, wrong }, refuse }) {
        if (wrong === 'value') throw refuse('account-closed', { fields: { reason: 1 as never } })
        if (wrong === 'name') throw refuse('account-closed', { fields: { reason: 'a', more: 1 } as never })
        if (wrong === 'missing') throw refuse('account-closed', { fields: {} as never })
        if (wrong === 'none') throw refuse('frozen')
        if (wrong === 'other') throw refuse('account-closed', { fields: { reason: 'No more.' } })
        if (total < 10) return
        const missingMoney = { amount: '12.5', currency: 'EUR' } as const
        throw refuse('credit-exceeded', { pointer: '/total', fields: { missingMoney, accounts: [accountId] } })
      },
    },
  })

doors('errors with fields', bank, (door) => {
  const made = async (to: Door) =>
    (await to.send('POST', '/v2/accounts', { json: { name: `${Math.random()}` } })).json.id
  const pay = async (json: object, headers = {}, path = '/v2/payments') =>
    door.send('POST', path, { json: { accountId: await made(door), total: 1, ...json }, headers })

  spec('R160', 'the fields are members of the error in both forms, in their stored form', async () => {
    const accountId = await made(door)
    const refused = await pay({ accountId, total: 10 })
    const { errors, cause, ...body } = refused.json
    assert.deepEqual(body, {
      message: 'Credit exceeded.',
      missingMoney: { amount: '12.50', currency: 'EUR' },
      accounts: [accountId],
      ...{ reason: 'limit', until: null, holder: null, note: null, type: 'credit-exceeded' },
      types: ['credit-exceeded', 'conflict', 'client-error', 'error'],
    })
    assert.deepEqual([refused.status, errors[0].pointer, cause.type], [409, '/total', 'credit-exceeded'])
    const problem = await pay({ total: 10 }, { accept: 'application/problem+json, application/json' })
    assert.deepEqual([problem.json.status, problem.json.reason, problem.json.until], [409, 'limit', null])
    assert.equal((await pay({ wrong: 'none' })).json.reason, undefined)
  })

  spec('R160', 'older versions have them under the older name of the type', async () => {
    const { json } = await pay({ total: undefined, sum: 10 }, {}, '/v1/payments')
    assert.deepEqual([json.type, json.reason, json.errors[0].pointer], ['no-credit', 'limit', '/sum'])
  })

  spec('R160', 'a refused member of a batch has them', async () => {
    const body = { accountId: await made(door), total: 10 }
    const operations = [{ method: 'POST', path: '/payments', body }]
    const { status, json } = await door.send('POST', '/v2/batches', { json: { operations } })
    assert.deepEqual([status, json.type, json.reason], [409, 'credit-exceeded', 'limit'])
  })

  spec('R227', 'fields that are not as declared are a mistake of the handler', async () => {
    for (const wrong of ['value', 'name', 'missing']) {
      const { status, json } = await pay({ wrong })
      assert.deepEqual([status, json.type, json.reason], [500, 'internal-error', undefined], wrong)
    }
  })

  spec('R214', 'the page of the type has them, also under its older name', async () => {
    for (const type of ['credit-exceeded', 'no-credit']) {
      const { text } = await door.send('GET', `/problems/${type}`, { headers: { accept: 'text/html' } })
      assert.match(
        text,
        /<code>reason<\/code> <span>enum<\/span><\/dt><dd>Why it is refused\.<\/dd><dd>One of <code>limit/,
      )
    }
  })

  spec('R215', 'the description has them with their answers, and its example', async () => {
    for (const [label, type] of [
      ['v1', 'no-credit'],
      ['v2', 'credit-exceeded'],
    ] as const) {
      const { paths, components } = (await door.send('GET', `/openapi/${label}.json`)).json
      const name = paths['/payments'].post.responses[409].$ref.split('/').at(-1)
      const media = components.responses[name].content['application/json']
      const text = JSON.stringify(media.schema)
      for (const member of ['missingMoney', 'accounts', 'until']) assert.ok(text.includes(`"${member}":`), member)
      assert.match(text, /"reason":\{"anyOf":\[\{"type":"string"[^}]*\},\{"type":"string","enum":\["limit","block"\]/)
      assert.deepEqual(Object.keys(media.examples[type].value).slice(0, 2), ['message', 'missingMoney'])
      const large = components.responses.Error4XX.content['application/json'].schema
      assert.ok(JSON.stringify(large).includes('"most":{"type":"integer"'))
    }
  })
})
