/** The pages by what readers look for; the sidebar has this order. */
const group = (text, ...names) => ({
  text,
  pages: names.map((name) => `${/^[A-Z]/.test(name) ? name : `docs/${name}`}.md`),
})

export const groups = [
  group('How to', 'how-to', 'how-to/rules', 'how-to/users', 'how-to/programs', 'how-to/running', 'questions', 'scope'),
  group(
    'Declare',
    'resources',
    'states',
    'derived',
    'handlers',
    'operations',
    'asynchronous',
    'access',
    'auth',
    'limits',
    'settings',
  ),
  group('Requests', 'endpoints', 'lists', 'search', 'summaries', 'history', 'exports', 'batches', 'idempotency', 'errors', 'http'),
  group('Events', 'events', 'reactions', 'webhooks'),
  group('Versions', 'versions', 'contract', 'describe', 'reference-page', 'client'),
  group(
    'Operate',
    'cli',
    'embedding',
    'operating',
    'store',
    'backup',
    'scale',
    'performance',
    'reliability',
    'security',
    'SECURITY',
    'support',
  ),
  group('The house', 'ARCHITECTURE', 'CONTRIBUTING', 'conformance', 'deviations', 'decisions/README'),
]
