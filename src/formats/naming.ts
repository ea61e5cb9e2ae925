/** Naming: kebab-case plural nouns in paths, camelCase or snake_case in bodies, no verbs. Part 4, path rules. */

export type Naming = 'camel' | 'snake'

/** Verbs that names of resources may not begin with. The setting `path.verbs` replaces the list. R2. */
export const actionVerbs: readonly string[] = (
  'accept activate add apply approve archive assign attach authenticate authorize book buy calculate cancel change clear ' +
  'close compute confirm convert copy create deactivate decline delete deliver detach disable do download duplicate edit ' +
  'enable execute fetch find generate get insert invoke lock login logout make merge modify move notify open patch pay ' +
  'perform publish put query read register reject remove rename replace reset resolve restart restore resume retrieve ' +
  'retry revoke save search send set sign start stop store submit subscribe suspend sync transfer trigger unlock ' +
  'unsubscribe update upload validate verify'
).split(' ')

/** Verbs that are also nouns, so that a name may begin with them: `transfer-logs`, `search-results`. */
const alsoNouns = new Set(
  'book change close copy download lock login move open patch pay query register reset search set sign start stop store transfer trigger upload'.split(
    ' ',
  ),
)

const irregular = {
  people: 'person',
  children: 'child',
  men: 'man',
  women: 'woman',
  feet: 'foot',
  teeth: 'tooth',
  mice: 'mouse',
  geese: 'goose',
  data: 'datum',
  media: 'medium',
  criteria: 'criterion',
  phenomena: 'phenomenon',
  indices: 'index',
  matrices: 'matrix',
  vertices: 'vertex',
  analyses: 'analysis',
  crises: 'crisis',
  bases: 'basis',
  shelves: 'shelf',
  halves: 'half',
  lives: 'life',
  knives: 'knife',
  caches: 'cache',
  shoes: 'shoe',
  movies: 'movie',
  cookies: 'cookie',
  calories: 'calorie',
  ties: 'tie',
  quizzes: 'quiz',
  canoes: 'canoe',
  toes: 'toe',
  aliases: 'alias',
  canvases: 'canvas',
  lenses: 'lens',
  leaves: 'leaf',
  menus: 'menu',
  taxis: 'taxi',
  series: 'series',
  species: 'species',
} as const satisfies Record<string, string>
/** Plurals with an irregular singular, for the types that infer singulars. */
export type Irregular = typeof irregular
const irregularPlural = new Map<string, string>(
  Object.entries(irregular).map(([plural, singular]) => [singular, plural]),
)

export const isKebab = (name: string): boolean => /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)

export function isInCase(name: string, naming: Naming): boolean {
  return naming === 'camel' ? /^[a-z][a-zA-Z0-9]*$/.test(name) : /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)
}

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word) => word.toLowerCase())

export const toKebab = (name: string): string => wordsOf(name).join('-')

export function toCase(name: string, naming: Naming): string {
  const parts = wordsOf(name)
  if (naming === 'snake') return parts.join('_')
  return parts.map((word, i) => (i === 0 ? word : withCapital(word))).join('')
}

/** Splits `order-lines` into `order-` and its noun `lines`. */
function splitNoun(name: string): [before: string, noun: string] {
  const cut = name.lastIndexOf('-') + 1
  return [name.slice(0, cut), name.slice(cut)]
}

export function isPlural(name: string): boolean {
  const [, word] = splitNoun(name)
  return Object.hasOwn(irregular, word) || /[^sui]s$/.test(word)
}

export function pluralOf(name: string): string {
  const [before, word] = splitNoun(name)
  if (isPlural(word)) return name
  const exception = irregularPlural.get(word)
  if (exception) return before + exception
  if (/[^aeiou]y$/.test(word)) return `${before}${word.slice(0, -1)}ies`
  return before + word + (/(s|x|z|ch|sh)$/.test(word) ? 'es' : 's')
}

export function singularOf(name: string): string {
  const [before, word] = splitNoun(name)
  const exception = Object.hasOwn(irregular, word) ? irregular[word as keyof Irregular] : undefined
  return before + (exception ?? regularSingularOf(word))
}

function regularSingularOf(word: string): string {
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`
  if (/(ss|x|[^aeiou]z|ch|sh|[^eo]o)es$/.test(word)) return word.slice(0, -2)
  if (/[^ao]uses$/.test(word)) return word.slice(0, -2) // statuses, bonuses; not houses or clauses
  return word.replace(/s$/, '')
}

/** The verb that a segment is, or begins with; undefined if there is none. R2. */
export function verbIn(segment: string, list: readonly string[] = actionVerbs): string | undefined {
  if (list.includes(segment)) return segment
  const [first = ''] = segment.split('-')
  return segment.includes('-') && list.includes(first) && !alsoNouns.has(first) ? first : undefined
}

/** The name of a link from that of the field with the id: `customerId` makes `customer`. */
export const linkOfField = (field: string): string => field.replace(/(Id|_id)$/, '')

/** `order-lines` as a title in the singular: `Order line`. */
export const sentenceCase = (name: string): string => withCapital(nameInSentence(name))

/** A text as the beginning of a sentence. */
export const withCapital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** A title within a sentence: `Order line` is `order line`, and `VIP order` stays as it is. */
export const titleInSentence = (title: string): string =>
  /^\p{Lu}{2}/u.test(title) ? title : title.charAt(0).toLowerCase() + title.slice(1)

/** The name of a resource or an operation within a sentence: `order-lines` is `order lines`. */
export const nameInSentence = (name: string): string => name.replaceAll('-', ' ')

/** Words that begin with a vowel in writing or in speech, but not in both. */
const startsLikeConsonant = /^(?:eu|one|uni(?![mn])|u[ku]|ur[il]|us[aeiou]|ut[aeiou])/i
const startsLikeVowel = /^(?:[aeiou]|hour|honest|honou?r)/i
/** Abbreviations whose first letter is spoken with a vowel: `an SMS`. */
const spelledWithVowel = /^[AEFHILMNORSX]\p{Lu}/u

/** A title with its article: `an order line`, `a user`, `a VIP order`, `an SMS`. */
export function withArticle(title: string): string {
  const isSpelled = /^\p{Lu}{2}/u.test(title)
  const isVowel = isSpelled
    ? spelledWithVowel.test(title)
    : startsLikeVowel.test(title) && !startsLikeConsonant.test(title)
  return `${isVowel ? 'an' : 'a'} ${titleInSentence(title)}`
}

/** The most similar name, for a suggestion in a message; undefined if none is similar enough. */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  if (name.length < 2) return undefined
  let best: string | undefined
  let least = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

/** A list in words: `a, b or c`. */
export function listInWords(names: Iterable<string>, word = 'or'): string {
  const all = [...names]
  const last = all.pop() ?? ''
  return all.length === 0 ? last : `${all.join(', ')} ${word} ${last}`
}
