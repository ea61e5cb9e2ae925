/** File calls: uploads and downloads of the files of a resource. Part 2, fields. */
import { toKebab } from '../formats/naming.ts'
import type { Exchange } from './exchange.ts'
import { pathSegment } from './item-calls.ts'
import type { DownloadOptions, FileContent, UploadOptions } from './upload-types.ts'

type Target = string | { readonly id: string }

interface Cancelled {
  readonly signal?: AbortSignal
}

export function fileCalls(exchange: Exchange, path: string) {
  const at = (target: Target, file: string) => `${path}/${pathSegment(target)}/${toKebab(file)}`
  return {
    upload: async (target: Target, file: string, content: FileContent, options: UploadOptions = {}) => {
      const { type, name, signal } = { ...ownTerms(content), ...options }
      const headers = {
        'content-type': type,
        ...(name !== undefined && { 'content-disposition': `attachment; filename*=UTF-8''${encodeName(name)}` }),
      }
      const sent = { body: content, headers, ...(signal && { signal }) }
      const response = await exchange.pass({ method: 'PUT', path: at(target, file) }, sent)
      return response.status === 204 ? null : response.json()
    },
    download: (target: Target, file: string, { range, ifRange, signal }: DownloadOptions = {}): Promise<Response> => {
      const headers = {
        accept: '*/*',
        ...(range && { range: `bytes=${range.from}-${range.end === undefined ? '' : range.end - 1}` }),
        ...(ifRange !== undefined && { 'if-range': ifRange }),
      }
      return exchange.pass({ method: 'GET', path: at(target, file) }, { headers, ...(signal && { signal }) })
    },
    removeFile: async (target: Target, file: string, { signal }: Cancelled = {}): Promise<void> => {
      await exchange.pass({ method: 'DELETE', path: at(target, file) }, { ...(signal && { signal }) })
    },
  }
}

/** The type and the name that the content itself has: a Blob has a type, and a File a name. */
function ownTerms(content: FileContent): { readonly type: string; readonly name?: string } {
  const { type, name } = content as { readonly type?: unknown; readonly name?: unknown }
  return {
    type: typeof type === 'string' && type !== '' ? type : 'application/octet-stream',
    ...(typeof name === 'string' && { name }),
  }
}

const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
