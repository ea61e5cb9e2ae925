/** Code samples: the code that sends a request, in curl, TypeScript and Python. Part 13. */
import { html, type Markup } from './markup.ts'

/** A sample request, with values in its path. */
export interface SampledRequest {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The header that the key is sent in; null if the operation is public. */
  readonly keyHeader: string | null
  /** Undefined without content; a text is sent as it is. */
  readonly body?: unknown
}

/** A placeholder for the address of the service, which the script of the page fills in. */
const origin = 'https://api.example.com'

export const sampleLanguages = ['curl', 'TypeScript', 'Python'] as const

/** The code of a request in each language. */
export const samplesOf = (request: SampledRequest): Markup =>
  html`${sampleLanguages.map((language) => html`<pre class="sample ${language}">${withOrigin(writers[language](request))}</pre>`)}`

const withOrigin = (code: string): Markup[] =>
  code.split(origin).map((part, i) => html`${i > 0 && html`<b class="origin">${origin}</b>`}${part}`)

const keyPrefix = (header: string): string => (header === 'Authorization' ? 'Bearer ' : '')

const bodyText = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body, null, 2))

/** In single quotes, so that a shell expands nothing in it. */
const shellText = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function curlCode({ method, path, headers, keyHeader, body }: SampledRequest): string {
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${shellText(origin + path)}`,
    ...(keyHeader === null ? [] : [`-H "${keyHeader}: ${keyPrefix(keyHeader)}$API_KEY"`]),
    ...headers.map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...(body === undefined
      ? []
      : [`${typeof body === 'string' ? '--data-binary' : '-d'} ${shellText(bodyText(body))}`]),
  ].join(' \\\n  ')
}

const quoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

function typescriptCode({ method, path, headers, keyHeader, body }: SampledRequest): string {
  const key = keyHeader === null ? [] : [`${quoted(keyHeader)}: \`${keyPrefix(keyHeader)}\${process.env.API_KEY}\``]
  const all = [...key, ...headers.map(([name, value]) => `${quoted(name)}: ${quoted(value)}`)]
  const options = [
    ...(method === 'GET' ? [] : [`method: ${quoted(method)}`]),
    ...(all.length === 0 ? [] : [`headers: { ${all.join(', ')} }`]),
    ...(typeof body === 'string' ? [`body: ${quoted(body)}`] : []),
    ...(body === undefined || typeof body === 'string'
      ? []
      : [`body: JSON.stringify(${bodyText(body).replaceAll('\n', '\n  ')})`]),
  ]
  const second = options.length === 0 ? '' : `, {\n${options.map((one) => `  ${one},\n`).join('')}}`
  return `const response = await fetch(${quoted(origin + path)}${second})\nconsole.log(response.status, await response.text())`
}

/** A value as Python writes it. */
function pythonValue(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}: ${pythonValue(one)}`)
    .join(', ')}}`
}

function pythonCode({ method, path, headers, keyHeader, body }: SampledRequest): string {
  const key = keyHeader === null ? [] : [`"${keyHeader}": "${keyPrefix(keyHeader)}" + os.environ["API_KEY"]`]
  const all = [...key, ...headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)]
  const isText = typeof body === 'string'
  const modules = [
    ...(body === undefined || isText ? [] : ['json']),
    ...(keyHeader === null ? [] : ['os']),
    'urllib.request',
  ]
  const options = [
    JSON.stringify(origin + path),
    ...(method === 'GET' ? [] : [`method="${method}"`]),
    ...(all.length === 0 ? [] : [`headers={${all.join(', ')}}`]),
    ...(body === undefined
      ? []
      : [`data=${isText ? JSON.stringify(body) : `json.dumps(${pythonValue(body)})`}.encode()`]),
  ]
  return [
    `import ${modules.join(', ')}\n`,
    `request = urllib.request.Request(\n${options.map((one) => `    ${one},\n`).join('')})`,
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, response.read().decode())',
  ].join('\n')
}

const writers: Readonly<Record<(typeof sampleLanguages)[number], (request: SampledRequest) => string>> = {
  curl: curlCode,
  TypeScript: typescriptCode,
  Python: pythonCode,
}
