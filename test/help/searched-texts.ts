/** Searched texts: random texts of many scripts, and which of them a search finds, by a plain model. */

/** Words as they are written, each with the form that they are compared in. The model folds nothing. */
const spaced: readonly (readonly [written: readonly string[], compared: string])[] = [
  [['Istanbul', 'İstanbul', 'ıstanbul', 'ISTANBUL'], 'istanbul'],
  [['ışık', 'IŞIK', 'isik'], 'isik'],
  [['Straße', 'STRASSE', 'strasse', 'straſse'], 'strasse'],
  [['Café', 'cafe\u0301', 'CAFE'], 'cafe'],
  [['Łódź', 'LODZ', 'łodź'], 'lodz'],
  [['Œuvre', 'oeuvre'], 'oeuvre'],
  [['þorn', 'THORN'], 'thorn'],
  [['ΟΔΟΣ', 'οδός', 'οδοσ'], 'οδοσ'],
  [['Ёлка', 'елка', 'ЕЛКА'], 'елка'],
  [['مُحَمَّد', 'محمد'], 'محمد'],
  [['שָׁלוֹם', 'שלום'], 'שלום'],
  [['한국어'], '한국어'],
  [['ﬁne', 'FINE', 'fine'], 'fine'],
  [["can't", 'CAN’T'], "can't"],
  [['x_y'], 'x_y'],
  [['3.14'], '3.14'],
  [['1,000'], '1,000'],
  [['a', 'Á'], 'a'],
  [['and', 'AND'], 'and'],
  [['or', 'OR'], 'or'],
  [['not', 'NOT'], 'not'],
  [['near', 'NEAR'], 'near'],
]
const runs = ['日本語', '日本', '本日', '語', 'コーヒー', 'コーラ', 'が', 'か', 'かがみ', '東京都']
const signs = ['👨', '👩', '👍', '❤', '🇮🇹', '🇫🇷']
const separators = [' ', ', ', '\n', ' — ', '/', ' *" ', " & | ! ' ", ' (', ') ', ' \\ ', ':* ']

/** A text, and the words of it in their order, each once. */
export interface SearchedText {
  readonly text: string
  readonly words: readonly string[]
}

type Below = (count: number) => number

/** Random numbers below a count, the same for each seed. */
export function randomBelow(seed: number): Below {
  let state = seed
  return (count) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count
  }
}

const pick = <T>(all: readonly T[], below: Below): T => all[below(all.length)] as T

function unit(below: Below): { written: string; compared: readonly string[] } {
  const kind = below(8)
  if (kind === 0) {
    const sign = pick(signs, below)
    return { written: sign + (below(2) && !/\p{RI}/u.test(sign) ? '\ufe0f' : ''), compared: [sign] }
  }
  if (kind <= 2) {
    const run = pick(runs, below)
    const each = [...run]
    return { written: run, compared: [...each.slice(1).map((one, i) => each[i] + one), each.at(-1) as string] }
  }
  const [written, compared] = pick(spaced, below)
  return { written: pick(written, below), compared: [compared] }
}

export function randomText(below: Below): SearchedText {
  const all = Array.from({ length: below(7) }, () => unit(below))
  return {
    text: all.map(({ written }) => written + pick(separators, below)).join(''),
    words: [...new Set(all.flatMap(({ compared }) => compared))],
  }
}

/** A search: its text, and the beginnings of words that it asks for. */
export function randomSearch(below: Below): { text: string; asked: readonly string[] } {
  const all = Array.from({ length: 1 + below(3) }, () => {
    const { written, compared } = unit(below)
    if (compared.length > 1) return { written, asked: compared.slice(0, -1) }
    const [word = ''] = compared
    const isRun = runs.includes(word) || signs.includes(word)
    // Half a word, of those that have a letter for each letter that is compared.
    if (isRun || below(2) === 0 || /[^\p{L}]/u.test(word)) return { written, asked: [word] }
    const part = [...word].slice(0, 1 + below(word.length)).join('')
    return { written: below(2) ? part : part.toUpperCase(), asked: [part] }
  })
  return {
    text: all.map(({ written }) => written).join(pick(separators, below)),
    asked: [...new Set(all.flatMap(({ asked }) => asked))],
  }
}

/** Whether the texts of a row have all words together. */
export const isFound = (texts: readonly SearchedText[], asked: readonly string[]): boolean =>
  asked.every((one) => texts.some(({ words }) => words.some((word) => word.startsWith(one))))

/** The rank of a row, smaller is better: how many words its texts lack, then how late the others stand in them. */
export function relevance(texts: readonly SearchedText[], asked: readonly string[]): readonly [number, number] {
  let [missing, places] = [0, 0]
  for (const { words } of texts)
    for (const one of asked) {
      const at = words.findIndex((word) => word.startsWith(one))
      if (at < 0) missing++
      else places += 1 + words.slice(0, at).reduce((sum, word) => sum + [...word].length + 1, 0)
    }
  return [missing, places]
}
