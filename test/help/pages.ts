/** Reads the code blocks of the documentation and runs those of a page from top to bottom, as a reader would. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Service } from 'bylaw'
import { type Testing, testing } from 'bylaw/testing'
import { stateDiagram } from '../../src/describe/state-diagram.ts'
import { bylawCommand, checkout } from './built.ts'
import { freePort } from './free-port.ts'

export interface Block {
  readonly language: string
  readonly text: string
  readonly line: number
}

export function blocksOf(markdown: string): Block[] {
  const lines = markdown.split('\n')
  const found: Block[] = []
  for (let i = 0; i < lines.length; i++) {
    const language = /^```(\w*)/.exec(lines[i] as string)?.[1]
    if (language === undefined) continue
    const end = lines.indexOf('```', i + 1)
    found.push({ language, text: lines.slice(i + 1, end).join('\n'), line: i + 1 })
    i = end
  }
  return found
}

/** Compares the output with the text of the page; `…` matches any text. */
export function matches(actual: string, shown: string): boolean {
  const parts = shown
    .trim()
    .split('…')
    .map((part) =>
      part
        .replace(/\s+/g, ' ')
        .trim()
        .replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    )
  return new RegExp(`^${parts.join('[\\s\\S]*?')}$`).test(actual.replace(/\s+/g, ' ').trim())
}

/** A page that runs: a folder with its files, the last service that it declared, and the servers that it started. */
export class Page {
  readonly folder: string
  readonly port: number
  /** Where a page that starts an authorization server has to start it, in place of port 4555. */
  private readonly issuerPort: number
  private service: Testing | null = null
  private declared: Service | null = null
  private servers: ChildProcess[] = []
  private output = ''

  private constructor(folder: string, port: number, issuerPort: number) {
    this.folder = folder
    this.port = port
    this.issuerPort = issuerPort
  }

