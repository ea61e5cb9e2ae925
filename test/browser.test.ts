/** The reference page and the pages of errors in a browser: accessible, without other hosts, on small screens, by keyboard. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { type Running, startService } from './help/process.ts'
import { pathOf, without } from './help/programs.ts'

const example = fileURLToPath(new URL('../examples/orders/handlers.ts', import.meta.url))

const screens: readonly (readonly [string, BrowserContextOptions])[] = [
  ['light, 1280 px', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
  ['dark, 1280 px', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
  ['light, 360 px', { viewport: { width: 360, height: 740 }, colorScheme: 'light' }],
  ['dark, 360 px', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
]

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

describe('pages in a browser', { skip: without('chromium') }, () => {
  let browser: Browser
  let service: Running
  before(async () => {
    service = await startService(example)
    browser = await chromium.launch({ executablePath: pathOf('chromium') as string, args: ['--no-sandbox'] })
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  /** Opens a page of the service; returns it with the URLs that it requested and the errors that it logged. */
  async function opened(path: string, screen: BrowserContextOptions = {}) {
    const context = await browser.newContext({ bypassCSP: false, ...screen })
    const page = await context.newPage()
    const [asked, errors]: [string[], string[]] = [[], []]
    page.on('request', (request) => asked.push(request.url()))
    page.on('console', (line) => line.type() === 'error' && errors.push(line.text()))
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(service.url + path)
    return { page, asked, errors, close: () => context.close() }
  }

  /** The rules of axe that the page breaks. The debugger runs them, as the page allows no foreign scripts. */
  async function violations(page: Page): Promise<string[]> {
    const session = await page.context().newCDPSession(page)
    await session.send('Runtime.evaluate', { expression: axe.source })
    const expression = 'axe.run(document).then(({ violations, passes }) => JSON.stringify([violations, passes.length]))'
    const { result } = await session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
    const [found, kept] = JSON.parse(result.value) as [Violation[], number]
    assert.ok(kept > 10, `axe looked at ${kept} rules only`)
    return found.map(
      ({ id, nodes }) => `${id} at ${nodes[0]?.target.join(' ')}: ${nodes[0]?.failureSummary} (${nodes.length} places)`,
    )
  }

  for (const [what, screen] of screens)
    for (const path of ['/docs', '/problems', '/problems/invalid-cursor'])
      test(`${path} breaks no rule of axe, asks no other host and fits the screen (${what})`, async () => {
        const { page, asked, errors, close } = await opened(path, screen)
        assert.deepEqual(await violations(page), [])
        assert.deepEqual(
          asked.filter((url) => !url.startsWith(`${service.url}/`)),
          [],
        )
        assert.deepEqual(errors, [])
        const [wide, screenWide] = (await page.evaluate(
          '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
        )) as [number, number]
        assert.ok(wide <= screenWide, `the page is ${wide} px wide on a screen of ${screenWide}`)
        await close()
      })

  test('the root is the page for a browser', async () => {
    const { page, close } = await opened('/')
    assert.match(await page.title(), /^orders/)
    await close()
  })

  test('the page scrolls, and the contents follow the reader where they stand beside it', async () => {
    for (const width of [360, 1300]) {
      const { page, errors, close } = await opened('/docs', { viewport: { width, height: 800 } })
      await page.locator('#errors').evaluate((one) => one.scrollIntoView())
      const current = page.locator('.contents [aria-current]')
      await page.locator('.contents [aria-current][href="#errors"]').waitFor({ state: 'attached', timeout: 10_000 })
      const place = (await page.locator('#errors').evaluate((one) => one.getBoundingClientRect().top)) as number
      assert.deepEqual([await current.count(), errors], [1, []])
      assert.ok(Math.abs(place) < 100, `${width} px: the heading is at ${place}`)
      await close()
    }
  })

  test('a request is sent from the page with the keyboard alone, and its answer is shown', async () => {
    const { page, errors, close } = await opened('/docs')
    const open = page.locator('summary', { hasText: 'Send this request' }).first()
    await open.focus()
    await page.keyboard.press('Enter')
    const send = page.getByRole('button', { name: 'Send' }).first()
    for (let i = 0; i < 20 && !(await send.evaluate('(one) => one === document.activeElement')); i++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const status = page.getByText(/^200/).first()
    await status.waitFor({ timeout: 10_000 })
    assert.deepEqual(errors, [])
    await close()
  })
})
