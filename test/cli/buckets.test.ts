/** Contents of files in a bucket, by the command: `serve` and `doctor` with `--files s3://…`, and what they refuse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standIn } from '../help/bucket.ts'
import { folder, post, run, served } from '../help/command.ts'

const api = `import { f, service } from 'bylaw'

export default service({
  name: 'shop',
  resources: { orders: { prefix: 'ord', fields: { scan: f.file() }, access: 'public' } },
})
`

test('R34: a served upload is in the bucket, and doctor names a content that is lost', async (t) => {
  const bucket = await standIn()
  t.after(bucket.close)
  const [cwd, env] = [folder({ 'api.ts': api }), { ...bucket.environment }]
  const { url, stop } = await served(['api.ts', '--files', bucket.place], { cwd, env })
  const { id } = (await post(`${url}/orders`, {})).json
  const at = `${url}/orders/${id}/scan`
  const headers = { 'content-type': 'text/plain' }
  const sent = await fetch(at, { method: 'PUT', headers, body: 'a scan' })
  assert.equal(sent.status, 201, await sent.text())
  assert.deepEqual([...bucket.objects.values()].map(String), ['a scan'])
  assert.equal(await (await fetch(at)).text(), 'a scan')
  await stop()
  const doctor = () => run(['doctor', 'api.ts', '--files', bucket.place], { cwd, env })
  const sound = await doctor()
  assert.equal(sound.code, 0, sound.stdout + sound.stderr)
  bucket.objects.clear()
  const lost = await doctor()
  assert.match(lost.stdout, new RegExp(`orders\\.scan: ${id} has no content`))
  const reading = ({ method }: { readonly method: string }) =>
    method === 'PUT' || method === 'DELETE' ? { status: 403, code: 'AccessDenied' } : null
  bucket.fault = reading
  assert.match((await doctor()).stdout, new RegExp(`orders\\.scan: ${id} has no content`)) // it needs no right to write
  const start = await run(['serve', 'api.ts', '--port', '0', '--files', bucket.place], { cwd, env })
  assert.equal(start.code, 1)
  assert.match(start.stderr, /The bucket shop-files at .* answered 403 AccessDenied\. .* It lacks s3:PutObject\./)
  bucket.fault = ({ method }) => (method === 'HEAD' ? { status: 403, code: 'AccessDenied' } : null)
  const denied = await doctor()
  assert.match(denied.stderr, /^bylaw: The bucket shop-files at .* answered 403 AccessDenied\. The access key needs/)
})

test('the start says what is wrong with the bucket, and repeats no secret', async (t) => {
  const bucket = await standIn()
  t.after(bucket.close)
  const cwd = folder({ 'api.ts': api })
  for (const [place, changed, says] of [
    [bucket.place, { AWS_SECRET_ACCESS_KEY: 'sesame' }, /AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID/],
    ['s3://id:sesame@shop-files', {}, /the URL has credentials/],
    ['https://id:sesame@shop-files', {}, /neither a folder nor a bucket/],
  ] as const) {
    const env = { ...bucket.environment, ...changed }
    const { code, stdout, stderr } = await run(['serve', 'api.ts', '--port', '0', '--files', place], { cwd, env })
    assert.equal(code, 1)
    assert.match(stderr, says)
    assert.match(stderr, /Name a folder .* or a bucket, as --files "s3:\/\//)
    assert.doesNotMatch(stdout + stderr, /sesame/)
  }
})