  static async open(): Promise<Page> {
    const folder = await mkdtemp(join(tmpdir(), 'bylaw-docs-'))
    await mkdir(join(folder, 'node_modules'))
    await symlink(checkout, join(folder, 'node_modules', 'bylaw'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const page = new Page(folder, await freePort(), await freePort())
    await page.writeTools()
    return page
  }

  async run(block: Block): Promise<void> {
    if (block.language === 'ts') await this.file(block)
    else if (
      ['typescript', 'python', 'go', 'bash'].includes(block.language) ||
      /^\/\/ [\w.]+$/m.test(block.text.split('\n', 1)[0] as string)
    )
      await this.program(block)
    else if (block.language === 'sh') await this.shell(block)
    else if (block.language === 'http' && block.text.startsWith('HTTP/1.1')) this.expect(block)
    else if (block.language === 'http') await this.ask(block)
    else if (block.language === 'json' || block.language === 'console') this.expect(block)
    else if (block.text.startsWith('stateDiagram')) this.compareDiagram(block)
    else
      assert.ok(
        ['', 'text', 'mermaid'].includes(block.language),
        `line ${block.line}: nothing runs a block of ${block.language}`,
      )
  }

  /** Writes a file of the page and imports it. Its first line is its name, `// api.ts`, unless it needs none. */
  private async file({ text, line }: Block): Promise<void> {
    const name = /^\/\/ ([\w./-]+\.ts)$/m.exec(text.split('\n', 1)[0] as string)?.[1] ?? `line-${line}.ts`
    const path = join(this.folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, `${text}\n`)
    const module = (await import(pathToFileURL(path).href)) as { default?: Service }
    if (module.default === undefined) return
    await this.service?.close()
    this.service = null
    this.declared = module.default // opened by the first request, as handlers may follow in another file
  }

  private compareDiagram({ text, line }: Block): void {
    const diagrams = [...(this.declared?.resources.values() ?? [])].map(stateDiagram)
    assert.ok(diagrams.includes(text), `line ${line}: no resource has these states`)
  }

  /** Writes a program, which other blocks or tests start. Its first line is its name. */
  async program({ text, line }: Block): Promise<string> {
    const name = /^(?:\/\/|#) ([\w.-]+)$/.exec(text.split('\n', 1)[0] as string)?.[1]
    assert.ok(name, `line ${line}: the first line of a program is its name`)
    await writeFile(join(this.folder, name), `${text}\n`)
    return name
  }

  private async ask({ text, line }: Block): Promise<void> {
    this.service ??= this.declared && testing(this.declared)
    assert.ok(this.service, `line ${line}: no service was declared before this request`)
    const [head = '', ...rest] = text.split('\n\n')
    const [first = '', ...lines] = head.split('\n')
    const [method = '', path = ''] = first.split(' ')
    const headers = Object.fromEntries(
      lines.map((one) => [(one.split(':', 1)[0] as string).toLowerCase(), one.slice(one.indexOf(':') + 1).trim()]),
    )
    const body = rest.join('\n\n')
    const answer = await this.service.call(
      this.filled(path),
      body === ''
        ? { method, headers }
        : { method, headers: { 'content-type': 'application/json', ...headers }, body: this.filled(body) },
    )
    const content = await answer.text()
    this.learn(content)
    const shown = [...answer.headers].map(([name, value]) => `${name}: ${value}`)
    this.output = `HTTP/1.1 ${answer.status}\n${shown.join('\n')}\n\n${content}`
  }

  private readonly known = new Map<string, string>()

  /** Keeps the ids and the cursor of an answer for later requests. */
  private learn(content: string): void {
    const id = /"id":"(\w+)"/.exec(content)?.[1]
    if (id !== undefined) this.known.set(id.split('_')[0] as string, id)
    const cursor = /"nextCursor":"([\w-]+)"/.exec(content)?.[1]
    if (cursor !== undefined) this.known.set('cursor', cursor)
  }

  /** Replaces `cus_…` by the last id of that prefix, and `cursor=…` by the last next cursor. */
  private filled(text: string): string {
    return text
      .replace(/\b([a-z]+)_…/g, (all, prefix: string) => this.known.get(prefix) ?? all)
      .replace(/\bcursor=…/g, (all) => (this.known.has('cursor') ? `cursor=${this.known.get('cursor')}` : all))
  }

  private expect({ text, line }: Block): void {
    if (!text.startsWith('HTTP/1.1')) {
      assert.ok(matches(this.output, text), `line ${line} shows\n${text}\nand this came:\n${this.output}`)
      return
    }
    const [head = '', ...rest] = text.split('\n\n')
    const [first = '', ...lines] = head.split('\n')
    const [came = '', ...content] = this.output.split('\n\n')
    const status = (text: string): string => text.split(/\s/).slice(0, 2).join(' ')
    assert.equal(status(came), status(first), `line ${line}: ${this.output}`)
    for (const one of lines) {
      const name = (one.split(':', 1)[0] as string).toLowerCase()
      const value = came.split('\n').find((header) => header.startsWith(`${name}:`)) ?? `no ${name}`
      assert.ok(
        matches(value, `${name}:${one.slice(name.length + 1)}`),
        `line ${line} shows ${one} and this came: ${value}`,
      )
    }
    const body = rest.join('\n\n')
    if (body !== '')
      assert.ok(
        matches(compact(content.join('\n\n')), compact(body)),
        `line ${line} shows\n${body}\nand this came:\n${content.join('\n\n')}`,
      )
  }

  private async shell({ text, line }: Block): Promise<void> {
    for (const command of text.replace(/\\\n\s*/g, '').split('\n')) {
      if (command.trim() === '' || command.startsWith('#')) continue
      if (/^(npx bylaw (dev|serve)|npm start)| &$/.test(command)) await this.start(command.replace(/ &$/, ''), line)
      else if (command.startsWith('curl')) {
        this.output = await this.bash(this.filled(command), line)
        this.learn(this.output)
      } else this.output = await this.bash(command, line)
    }
  }

  private bash(command: string, line: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn('bash', ['-c', command], { cwd: this.folder, env: this.environment() })
      let text = ''
      child.stdout.on('data', (chunk) => (text += chunk))
      child.stderr.on('data', (chunk) => (text += chunk))
      const late = setTimeout(() => child.kill('SIGKILL'), 60_000)
      child.on('close', (code) => {
        clearTimeout(late)
        // a page marks a command that is meant to fail with a comment
        if (code === 0 || /# (exits|fails)/.test(command)) resolve(text)
        else reject(new Error(`line ${line}: ${command} ended with ${code}:\n${text}`))
      })
    })
  }

  /** Starts a server and waits until it prints its URL. */
  private start(command: string, line: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn('bash', ['-c', `exec env ${command}`], { cwd: this.folder, env: this.environment() })
      this.servers.push(child)
      this.output = ''
      const late = setTimeout(
        () => reject(new Error(`line ${line}: ${command} said nothing of a URL:\n${this.output}`)),
        20_000,
      )
      const hear = (chunk: Buffer) => {
        this.output += chunk
        if (!/http:\/\/[\w.]+:\d+/.test(this.output)) return
        clearTimeout(late)
        resolve()
      }
      child.stdout.on('data', hear)
      child.stderr.on('data', hear)
      child.on('close', (code) => reject(new Error(`line ${line}: ${command} ended with ${code}:\n${this.output}`)))
    })
  }

  private environment(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      PATH: join(this.folder, '.tools') + delimiter + process.env.PATH,
      PORT: String(this.port),
      ISSUER: `http://127.0.0.1:${this.issuerPort}/`,
      NO_COLOR: '1',
      NODE_TEST_CONTEXT: undefined,
    }
  }

  /** Writes the commands that pages use: `npx bylaw` runs this package, `curl` is replaced by fetch. */
  private async writeTools(): Promise<void> {
    const tools = join(this.folder, '.tools')
    await mkdir(tools)
    const node = `exec ${JSON.stringify(process.execPath)} --conditions=bylaw-source`
    const script = async (name: string, text: string) => {
      await writeFile(join(tools, name), `#!/bin/bash\n${text}\n`)
      await chmod(join(tools, name), 0o755)
    }
    const bylaw = [process.execPath, ...bylawCommand()].map((word) => JSON.stringify(word)).join(' ')
    await script('npx', `shift; exec ${bylaw} "$@"`)
    await script('node', `${node} "$@"`)
    await script(
      'npm',
      'case "$1" in install|init|pkg|ci) exit 0;; *) echo "npm $1 is not run here" >&2; exit 1;; esac',
    )
    await script('curl', `${node} ${JSON.stringify(join(checkout, 'test/help/curl.ts'))} "$@"`)
  }

  async close(): Promise<void> {
    await this.service?.close()
    for (const server of this.servers) {
      server.removeAllListeners('close')
      const ended = new Promise((resolve) => server.on('exit', resolve))
      if (server.exitCode === null && server.kill('SIGTERM')) await ended
    }
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** Removes white space outside of JSON strings; each `…` remains. */
const compact = (text: string): string => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, string?: string) => string ?? '')
