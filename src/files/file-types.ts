/** File types: media types of contents, compared with their first bytes. Part 2, fields. */

/** How many bytes at the beginning decide. */
export const headSize = 64

type Signature = readonly [types: readonly string[], matches: (head: Buffer) => boolean]

const at =
  (place: number, ...texts: readonly string[]) =>
  (head: Buffer): boolean =>
    texts.some((text) => head.subarray(place, place + text.length).equals(Buffer.from(text, 'latin1')))

const both =
  (...tests: readonly ((head: Buffer) => boolean)[]) =>
  (head: Buffer): boolean =>
    tests.every((test) => test(head))

/** The types whose contents begin with certain bytes. The first type is that of the bytes. */
const signatures: readonly Signature[] = [
  [['image/png', 'image/apng', 'image/vnd.mozilla.apng'], at(0, '\x89PNG\r\n\x1a\n')],
  [['image/jpeg'], at(0, '\xff\xd8\xff')],
  [['image/gif'], at(0, 'GIF87a', 'GIF89a')],
  [['image/webp'], both(at(0, 'RIFF'), at(8, 'WEBP'))],
  [
    ['image/avif', 'image/heic', 'image/heif', 'video/mp4', 'audio/mp4', 'video/quicktime', 'audio/x-m4a'],
    at(4, 'ftyp'),
  ],
  [['image/bmp'], both(at(0, 'BM'), (head) => head.length < 10 || head.readUInt32LE(6) === 0)],
  [['image/tiff'], at(0, 'II*\0', 'MM\0*')],
  [['application/pdf'], at(0, '%PDF-')],
  [['application/gzip', 'application/x-gzip'], at(0, '\x1f\x8b')],
  [['application/zip'], at(0, 'PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08')],
  [['application/x-7z-compressed'], at(0, '7z\xbc\xaf\x27\x1c')],
  [['audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'], both(at(0, 'RIFF'), at(8, 'WAVE'))],
  [['audio/ogg', 'video/ogg', 'application/ogg'], at(0, 'OggS')],
  [['audio/flac', 'audio/x-flac'], at(0, 'fLaC')],
  [['video/webm', 'video/x-matroska', 'audio/webm'], at(0, '\x1a\x45\xdf\xa3')],
  [['font/woff'], at(0, 'wOFF')],
  [['font/woff2'], at(0, 'wOF2')],
  [
    ['application/x-msdownload', 'application/vnd.microsoft.portable-executable', 'application/x-dosexec'],
    at(0, 'MZ\x90\0'),
  ],
  [['application/x-executable', 'application/x-sharedlib', 'application/x-elf'], at(0, '\x7fELF')],
]

/** Types that are stored as ZIP files, as documents of offices are. */
const zipped =
  /^application\/(?:epub\+zip|java-archive|vnd\.(?:openxmlformats-|oasis\.opendocument\.|android\.)|x-zip)|\+zip$/

/** Types that say nothing about the bytes. */
const anything: readonly string[] = ['application/octet-stream', 'binary/octet-stream']

/** The type of the first bytes, if they contradict a declared type; null if they do not. Empty contents contradict none. */
export function contradictingType(declared: string, head: Buffer): string | null {
  if (head.length === 0 || anything.includes(declared)) return null
  const signature = signatures.find(([, matches]) => matches(head))
  const wanted = signatures.find(([types]) => types.includes(declared))
  if (wanted) return wanted[1](head) ? null : (signature?.[0][0] ?? 'another one')
  if (!signature || (signature[0][0] === 'application/zip' && zipped.test(declared))) return null
  return signature[0][0] as string
}

/** Whether a media type is among the allowed ones, such as `image/png` or `image/*`; all are if none is listed. */
export const isTypeAllowed = (type: string, allowed: readonly string[] | undefined): boolean =>
  allowed === undefined ||
  allowed.some((one) => one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))))

const extensions: Readonly<Record<string, string>> = {
  'application/json': '.json',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/webp': '.webp',
  'text/csv': '.csv',
  'text/plain': '.txt',
}

/** What names of files of a type end with; nothing if it is not known. */
export const extensionOf = (type: string): string => extensions[type.split(';', 1)[0] as string] ?? ''

/** The images that browsers may show by themselves: they run nothing. */
const shownInline: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']

export const mayShowInline = (type: string): boolean => shownInline.includes(type)
