/** Hovers of an editor: what the language service of TypeScript 5 shows in a declaration and for its inferred types. */
import { createRequire } from 'node:module'
import { join } from 'node:path'

const source = `
import { f, resource, service } from 'bylaw'
import { client } from 'bylaw/client'

const api = service({
  name: 'shop',
  settings: { list: { pageSize: 10 } },
  resources: {
    /** What a customer buys at once. */
    orders: resource({
      prefix: 'ord',
      fields: {
        /** Who pays. */
        buyer: f.text({ max: 80, filter: 'like' }),
        total: f.decimal({ scale: 2, default: '0.00' }),
        dueOn: f.date({ optional: true }),
      },
      states: {
        field: 'status',
        initial: 'draft',
        transitions: { placements: { from: ['draft'], to: 'placed' }, cancellations: { from: ['placed'], to: 'draft' } },
      },
      access: 'public',
    }),
  },
})
const shop = client<typeof api>({ url: 'http://localhost:3000' })
export const order = await shop.orders.get('ord_1')
export const buyer = order.buyer
export const handled = api.handlers({ orders: { placements: ({ item }) => void item.buyer } })
`

/** A place, marked by |, and what its hover has to show: its type, or its documentation. */
const expected: readonly (readonly [place: string, shows: RegExp])[] = [
  ['= |service({', /Makes a service of a declaration/],
  [': |resource({', /derived fields are functions of its other fields/],
  ['f.|text(', /A text of at most 10,000 characters[\s\S]*f\.text\(\{ max: 200/],
  ['f.|decimal(', /exact decimal number/],
  ['f.|date(', /A calendar date/],
  ['|max: 80', /greatest number of characters/],
  ["|filter: 'like'", /Lists can be filtered by the field/],
  ['|optional: true', /The value may be null/],
  ['|pageSize: 10', /size of a page if the client names none; 20 by default/],
  ["|prefix: 'ord'", /part of ids before the underscore/],
  ['|states: {', /The states of an item, and the transitions/],
  ["|access: 'public'", /access rules/],
  ['|client<', /Makes the client of a service/],
  ['shop.|orders', /What a customer buys at once/],
  ['orders.|get(', /Reads an item/],
  ['order.|buyer', /Who pays\./],
  ['item.|buyer', /Who pays\./],
  [
    'const |order ',
    /id: string;\s*readonly buyer: string;\s*readonly total: string;\s*readonly dueOn: string \| null;/,
  ],
  ['const |order ', /status: "draft" \| "placed";/],
]

/** The hovers that show something else, as texts. */
export function wrongHovers(folder: string, packages: string): string[] {
  const ts = createRequire(join(packages, 'package.json'))('typescript')
  const file = join(folder, 'hovers.ts')
  const options = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], customConditions: ['bylaw-source'] },
    ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ESNext, allowImportingTsExtensions: true },
  }
  const textOf = (name: string) => (name === file ? source : ts.sys.readFile(name))
  const languageService = ts.createLanguageService({
    ...ts.sys,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name: string) => {
      const text = textOf(name)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    useCaseSensitiveFileNames: () => true,
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name: string) => name === file || ts.sys.fileExists(name),
    readFile: textOf,
  })
  const mistakes = languageService
    .getSemanticDiagnostics(file)
    .map(({ messageText }: { messageText: unknown }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  const wrong = expected.flatMap(([place, shows]) => {
    const at = source.indexOf(place.replace('|', '')) + place.indexOf('|')
    const { displayParts, documentation, tags = [] } = languageService.getQuickInfoAtPosition(file, at) ?? {}
    const parts = [displayParts, documentation, ...tags.map(({ text }: { text: unknown }) => text)]
    const shown = parts.map((one) => ts.displayPartsToString(one)).join('\n')
    return shows.test(shown) ? [] : [`The hover at ${place} does not match ${shows}:\n${shown}`]
  })
  return [...mistakes, ...wrong]
}
