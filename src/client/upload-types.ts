/** Upload types: the methods of a client for the files of a resource. Part 2, fields. */
import type { FieldNamesWith, FileMember } from '../fields/field.ts'
import type { ConceptsOf, FieldsOf, ResourceName } from '../resources/infer.ts'

type FileName<D, R> = FieldNamesWith<FieldsOf<D, R>, ConceptsOf<D>, { readonly kind: 'file' }> & string

/** What can be uploaded: a file of a form, bytes, a text, or a stream of bytes. */
export type FileContent = Blob | Uint8Array<ArrayBuffer> | string | ReadableStream<Uint8Array>

export interface UploadOptions {
  /** The media type; by default that of a Blob, otherwise `application/octet-stream`: `type: 'application/pdf'`. */
  readonly type?: string
  /** The name of the file; by default that of a File: `name: 'march.pdf'`. */
  readonly name?: string
  /** Ends the upload: it is rejected with the reason of the signal. */
  readonly signal?: AbortSignal
}

export interface DownloadOptions {
  /** The bytes to read; `end` is not included, and without it the rest is read: `range: { from: 0, end: 1000 }`. */
  readonly range?: { readonly from: number; readonly end?: number }
  /**
   * The ETag of a content that was read in part: if the content is another one now, it is answered whole, with status 200
   * instead of 206.
   */
  readonly ifRange?: string
  /** Ends the download: it is rejected with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** The methods for files; none without a file. */
export type Files<D, R extends ResourceName<D>, Uploaded extends FileMember | null> = [FileName<D, R>] extends [never]
  ? unknown
  : {
      /**
       * Uploads a file; null if the caller may change the item but not read it. It is sent once, and may take as long as it needs.
       * @example const { href } = await shop.orders.upload(order.id, 'invoice', form.files[0])
       */
      readonly upload: (
        target: string | { readonly id: string },
        file: FileName<D, R>,
        content: FileContent,
        options?: UploadOptions,
      ) => Promise<Uploaded>
      /**
       * Reads a file, as a Response whose content is read as it arrives.
       * @example const blob = await (await shop.orders.download(order.id, 'invoice')).blob()
       */
      readonly download: (
        target: string | { readonly id: string },
        file: FileName<D, R>,
        options?: DownloadOptions,
      ) => Promise<Response>
      /** Removes a file: `await shop.orders.removeFile(order.id, 'invoice')`. */
      readonly removeFile: (
        target: string | { readonly id: string },
        file: FileName<D, R>,
        options?: { readonly signal?: AbortSignal },
      ) => Promise<void>
    }
