/** Introduction: the parts of a description that OpenAPI has no members for: limits, quotas, versions. Part 13; part 8. */
import type { ServedVersion } from '../flow/route.ts'
import type { Deprecation } from '../resources/declaration.ts'
import type { Service } from '../service.ts'
import { versionExamples } from '../versions/version-choice.ts'
import { operatorTexts } from './filters.ts'

/** The parts of the introduction in Markdown; an empty part does not apply. */
export const introductionParts = (service: Service, label: string) => ({
  own: service.declaration.description ?? '',
  general: generalText(service),
  filters: filterText(service, label),
  version: versionText(service, label),
  limits: limitText(service),
  quotas: quotaText(service),
  errors: errorText(service),
})

/** The introduction of a document in Markdown. */
export const introductionText = (service: Service, label: string): string =>
  Object.values(introductionParts(service, label)).filter(Boolean).join('\n\n')

function generalText({ settings }: Service): string {
  return [
    '- Every path with GET also has HEAD, and every path has OPTIONS, whose answer lists the methods.',
    '- Every answer has `Request-Id`, which is also in the logs of the service, and `Version`, the version that answered. A request may bring its own `Request-Id` of up to 128 letters, digits and `._-`.',
    '- PUT and PATCH ignore fields that the service sets. Fields whose values are in the URL may be left out; else they have the same values.',
    '- Answers with content have `Content-Type` and `X-Content-Type-Options`, and `Content-Encoding` if they are compressed. `Cache-Control` and `Vary` say who may cache an answer. Errors have `Content-Language`, and answers to dry runs `Dry-Run`.',
    '- Errors are objects with `message`, `type` and `types`; if `Accept` names `application/problem+json` they have the form of RFC 9457.',
    `- Strings contain neither U+0000 nor unpaired surrogates. Objects have at most ${settings.body.maxDepth} levels and ${settings.body.maxKeys} keys each.`,
  ].join('\n')
}

/** The operators of the filters of a version. */
function filterText({ editions, settings }: Service, label: string): string {
  const routes = (editions.get(label) as ServedVersion).endpoints.flatMap(({ methods }) => [...methods.values()])
  const offered = routes.flatMap(({ offer }) => offer?.().filters.flatMap(({ operators }) => operators) ?? [])
  const listed = Object.entries(operatorTexts).filter(([operator]) => offered.includes(operator))
  if (listed.length === 0) return ''
  const set = offered.includes('in') ? `, or a set of at most ${settings.list.maxSetSize}, as \`in:(a,"b, c")\`` : ''
  return [
    `A filter is a parameter with the name of a field and a value${set}. All filters of a request have to hold. Operators stand in brackets:\n`,
    ...listed.map(([operator, text]) => `- \`[${operator}]\`: the field ${text}`),
  ].join('\n')
}

function versionText({ choice, declaration, settings }: Service, label: string): string {
  const { carriers } = choice
  const ways = versionExamples(label, settings.server.basePath)
  const named = carriers.map((one) => ways[one]).join(', ')
  const how = `This is ${label}. It is named by ${named}; where nothing names a version, ${unnamedText(choice)}.`
  return [how, ...deprecationNotes(declaration.versions?.[label] ?? {})].join(' ')
}

function unnamedText({ usual, latest, fromFeatures }: Service['choice']): string {
  if (fromFeatures !== null) return 'the features of the caller decide'
  if (usual === null) return 'the request is refused'
  return `${latest ? 'the latest released version' : usual} answers`
}

/** The deprecation, the end and the successor of a version or an operation, in words. R202. */
export function deprecationNotes({ deprecated, sunset, guide, policy, successor }: Partial<Deprecation>): string[] {
  return [
    ...(deprecated === undefined ? [] : [`To be left from ${deprecated} on.`]),
    ...(sunset === undefined ? [] : [`Planned to end on ${sunset}.`]),
    ...(successor === undefined ? [] : [`Instead: ${successor}.`]),
    ...(guide === undefined ? [] : [`How to move: ${guide}.`]),
    ...(policy === undefined ? [] : [`What is promised until then: ${policy}.`]),
  ]
}

function limitText({ settings: { limits, request } }: Service): string {
  const codings = request.codings.join(', ') || 'none'
  const seconds = (milliseconds: number) => `${milliseconds / 1000} seconds`
  return [
    `Limits of a request: ${limits.body} bytes of content, ${limits.url} bytes of the URL, ${limits.headers} bytes of headers in ${limits.headerFields} fields.`,
    `Its content may be compressed (\`Content-Encoding\`): ${codings}.`,
    `A request has to arrive within ${seconds(limits.requestTimeout)}, and is handled within ${seconds(limits.handlerTimeout)}.`,
    limits.concurrency === null ? '' : `At most ${limits.concurrency} requests are handled at a time.`,
    limits.callerConcurrency === null
      ? ''
      : `At most ${limits.callerConcurrency} requests of a caller are handled at a time.`,
  ]
    .filter(Boolean)
    .join(' ')
}

function quotaText({ quotas }: Service): string {
  if (quotas === null) return ''
  const tiers = [...quotas.tiers.values(), ...(quotas.anonymous ? [quotas.anonymous] : [])]
  const lines = tiers.flatMap(({ policies }) =>
    policies.map(
      ({ tier, name, quota, window, partition }) =>
        `- ${tier}: ${name}, ${quota} requests in ${window / 1000} seconds, counted by ${partition}`,
    ),
  )
  return lines.length === 0 ? '' : `Quotas:\n\n${lines.join('\n')}`
}

/** The types of errors that the service declares and describes. */
function errorText({ declaration: { errors = {} } }: Service): string {
  const described = Object.entries(errors).filter(([, { title, description }]) => title ?? description)
  const lines = described.map(
    ([type, { status, title, description }]) =>
      `- \`${type}\` (${status}): ${[title && `${title}.`, description].filter(Boolean).join(' ')}`,
  )
  return lines.length === 0 ? '' : `Errors of this service:\n\n${lines.join('\n')}`
}
