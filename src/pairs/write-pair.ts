/** Writes a pair: PUT links two items, DELETE unlinks them. Part 4, methods. */
import {
  absenceTypes,
  conditionTypes,
  describedMinimal,
  itemConditions,
  scopeTypes,
  writesRestricted,
} from '../endpoints/described.ts'
import { writeRules } from '../endpoints/further-rules.ts'
import { absentItem, itemPath, mayRead, missingItem, writeRefusal } from '../endpoints/item.ts'
import { preferMinimal } from '../endpoints/prefer.ts'
import { planPutCreate, planReplace } from '../endpoints/replace-item.ts'
import { admitConditions, updatePlanner } from '../endpoints/write-item.ts'
import { Problem } from '../errors/problem.ts'
import type { AbsentRow } from '../flow/found-row.ts'
import type { Intent, RequestContext } from '../flow/intent.ts'
import type { Outcome } from '../flow/outcome.ts'
import type { Decide, RowWrite } from '../flow/plan.ts'
import type { Reply } from '../flow/reply.ts'
import type { OperationDescription, Route } from '../flow/route.ts'
import { withArticle } from '../formats/naming.ts'
import { refuseParameters } from '../lists/query-string.ts'
import { ruleFor } from '../resources/declaration.ts'
import {
  admitIds,
  answeredBy,
  describedPair,
  isOwnAbsence,
  otherRow,
  type PairPath,
  pairKey,
  pairRead,
  pairReply,
  readOfSide,
} from './read-pair.ts'

/** The common part of both routes. */
function writeRoute(path: PairPath, operation: 'replace' | 'remove') {
  const { resource } = path.pair
  return {
    ...({ operation, at: 'item', safe: false, resource, claims: null } as const),
    rule: ruleFor(resource.access, operation) as string,
    query: (call) => refuseParameters(call, resource.settings),
    target: (request) => ({
      read: readOfSide(path, request),
      admit: (current) => {
        if (current && current.is !== 'found') throw absentItem(path.pair, current)
      },
    }),
    parse: (request) => ({
      ...request,
      ...{ key: pairKey(path, request), time: request.world.now(), document: null, claim: null },
    }),
  } satisfies Partial<Route>
}

export function linkPairRoute(path: PairPath): Route {
  const { pair, to } = path
  const updated = updatePlanner(pair, 'replace')
  const route = writeRoute(path, 'replace')
  return {
    ...route,
    method: 'PUT',
    content: ['application/json'],
    contentOptional: true,
    furtherRules: writeRules(pair),
    parse: (request) => {
      readOfSide(path, request) // refuses an id that cannot exist
      if (!to.resource.isId(request.params[1] as string)) throw unknownOther(path, request)
      return route.parse(request)
    },
    plan: (intent): Decide => ({
      do: 'decide',
      read: pairRead(path, intent),
      embeds: [otherRow(path, intent)],
      admit: (current) => {
        if (current.is !== 'found' && isOwnAbsence(path, current)) throw absentItem(pair, current)
        admitConditions(pair, intent, current.is === 'found' ? current : null)
      },
      decide: (current) =>
        current.is === 'found' ? planReplace(pair, intent, current, updated) : planLink(path, intent, current),
    }),
    showsOthers: [pair, to].some(({ representation }) => representation.answer !== null),
    render: (intent, outcome) => linkReply(path, intent, outcome),
    about: linkDescription(path),
  }
}

const linkDescription = (path: PairPath): OperationDescription => ({
  id: 'replace',
  summary: () => `Link ${withArticle(path.to.resource.title)} to ${withArticle(path.from.resource.title)}`,
  notes: ['A repeat is as good as the first.'],
  body: 'replace',
  ...answeredBy(path),
  headers: [...itemConditions, 'prefer'],
  answers: [
    describedPair(path, 200, 'They were linked already.', ['Content-Location']),
    describedPair(path, 201, 'They are linked now.', ['Location', 'Content-Location']),
    describedMinimal(path.pair.resource, ['Content-Location']),
  ],
  refusals: [
    ...absenceTypes(path.from.resource),
    ...conditionTypes(path.pair.resource),
    ...scopeTypes(path.pair.resource, writesRestricted),
  ],
})

