/** Receive file: takes in the content of an upload as it arrives, checks it, and stores it before its row names it. Part 8. */
import { createHash } from 'node:crypto'
import {
  codingsOf,
  contentFlow,
  contentTooLarge,
  declaredLength,
  mediaTypeOf,
} from '../endpoints/content-negotiation.ts'
import { type EndpointContext, itemRead } from '../endpoints/item.ts'
import { shortName } from '../errors/pointer.ts'
import { Problem } from '../errors/problem.ts'
import type { FileMember } from '../fields/field.ts'
import { type Call, headerLines } from '../flow/call.ts'
import type { RequestContext } from '../flow/intent.ts'
import type { Store } from '../flow/store.ts'
import { tablePlan } from '../flow/table.ts'
import { isDryRun } from '../lists/query-string.ts'
import { lengthIn } from './content-reply.ts'
import { dryContent } from './file-makers.ts'
import { nameInHeader } from './file-name.ts'
import { noteContent } from './file-table.ts'
import { fileTag } from './file-tag.ts'
import { contradictingType, headSize, isTypeAllowed } from './file-types.ts'
import { fileIn, type ServedFile } from './served-file.ts'

/** Refuses an upload by its headers, before its content is read. R32, R33, R178. */
export function admitUpload(call: Call, { most, types, name }: ServedFile): void {
  typeOf(call, types)
  if (codingsOf(call).length > 0)
    throw new Problem(
      'unsupported-content-coding',
      'The content of a file is stored as it is. Send it without a coding.',
      {
        headers: { 'Accept-Encoding': 'identity' },
      },
    )
  const length = declaredLength(call)
  if (length !== null && length > most) throw contentTooLarge(most)
  if (nameInHeader(call.headers['content-disposition']) === undefined)
    throw new Problem(
      'malformed-request',
      `Content-Disposition cannot be read. Write attachment; filename="${name}.pdf", or filename*=UTF-8'' with escapes.`,
      { extra: { in: 'header', name: 'Content-Disposition' } },
    )
}

/** The declared media type, with its charset if it is a text. */
function typeOf(call: Call, types: readonly string[] | undefined): string {
  if (headerLines(call, 'content-type').length > 1)
    throw new Problem('malformed-request', 'The request has more than one Content-Type line. Send one.')
  const type = mediaTypeOf(call)
  if (type === null || type.length > 127 || !isTypeAllowed(type, types)) throw unsupportedType(call, types)
  const charset = /;\s*charset\s*=\s*"?([\w.:+-]{1,40})"?/i.exec(call.headers['content-type'] ?? '')?.[1]
  return charset !== undefined && type.startsWith('text/') ? `${type}; charset=${charset.toLowerCase()}` : type
}

function unsupportedType({ headers }: Call, types: readonly string[] = []): Problem {
  const contentType = shortName(headers['content-type'] ?? '(none given)')
  const mend = types.length > 0 ? types.join(' or ') : 'the media type of the file, as application/pdf'
  return new Problem(
    'unsupported-media-type',
    `Content of the type ${contentType} is not accepted here. Send Content-Type: ${mend}.`,
    types.length > 0 ? { headers: { Accept: types.join(', ') } } : {},
  )
}

/** Stores the content of an upload; a dry run only checks it. */
export async function receiveFile(
  context: EndpointContext,
  file: ServedFile,
  request: RequestContext,
  store: Store,
): Promise<FileMember> {
  const { resource, representation } = context
  const { call, params, world } = request
  const { contents } = world
  if (contents === null) throw new Error('There is no place for files.')
  const isDry = isDryRun(call, resource.settings)
  const name = isDry ? dryContent : Buffer.from(world.fillRandom(new Uint8Array(16))).toString('hex')
  const type = typeOf(call, file.types)
  const held = isDry ? 0 : (contents.holds?.(file.most) ?? 0)
  const part = Math.min(held, declaredLength(call) ?? held)
  const { idleTimeout: idle } = resource.settings.limits
  const content = new IncomingContent({ call, type, most: file.most, idle, part })
  if (isDry) for await (const _ of content.pieces());
  else {
    const row = { resource: representation.today.name, item: params.at(-1) as string, field: file.stored.name }
    await store.execute(tablePlan(noteContent, { name, ...row, unused: world.now() }))
    try {
      await contents.write(name, content.pieces(), file.most)
    } catch (cause) {
      if (cause instanceof Problem) throw cause
      throw new Problem('dependency-unavailable', 'The content could not be stored. Send it again later.', { cause })
    }
    // An erasure and a sweep may have deleted its record before the content was written: the new record makes the next sweep
    // remove the content.
    await store.execute(tablePlan(noteContent, { name, ...row, unused: 0 }))
  }
  const { length, sha256 } = content.end()
  const sent = nameInHeader(call.headers['content-disposition']) ?? null
  const member = { href: name, type, length, sha256, name: sent }
  const current = await store.execute(itemRead(context, request))
  const present = current.is === 'found' ? fileIn(file, current) : null
  // The same file again changes nothing, unless its content was lost. R112.
  const isSame = present && fileTag(present) === fileTag(member) && (await lengthIn(contents, present.href)) === length
  return isSame ? present : member
}

interface ContentTerms {
  readonly call: Call
  readonly type: string
  readonly most: number
  readonly idle: number
  readonly part: number
}

/** A content that is counted, digested and compared with its type as it arrives. */
class IncomingContent {
  readonly #terms: ContentTerms
  readonly #digest = createHash('sha256')
  #length = 0
  #head: Buffer = Buffer.alloc(0)

  constructor(terms: ContentTerms) {
    this.#terms = terms
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    const { call, idle, part } = this.#terms
    try {
      for await (const piece of contentFlow(call, idle, part)) {
        this.#take(piece)
        yield piece
      }
    } catch (cause) {
      if (cause instanceof Problem) throw cause
      throw new Problem('malformed-request', 'The content broke off before its end. Send it again.', { cause })
    }
    this.#checkHead()
  }

  #take(piece: Uint8Array): void {
    this.#length += piece.length
    if (this.#length > this.#terms.most) throw contentTooLarge(this.#terms.most)
    this.#digest.update(piece)
    if (this.#head.length >= headSize) return
    this.#head = Buffer.concat([this.#head, piece.subarray(0, headSize - this.#head.length)])
    if (this.#head.length >= headSize) this.#checkHead()
  }

  #checkHead(): void {
    const declared = this.#terms.type.split(';', 1)[0] as string
    const contradiction = contradictingType(declared, this.#head)
    if (contradiction === null) return
    const is = contradiction === 'another one' ? 'are not those of this type' : `are those of ${contradiction}`
    throw new Problem(
      'unsupported-media-type',
      `The content is declared as ${declared}, but its first bytes ${is}. Send the type that it has.`,
    )
  }

  end(): Pick<FileMember, 'length' | 'sha256'> {
    return { length: this.#length, sha256: this.#digest.digest('hex') }
  }
}
