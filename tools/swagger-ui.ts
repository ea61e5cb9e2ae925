/** Swagger UI in Chromium: executes each list and each creation with the values that it fills in. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Locator, type Page } from 'playwright-core'

const html = `<!doctype html><meta charset="utf-8"><title>Swagger UI</title><div id="ui"></div>
<script src="/swagger-ui/swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({ url: '/openapi.json', dom_id: '#ui', docExpansion: 'list', tryItOutEnabled: true })</script>`

/** The id in examples. It names no item, so a user puts the id of an item in its place. */
const exampleId = /([a-z]+)_01jd8m2kq3v9x7c5b1n4f6h8t0/g

interface ListedOperation {
  readonly id: string
  readonly tags: readonly string[]
  readonly isCreation: boolean
  /** The parameters of its path, with the prefixes of their ids. */
  readonly owners: readonly (readonly [name: string, prefix: string])[]
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: { readonly $ref: string }
}

/** Executes the operations of a running service; the answers that are not 2xx, as texts. */
export async function executeWithSwaggerUi(url: string, packages: string, executablePath: string): Promise<string[]> {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage()
    await page.route(`${url}/swagger-ui/**`, (route) => {
      const name = new URL(route.request().url()).pathname.split('/').at(-1) as string
      const body = name === '' ? html : readFileSync(join(packages, 'node_modules/swagger-ui-dist', name))
      return route.fulfill({ contentType: name === '' ? 'text/html' : 'text/javascript', body })
    })
    await page.goto(`${url}/swagger-ui/`)
    await page.locator('.opblock').first().waitFor()
    return await executeAll(page, await listedOperations(url))
  } finally {
    await browser.close()
  }
}

/** Creations come before lists. */
async function listedOperations(url: string): Promise<ListedOperation[]> {
  // biome-ignore lint/suspicious/noExplicitAny: any place of a document
  const document: any = await (await fetch(`${url}/openapi.json`)).json()
  const at = (part: { readonly $ref?: string }): unknown =>
    part.$ref
      ?.slice(2)
      .split('/')
      .reduce((found, name) => found[name], document) ?? part
  const all = Object.values(document.paths as object).flatMap((item: object) => Object.values(item)) as {
    readonly operationId?: string
    readonly tags: readonly string[]
    readonly parameters?: readonly { readonly $ref?: string }[]
  }[]
  const listed = all.flatMap(({ operationId: id = '', tags, parameters = [] }) => {
    if (!/\.(list|create)$/.test(id)) return []
    const inPath = parameters.map((one) => at(one) as Parameter).filter((one) => one.in === 'path')
    const owners = inPath.map(({ name, schema }) => {
      const { examples } = at(schema) as { readonly examples: readonly string[] }
      return [name, String(examples[0]).split('_', 1)[0] as string] as const
    })
    return [{ id, tags, owners, isCreation: id.endsWith('.create') }]
  })
  return listed.toSorted((a, b) => Number(b.isCreation) - Number(a.isCreation))
}

async function executeAll(page: Page, operations: readonly ListedOperation[]): Promise<string[]> {
  const ids = new Map<string, string>()
  const failures: string[] = []
  let waiting = operations
  while (waiting.length > 0) {
    const later: ListedOperation[] = []
    for (const one of waiting) {
      const block = page.locator(`[id="operations-${one.tags[0]}-${one.id.replaceAll('.', '\\\\.')}"]`)
      if (!(await block.locator('button.execute').isVisible())) await block.locator('.opblock-summary-control').click()
      await block.locator('button.execute').waitFor()
      if (await fillIds(block, one, ids)) {
        const { status, text } = await execute(page, block)
        if (status < 200 || status > 299) failures.push(`${one.id} was answered ${status}: ${text}`)
        const { id } = (status === 201 ? JSON.parse(text) : {}) as { id?: string }
        if (id !== undefined) ids.set(id.split('_', 1)[0] as string, id)
      } else later.push(one)
    }
    if (later.length === waiting.length)
      return [...failures, ...later.map(({ id }) => `${id} needs an item that none created.`)]
    waiting = later
  }
  return failures
}

/** Replaces ids of examples by those of created items; false if there is no such item yet. */
async function fillIds(
  block: Locator,
  { owners }: ListedOperation,
  ids: ReadonlyMap<string, string>,
): Promise<boolean> {
  for (const [name, prefix] of owners) {
    const id = ids.get(prefix)
    if (id === undefined) return false
    await block.locator(`tr[data-param-in=path][data-param-name=${name}] input`).fill(id)
  }
  for (const control of await block.locator('textarea.body-param__text').all()) {
    const text = await control.inputValue()
    const needed = [...text.matchAll(exampleId)].map(([, prefix = '']) => prefix)
    if (needed.some((prefix) => !ids.has(prefix))) return false
    if (needed.length > 0) await control.fill(text.replace(exampleId, (_, prefix) => ids.get(prefix) as string))
  }
  return true
}

async function execute(page: Page, block: Locator) {
  const [answer] = await Promise.all([
    page.waitForResponse((one) => one.request().resourceType() === 'fetch', { timeout: 15_000 }),
    block.locator('button.execute').click(),
  ])
  return { status: answer.status(), text: await answer.text() }
}
