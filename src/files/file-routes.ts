/** File routes: GET, PUT and DELETE of the content of a file, at the URL of its item. Part 2, fields; part 4, methods. */
import { absenceTypes, conditionTypes, itemConditions, scopeTypes, stateTypes } from '../endpoints/described.ts'
import { absentItem, admitPresent, type EndpointContext, itemKey, itemRead, mayRead } from '../endpoints/item.ts'
import { presentItem } from '../endpoints/present-item.ts'
import { judgeWrite } from '../endpoints/state-refusal.ts'
import { updatePlanner, writeItemRoute } from '../endpoints/write-item.ts'
import { Problem } from '../errors/problem.ts'
import type { Call } from '../flow/call.ts'
import type { FoundRow, ReadResult } from '../flow/found-row.ts'
import type { Document, Intent, RequestContext } from '../flow/intent.ts'
import type { RevisionPage } from '../flow/outcome.ts'
import type { Reply } from '../flow/reply.ts'
import type { DescribedAnswer, OperationDescription, Route } from '../flow/route.ts'
import { revisionRoutes } from '../history/revision-routes.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { ruleFor } from '../resources/declaration.ts'
import { decodeDocument } from '../resources/document.ts'
import { rowRuleOf } from '../rules/row-rules.ts'
import { contentReply } from './content-reply.ts'
import { fileTag } from './file-tag.ts'
import { admitUpload, receiveFile } from './receive-file.ts'
import {
  admitFileCaller,
  admitFileConditions,
  fileIn,
  fileInWords,
  missingFile,
  type ServedFile,
  servedFiles,
} from './served-file.ts'

export const fileRoutes = (context: EndpointContext): readonly Route[] => {
  const { methods } = context.resource
  const [, revision] = revisionRoutes(context)
  return servedFiles(context).flatMap((file) => [
    ...(revision ? [readRevisionRoute(context, file, revision)] : []),
    ...(methods.includes('read') ? [readRoute(context, file)] : []),
    ...(methods.includes('change') ? [uploadRoute(context, file), removeRoute(context, file)] : []),
  ])
}

function readRoute(context: EndpointContext, file: ServedFile): Route {
  const { resource } = context
  const { settings } = resource
  const contentOf = (request: RequestContext, current: ReadResult) => {
    const row = presentItem(context, request, current)
    const member = fileIn(file, row)
    if (member === null) throw missingFile(resource, file, request.params.at(-1) as string)
    return member
  }
  return {
    ...{ operation: file.segment, method: 'GET', at: `item/${file.segment}`, safe: true, resource },
    ...{ rule: ruleFor(resource.access, 'read') as string, content: [], claims: null, answersContent: true },
    rowRule: rowRuleOf(context.representation.today, 'read'),
    query: ({ target }) => refuseParameters({ method: 'GET', target }, settings),
    // Does not check whether there is a file: the answer would reveal it to callers that may not read the field.
    target: (request) => ({ read: itemRead(context, request), admit: (current) => admitPresent(context, current) }),
    parse: (request) => {
      admitFileCaller(context, file, 'read', request)
      return { ...request, key: itemKey(context, request), time: 0, document: null, claim: null }
    },
    plan: (intent) => itemRead(context, intent),
    render: (intent, outcome) =>
      contentReply(contentOf(intent, outcome as ReadResult), intent, replyTerms(context, file)),
    about: readDescription(context, file),
  }
}

const replyTerms = ({ resource: { settings } }: EndpointContext, { segment }: ServedFile) => ({
  ...{ name: segment, tagged: settings.etag.mode !== 'off', timeout: settings.limits.writeTimeout },
})

/** A sweep removes contents of revisions that were to go when they were replaced, even if `history.retention` is longer now. */
const removedContent = ({ name }: ServedFile, id: string): Problem =>
  new Problem('resource-not-found', `The ${name} of this revision of ${id} is not kept any more.`)

