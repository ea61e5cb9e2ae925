/** The bill of materials that travels with the package: what an installation brings, and nothing of the machine that packs. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

interface LockedPackage {
  readonly version: string
  readonly dev?: true
  readonly devOptional?: true
  readonly link?: true
}

interface Component {
  readonly 'bom-ref': string
  readonly hashes: readonly { readonly alg: string; readonly content: string }[]
  readonly licenses: readonly unknown[]
}

const printed = (): string => execFileSync(process.execPath, ['.ci/sbom.mjs'], { encoding: 'utf8' })
const bill = JSON.parse(printed()) as {
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

test('the bill of materials lists the packages that are no development dependencies', () => {
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional, link }]) => path.startsWith('node_modules/') && !dev && !devOptional && !link,
  )
  const names = installed.map(
    ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`,
  )
  assert.deepEqual(bill.components.map((one) => one['bom-ref']).sort(), names.sort())
})

test('each of them has a digest, a license and its dependencies', () => {
  for (const { hashes, licenses } of bill.components) {
    assert.match(hashes[0]?.content ?? '', /^[\da-f]{128}$/)
    assert.equal(licenses.length, 1)
  }
  const dependsOn = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const known = new Set(bill.components.map((one) => one['bom-ref']))
  assert.deepEqual([...known].sort(), [...new Set([...dependsOn.values()].flat())].sort())
  assert.equal(dependsOn.size, known.size + 1)
})

test('it is the same each time, and names no host and no folder', () => {
  assert.equal(printed(), printed())
  const addresses = printed().match(/\w+:\/\/[^"]*|"\/[^"]*/g)
  assert.deepEqual(addresses, ['http://cyclonedx.org/schema/bom-1.6.schema.json'])
})
