/** The first file of the command refuses to run on an old Node. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../bin/bylaw.js', import.meta.url))

/** Runs the file on a Node that reports another version. */
function on(version: string): { status: number | null; stderr: string } {
  const disguise = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  const preload = `data:text/javascript,${encodeURIComponent(disguise)}`
  return spawnSync(process.execPath, ['--import', preload, bin, '--version'], { encoding: 'utf8' })
}

for (const version of ['14.21.3', '20.20.2', '24.14.9']) {
  test(`Node ${version} gets a message with the needed version and how to get it`, () => {
    const { status, stderr } = on(version)
    assert.equal(status, 1)
    assert.match(stderr, /needs Node 24\.15 or newer/)
    assert.ok(stderr.includes(`this is Node ${version}.`), stderr)
    assert.match(stderr, /npm install --save-dev node-\S+@26/)
  })
}

for (const version of ['24.15.0', '25.0.0', '26.10.0']) {
  test(`Node ${version} is accepted`, () => assert.doesNotMatch(on(version).stderr, /needs Node/))
}