/** The content that an item had at a revision: revisions keep theirs. R237. */
function readRevisionRoute(context: EndpointContext, file: ServedFile, revision: Route): Route {
  const { about, answersPatch, ...own } = revision
  const described = readDescription(context, file)
  return {
    ...own,
    ...{ operation: `${revision.operation}-${file.segment}`, at: `${revision.at}/${file.segment}` as Route['at'] },
    answersContent: true,
    parse: (request) => {
      refuseParameters(request.call, context.resource.settings) // the revision itself takes `against`
      admitFileCaller(context, file, 'read', request)
      return revision.parse(request)
    },
    render: (intent, outcome) => {
      revision.render(intent, outcome) // throws the refusals
      const [current] = (outcome as RevisionPage).revisions
      const member = current ? fileIn(file, current.event) : null
      if (member === null) throw missingFile(context.resource, file, intent.key.id)
      const removed = () => removedContent(file, intent.key.id)
      return contentReply(member, intent, { ...replyTerms(context, file), removed })
    },
    about: {
      ...described,
      ...{
        id: `revision-${file.segment}`,
        summary: () => `Download the ${fileInWords(context, file)}, as it was in a revision`,
      },
      refusals: [...about.refusals, ...described.refusals],
    },
  }
}

/** The write of the member of a file: that of an upload, or null. */
function writeRoute(
  context: EndpointContext,
  file: ServedFile,
  own: Pick<Route, 'method' | 'content'> & { readonly about: OperationDescription },
  memberOf: (intent: Intent) => Document | null,
): Route {
  const { resource, representation } = context
  const updated = updatePlanner(context, 'change')
  const judge = judgeWrite(context, 'change')
  return writeItemRoute(context, {
    ...own,
    ...{ operation: file.segment, at: `item/${file.segment}`, claims: null, headers: () => ({}) },
    rule: ruleFor(resource.access, 'change') as string,
    rowRule: rowRuleOf(representation.today, 'change'),
    admit: (request, current) => {
      if (current.is !== 'found') throw absentItem(context, current)
      admitFileCaller(context, file, 'write', request)
      admitFileConditions(context, request, fileIn(file, current))
      // Checked here too, so that a large content is refused before it is received.
      judge(JSON.parse(current.doc) as Document, request)
    },
    judgeState: judge,
    decide: (intent, current) => {
      const { doc, hidden } = current as FoundRow
      const before = decodeDocument(representation.today, doc, hidden)
      const after = { ...before, [file.stored.name]: memberOf(intent) }
      return updated({ ...intent, body: {} }, current as FoundRow, before, after)
    },
  })
}

function uploadRoute(context: EndpointContext, file: ServedFile): Route {
  const { representation } = context
  /** Uploads whose item had no file before. */
  const first = new WeakSet<object>()
  const about = uploadDescription(context, file)
  const route = writeRoute(context, file, { method: 'PUT', content: file.types ?? ['*/*'], about }, ({ uploaded }) => ({
    ...uploaded,
  }))
  return {
    ...route,
    upload: {
      most: file.most,
      admit: (call) => admitUpload(call, file),
      receive: (asked, store) => receiveFile(context, file, asked, store),
    },
    plan: (intent) => {
      const plan = route.plan(intent)
      if (plan.do !== 'decide') return plan
      return {
        ...plan,
        decide: (seen) => {
          if (seen?.is === 'found' && fileIn(file, seen) === null) first.add(intent.uploaded as object)
          else first.delete(intent.uploaded as object)
          return plan.decide(seen)
        },
      }
    },
    render: (intent, outcome) => {
      const reply = route.render({ ...intent, call: withoutPreference(intent.call) }, outcome)
      if (!mayRead(intent.caller, representation.today)) return reply
      return memberReply(context, file, intent, { reply, isFirst: first.has(intent.uploaded as object) })
    },
  }
}

/** The answer to an upload is small, so that it is always sent. */
const withoutPreference = ({ headers: { prefer, ...headers }, ...call }: Call): Call => ({ ...call, headers })

