/** The files of examples/deploy: their syntax, and that their commands, variables, ports and paths are those of the service. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { migrateCommand } from '../src/cli/migrate.ts'
import { serveCommand } from '../src/cli/serve.ts'
import { type Command, parseCommand } from '../src/terminal/command.ts'
import {
  composeOf,
  deployText,
  dockerfile,
  exampleVariables,
  instruction,
  unitValues,
  type Variables,
  variablesOf,
  yamlOf,
} from './help/deployment.ts'
import { pathOf, without } from './help/programs.ts'

const commands: Readonly<Record<string, Command>> = { serve: serveCommand, migrate: migrateCommand }

/** Parses a command of a file as `bylaw` does. */
function parsed(words: readonly string[]): void {
  const [program = '', name = '', ...rest] = words
  assert.match(program, /(?:^|\/)node_modules\/\.bin\/bylaw$/)
  const command = commands[name]
  assert.ok(command, `no command ${name}`)
  parseCommand(command, rest, {})
}

/** Parses a command that changes the schema. It exits with 2 if steps wait for old nodes, and new ones may start then. */
function parsedMigration(words: readonly string[], exitCode: string): void {
  const [shell = '', flag, script = '', ...rest] = words
  const [command = '', after] = script.split(' || ')
  assert.match(shell, /^(?:\/bin\/)?sh$/)
  assert.deepEqual([flag, after, rest], ['-c', `[ ${exitCode} -eq 2 ]`, []])
  assert.match(command, / migrate apply /)
  parsed(command.split(' '))
}

/** The variables that the service reads. */
const ownVariables = new Set([
  ...Object.values(commands).flatMap(({ flags }) => Object.values(flags).flatMap(({ env }) => env ?? [])),
  ...['NODE_ENV', 'BYLAW_PEPPER', 'BYLAW_SECRET'],
])

function known(variables: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(variables)) assert.ok(ownVariables.has(name), `${name} is no variable of the service`)
}

describe('the files of examples/deploy', () => {
  it('are all tested here', () => {
    assert.deepEqual(readdirSync('examples/deploy').sort(), [
      ...['.env.example', 'Dockerfile', 'compose.yaml', 'kubernetes.yaml', 'pgbouncer.ini', 'shop.service'],
    ])
  })

  it('Dockerfile: has known instructions, and runs the service without a shell', () => {
    const names = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'USER', 'ENV', 'EXPOSE', 'HEALTHCHECK', 'CMD']
    for (const { name, text } of dockerfile()) assert.ok(names.includes(name) && text !== '', name)
    parsed(instruction('CMD').words)
    const [node, flag, code = ''] = instruction('HEALTHCHECK').words
    assert.deepEqual([node, flag], ['node', '-e'])
    assert.doesNotThrow(() => new Function(code))
    known(variablesOf(instruction('ENV').text))
  })

  it('compose.yaml: starts what it names, in an order that works', () => {
    const { services, configs, volumes } = composeOf(exampleVariables())
    for (const [name, service] of Object.entries(services)) {
      assert.notEqual(service.image === undefined, service.build === undefined, name)
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        assert.ok(services[other], `${name} depends on ${other}`)
        if (condition === 'service_healthy') assert.ok(services[other].healthcheck, `${other} has no health check`)
      }
      for (const { source } of service.configs ?? []) assert.ok(configs[source], `${name}: ${source}`)
      if (service.build === undefined) continue
      known(service.environment ?? {})
      if (service.command) parsedMigration(service.command, '$$?') // Compose reads $$ as $
      const { hostname, port, searchParams } = new URL(String(service.environment?.DATABASE_URL))
      assert.ok(services[hostname], hostname)
      const pooled = hostname === 'pgbouncer'
      assert.equal(searchParams.get('pooler'), pooled ? 'transaction' : null)
      if (pooled) assert.match(deployText('pgbouncer.ini'), new RegExp(`^listen_port = ${port}$`, 'm'))
    }
    for (const { file } of Object.values(configs)) if (file) assert.ok(existsSync(join('examples/deploy', file)), file)
    assert.deepEqual(Object.keys(volumes), ['database'])
  })

  it('shop.service: has known variables and commands', { skip: without('systemd-analyze') }, () => {
    known(
      variablesOf(
        unitValues('Environment')
          .flatMap((line) => line.split(' '))
          .join('\n'),
      ),
    )
    parsed(unitValues('ExecStart')[0]?.split(' ') ?? [])
    const [, shell = '', flag = '', script = ''] =
      /^(\S+) (\S+) '(.*)'$/.exec(unitValues('ExecStartPre')[0] ?? '') ?? []
    parsedMigration([shell, flag, script], '$$?')
    // Its paths exist on a server only.
    const text = deployText('shop.service').replaceAll('/srv/shop/node_modules/.bin/bylaw', process.execPath)
    const folder = mkdtempSync(join(tmpdir(), 'bylaw-unit-'))
    try {
      writeFileSync(join(folder, 'shop.service'), text)
      const words = ['verify', '--man=no', join(folder, 'shop.service')]
      const { status, stderr } = spawnSync(pathOf('systemd-analyze') as string, words, { encoding: 'utf8' })
      // An unknown setting is only a warning.
      const about = stderr.split('\n').filter((line) => line.includes('shop.service'))
      assert.deepEqual([status, about], [0, []], stderr)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('kubernetes.yaml: its probes, ports and variables are those of the service', () => {
    const all = yamlOf('kubernetes.yaml')
    const of = (kind: string) => all.find((one) => one.kind === kind) ?? assert.fail(`no ${kind}`)
    assert.deepEqual(
      all.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, typeof metadata.name]),
      [
        ['batch/v1', 'Job', 'string'],
        ['apps/v1', 'Deployment', 'string'],
        ['v1', 'Service', 'string'],
        ['policy/v1', 'PodDisruptionBudget', 'string'],
      ],
    )
    const { spec } = of('Deployment')
    const [api] = spec.template.spec.containers
    parsedMigration(of('Job').spec.template.spec.containers[0].command, '$?')
    const variables: Variables = Object.fromEntries(
      api.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    )
    known(variables)
    const ports = Object.fromEntries(
      api.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
    )
    assert.deepEqual([ports.http, String(ports.metrics)], [3000, variables.METRICS_PORT])
    assert.equal(spec.template.metadata.annotations['prometheus.io/port'], variables.METRICS_PORT)
    for (const [probe, path] of [
      ['startupProbe', '/healthz'],
      ['livenessProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
    ] as const)
      assert.deepEqual(api[probe].httpGet, { path, port: 'http' })
    assert.equal(String(api.securityContext.runAsUser), instruction('USER').text)
    const labels = spec.template.metadata.labels
    for (const selector of [
      spec.selector.matchLabels,
      of('Service').spec.selector,
      of('PodDisruptionBudget').spec.selector.matchLabels,
    ])
      assert.deepEqual(selector, labels)
    assert.equal(of('Service').spec.ports[0].targetPort, 'http')
    const seconds = (text = ''): number => Number(/^PT(\d+)S$/.exec(text)?.[1])
    assert.ok(spec.template.spec.terminationGracePeriodSeconds > seconds(variables.GRACE) + seconds(variables.DRAIN))
  })
})