/** The write of a pair that does not exist. If its parent does not exist either, that is the item of the other side. */
const planLink = (path: PairPath, intent: Intent, current: AbsentRow): RowWrite =>
  ifPresent(path, intent, () => {
    if (current.collection !== path.pair.resource.collection.name) throw unknownOther(path, intent)
    return planPutCreate(path.pair, intent, current)
  })

/** A write that is decided if the item of the path exists; the key of the pair does not tell for the second side. */
function ifPresent(path: PairPath, intent: Intent, decide: () => RowWrite): RowWrite {
  if (path.isFirst) return decide()
  const consequences = {
    reads: [{ ...readOfSide(path, intent), lock: 'share' } as const],
    decide: ([seen]: readonly { readonly is: string }[]) => {
      if (seen?.is !== 'found') throw absentItem(path.pair, seen as AbsentRow)
      return decide()
    },
  }
  return { do: 'keep', consequences }
}

/** The refusal of a pair whose other item does not exist. */
function unknownOther({ to, fields }: PairPath, { params }: Pick<RequestContext, 'params'>): Problem {
  const id = String(params[1])
  const message = `${to.resource.title} ${id.length > 100 ? `${id.slice(0, 100)}…` : id} does not exist.`
  const violation = { message, type: 'invalid-value', in: 'path', name: fields[1] } as const
  return new Problem('validation-failed', `${message} Create it before it is linked.`, { violations: [violation] })
}

function linkReply(path: PairPath, intent: Intent, outcome: Outcome): Reply {
  const { pair, from, isFirst } = path
  if (outcome.is === 'unmet')
    throw isFirst ? unknownOther(path, intent) : missingItem(from.resource, String(intent.params[0]))
  const written = outcome.is === 'kept' ? outcome.current : outcome
  if (written.is !== 'found' && written.is !== 'changed' && written.is !== 'created')
    throw writeRefusal(pair, written, intent.key)
  const status = written.is === 'created' ? 201 : 200
  const reply = pairReply(path, intent, status, written, () => unknownOther(path, intent))
  const url = urlOf(path, intent)
  reply.headers['Content-Location'] = url
  if (written.is === 'created') {
    reply.headers.Location = url
    return reply
  }
  const short = preferMinimal(intent.call, reply, 204)
  if (short !== reply) delete short.headers.ETag // the client has not seen the item that the tag is of
  return mayRead(intent.caller, pair.representation.today) ? short : { ...short, status: 204, body: null }
}

function urlOf({ from, to }: PairPath, { params, carried }: Pick<RequestContext, 'params' | 'carried'>): string {
  const [own = '', other = ''] = params
  const base = itemPath(from.resource, { id: own, parent: null }, { ...carried, query: '' })
  return `${base}/${to.resource.name}/${encodeURIComponent(other)}${carried.query === '' ? '' : `?${carried.query}`}`
}

export function unlinkPairRoute(path: PairPath): Route {
  const { pair, from, to } = path
  const route = writeRoute(path, 'remove')
  return {
    ...route,
    method: 'DELETE',
    content: [],
    parse: (request) => {
      admitIds(path, request)
      return route.parse(request)
    },
    plan: (intent): Decide => ({
      do: 'decide',
      read: pairRead(path, intent),
      admit: (current) => {
        if (current.is === 'found') admitConditions(pair, intent, current)
        else if (isOwnAbsence(path, current)) throw absentItem(pair, current)
      },
      decide: (current) => {
        if (current.is !== 'found') return ifPresent(path, intent, () => ({ do: 'keep' }))
        const row = { key: intent.key, time: intent.time, takes: new Set<string>() }
        return pair.writer.remove(pair.representation.today, row, current)
      },
    }),
    render: (intent, outcome) => {
      if (outcome.is !== 'removed' && outcome.is !== 'kept') throw writeRefusal(pair, outcome, intent.key)
      return { status: 204, headers: {}, body: null }
    },
    about: {
      id: 'delete',
      summary: () => `Unlink ${withArticle(to.resource.title)} from ${withArticle(path.from.resource.title)}`,
      notes: ['It succeeds for items that are not linked, too.'],
      body: null,
      headers: itemConditions,
      answers: [{ status: 204, says: 'They are not linked.', body: null, headers: [], name: 'Removed' }],
      refusals: [...absenceTypes(from.resource), ...conditionTypes(pair.resource)],
    },
  }
}