/** The member of the file, as the item has it. */
function memberReply(
  context: EndpointContext,
  { name }: ServedFile,
  { uploaded }: Intent,
  { reply, isFirst }: { readonly reply: Reply; readonly isFirst: boolean },
): Reply {
  const member = (JSON.parse(String(reply.body)) as Record<string, { href: string } | undefined>)[name]
  const headers: Record<string, string> = {}
  if (context.resource.settings.etag.mode !== 'off' && uploaded) headers.ETag = fileTag(uploaded)
  if (isFirst && member) headers.Location = member.href
  return { status: isFirst ? 201 : 200, headers, body: JSON.stringify(member) }
}

function removeRoute(context: EndpointContext, file: ServedFile): Route {
  const route = writeRoute(
    context,
    file,
    { method: 'DELETE', content: [], about: removeDescription(context, file) },
    () => null,
  )
  return {
    ...route,
    render: (intent, outcome) => {
      route.render(intent, outcome) // throws the refusals
      return { status: 204, headers: {}, body: null }
    },
  }
}

const memberAnswer = (status: number, says: string, headers: readonly string[] = []): DescribedAnswer => ({
  ...{ status, says, body: 'file', headers: ['ETag', ...headers] },
})

const fileHeaders = ['ETag', 'Accept-Ranges', 'Content-Disposition', 'Content-Security-Policy'] as const

const readDescription = (context: EndpointContext, file: ServedFile): OperationDescription => ({
  ...{ id: `get-${file.segment}`, summary: () => `Download the ${fileInWords(context, file)}`, body: null },
  notes: ['`Accept` has no effect: the content has the type that it was uploaded with.'],
  ...{ headers: ['match', 'noneMatch', 'range'], file: file.own.field },
  answers: [
    { status: 200, says: 'The content.', body: 'content', headers: fileHeaders },
    { status: 206, says: 'A range of the content.', body: 'content', headers: [...fileHeaders, 'Content-Range'] },
    { status: 304, says: 'It is as the client has it.', body: null, headers: ['ETag'], name: 'SameContent' },
  ],
  refusals: [
    ...absenceTypes(context.resource),
    ...['resource-not-found', 'range-not-satisfiable', 'precondition-failed'],
    ...scopeTypes(context.resource, ({ name, read }) => name === file.name && read !== null),
  ],
})

const writeTypes = (context: EndpointContext, file: ServedFile) => [
  ...absenceTypes(context.resource),
  ...conditionTypes(context.resource),
  ...stateTypes(context, 'change'),
  ...scopeTypes(context.resource, ({ name, write }) => name === file.name && write.length > 0),
]

const uploadDescription = (context: EndpointContext, file: ServedFile): OperationDescription => ({
  ...{ id: `put-${file.segment}`, summary: () => `Upload the ${fileInWords(context, file)}` },
  notes: [
    `At most ${file.most} bytes. \`Content-Type\` says what it is, and has to agree with its first bytes.`,
    'The tags of `If-Match` and `If-None-Match` are those of the content.',
  ],
  ...{ body: 'file', headers: [...itemConditions.slice(0, 2), 'disposition'], file: file.own.field },
  answers: [
    memberAnswer(201, 'It was uploaded.', ['Location']),
    memberAnswer(200, 'It has replaced the one before.'),
    {
      status: 204,
      says: 'It was uploaded by a caller that may not read the item.',
      body: null,
      headers: [],
      name: 'Uploaded',
    },
  ],
  refusals: [...writeTypes(context, file), 'conflict'],
})

const removeDescription = (context: EndpointContext, file: ServedFile): OperationDescription => ({
  ...{ id: `delete-${file.segment}`, summary: () => `Delete the ${fileInWords(context, file)}`, body: null },
  ...{ notes: [], headers: itemConditions.slice(0, 2), file: file.own.field },
  answers: [{ status: 204, says: 'The item has no such file any more.', body: null, headers: [], name: 'FileRemoved' }],
  refusals: writeTypes(context, file),
})
