/** File kind: the member of an item that describes an uploaded file; its content is stored apart. Part 2, fields. */
import { addViolation } from '../errors/pointer.ts'
import type { Field, Fields, FileMember } from './field.ts'
import { defined, type FieldKind, type FieldTerms } from './kind.ts'
import { isObject } from './value-check.ts'

/** How many bytes a content may have unless `max` is declared: 10 MiB. */
export const usualFileSize = 10_485_760

/** The members of a file, in the order of documents. */
const fileMembers = ['href', 'type', 'length', 'sha256', 'name'] as const satisfies readonly (keyof FileMember)[]

/** The parts of a field that have names of their own, as `invoice.type`: those of an object, and those of a file. */
export const partsOf = ({ kind, fields }: Field): Fields | undefined => (kind === 'file' ? fileParts : fields)

const fileParts: Fields = Object.fromEntries(fileMembers.map((name) => [name, { kind: 'text', options: {} }]))

/** A media type, or all types of a kind as `image/*`. */
const typePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/(\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,63})$/

function* fileFaults({ options: { max }, values }: Field) {
  if (max !== undefined && !(Number.isSafeInteger(max) && Number(max) >= 1))
    yield [`\`max\` is ${JSON.stringify(max)}.`, 'Write a number of bytes, as max: 5_000_000.'] as const
  if (values === undefined) return
  const listed: readonly unknown[] = Array.isArray(values) ? values : []
  const mend = "List media types in lower case, as types: ['image/png', 'application/pdf'] or types: ['image/*']."
  if (listed.length === 0) yield ['`types` has no media type.', mend] as const
  const odd = listed.find((one) => typeof one !== 'string' || !typePattern.test(one))
  if (odd !== undefined) yield [`\`types\` has ${JSON.stringify(odd)}, which is no media type.`, mend] as const
  const twice = listed.find((one, i) => listed.indexOf(one) < i)
  if (twice !== undefined) yield [`\`types\` has ${JSON.stringify(twice)} twice.`, 'Write each type once.'] as const
}

export const isFileMember = (value: unknown): value is FileMember =>
  isObject(value) && typeof value.href === 'string' && typeof value.sha256 === 'string' && 'length' in value

const sample: FileMember = {
  href: '00000000000000000000000000000000',
  type: 'application/octet-stream',
  length: 0,
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  name: null,
}

export const file: FieldKind = {
  options: [
    'title',
    'description',
    'deprecated',
    'optional',
    'readOnly',
    'read',
    'write',
    'personal',
    'was',
    'ownMeaning',
    'max',
    'types',
  ],
  order: 'none',
  faults: fileFaults,
  // The stored value: neither callers nor handlers can write one.
  check: () => (value, at, faults) =>
    isFileMember(value) ? value : addViolation(faults, at, 'invalid-type', 'is written by uploading a file.'),
  terms: ({ options: { max } }) => defined<Partial<FieldTerms>>({ max: max ?? usualFileSize }),
  schema: (_, use, { shared }) =>
    shared(use === 'patched' ? 'FilePatch' : 'File', {
      type: 'object',
      description: 'A file. Its content is at `href`.',
      properties: {
        href: {
          type: 'string',
          format: 'uri-reference',
          description: 'Where the content is read, replaced and removed.',
        },
        type: { type: 'string', description: 'The media type of the content.' },
        length: { type: 'integer', minimum: 0, description: 'The number of bytes.' },
        sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'The SHA-256 digest of the content.' },
        name: { type: ['string', 'null'], maxLength: 255, description: 'The name that it was uploaded with.' },
      },
      ...(use !== 'patched' && { required: [...fileMembers] }),
    }),
  plain: () => sample,
  sample: () => sample,
}
