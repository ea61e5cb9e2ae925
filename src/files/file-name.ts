/** File name: the name of a file in `Content-Disposition`, of requests and of answers. RFC 6266, RFC 8187. */

const mostCharacters = 255

/** A parameter: its name, and its value as a token or a quoted text. */
const parameter = /;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))\s*/gy

/** The name of the file that a request names, made harmless; null if it names none, undefined if the header is malformed. */
export function nameInHeader(header: string | undefined): string | null | undefined {
  if (header === undefined) return null
  const type = /^\s*[\w-]+\s*/.exec(header)
  if (type === null) return undefined
  const parameters = new Map<string, string>()
  let end = type[0].length
  parameter.lastIndex = end
  for (let match = parameter.exec(header); match; match = parameter.exec(header)) {
    const [, name = '', quoted, token = ''] = match
    parameters.set(name.toLowerCase(), quoted === undefined ? token : quoted.replace(/\\(.)/g, '$1'))
    end = parameter.lastIndex
  }
  if (!/^;?\s*$/.test(header.slice(end))) return undefined
  const [extended, plain] = [parameters.get('filename*'), parameters.get('filename')]
  if (extended === undefined) return plain === undefined ? null : harmlessName(textOf(plain))
  const decoded = decodeExtended(extended)
  return decoded === undefined ? undefined : harmlessName(decoded)
}

/** Headers arrive as Latin-1, although many clients write UTF-8. */
function textOf(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}

function decodeExtended(text: string): string | undefined {
  const match = /^utf-8'[\w-]*'((?:[\w!#$&+.^`|~-]|%[\da-f]{2})*)$/i.exec(text)
  try {
    return match ? decodeURIComponent(match[1] as string) : undefined
  } catch {
    return undefined
  }
}

/** Controls, and marks that turn the direction of text, so that `gpj.exe` looks like `exe.jpg`. */
const unwanted = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu

/** A name without folders and without characters that deceive or that systems refuse; null if nothing is left. */
function harmlessName(name: string): string | null {
  const own = name.split(/[/\\]/).at(-1) as string
  const clean = own
    .normalize('NFC')
    .replace(unwanted, '')
    .replace(/[<>:"|?*]/g, '_')
    .trim()
  const cut = [...clean]
    .slice(0, mostCharacters)
    .join('')
    .replace(/^\.+|[. ]+$/g, '')
  return cut === '' ? null : cut
}

/** The header of an answer: a name in ASCII for old clients, and the whole one for others. */
export function dispositionOf(kind: 'inline' | 'attachment', name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^ !#$&+\-.\w^`{}~()[\]=,;@']/g, '_')
  const plain = `${kind}; filename="${ascii}"`
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encodeName(name)}`
}

const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
