// Prints the bill of materials (CycloneDX) of the packages that an installation of bylaw brings, from the lockfile alone.
// `npm sbom --omit dev` leaves out packages that a development dependency needs too, such as pino.
// The same lockfile gives the same bytes, so there is no time and no serial number.
import { readFileSync } from 'node:fs'

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const { packages } = read('../package-lock.json')
const { name, version, description, license } = read('../package.json')

/** Where Node finds a dependency: in the folder of the package itself, or in one of those around it. */
function placeOf(dependency, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const place = `${folder === '' ? '' : `${folder}/`}node_modules/${dependency}`
    if (packages[place] !== undefined) return place
    if (folder === '') return undefined
  }
}

const dependenciesOf = (place) => {
  const { dependencies, optionalDependencies } = packages[place]
  const names = Object.keys({ ...dependencies, ...optionalDependencies })
  return names.map((dependency) => placeOf(dependency, place)).filter((found) => found !== undefined)
}

const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
const refOf = (place) => (place === '' ? `${name}@${version}` : `${nameOf(place)}@${packages[place].version}`)
const purlOf = (ref) => `pkg:npm/${ref.replace(/^@/, '%40')}`
const licensesOf = (id) =>
  id === undefined ? [] : [/ (AND|OR|WITH) /.test(id) ? { expression: id } : { license: { id } }]

function component(place) {
  const { version, license, integrity, optional } = packages[place]
  const [algorithm, digest] = integrity.split('-')
  return {
    type: 'library',
    'bom-ref': refOf(place),
    name: nameOf(place),
    version,
    scope: optional ? 'optional' : 'required',
    hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: licensesOf(license),
    purl: purlOf(refOf(place)),
  }
}

const found = new Set([''])
for (const place of found) for (const dependency of dependenciesOf(place)) found.add(dependency)
const places = [...found].filter((place) => place !== '').sort()

const bill = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: {
      type: 'library',
      'bom-ref': refOf(''),
      name,
      version,
      description,
      licenses: licensesOf(license),
      purl: purlOf(refOf('')),
    },
  },
  components: places.map(component),
  dependencies: ['', ...places].map((place) => ({
    ref: refOf(place),
    dependsOn: dependenciesOf(place).map(refOf).sort(),
  })),
}
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`)
