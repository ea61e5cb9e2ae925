/** Search words: folds a text, and cuts it into the words that `search` compares. Part 4, filtering. R235. */

/**
 * Names the rules below and the data of Unicode that they use. If either changes, the words of all rows are made again.
 * See `wordColumnOf`.
 */
export const foldingVersion = `1.${process.versions.icu}`

/** How many characters of a word count. */
export const longestWord = 64

const marks = /(?![\u3099\u309a])\p{M}|\p{Cf}/gu // the voicing marks of kana make other letters

/** Letters that Unicode does not decompose, and characters that are used interchangeably. */
const baseLetters: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  æ: 'ae',
  œ: 'oe',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ς: 'σ',
  '\u2019': "'",
}
const withBaseLetter = new RegExp(`[${Object.keys(baseLetters).join('')}]`, 'g')

/** The text by which words are compared: without case, marks and compatible forms. */
export function foldText(text: string): string {
  const plain = withoutMarks(text)
  // Upper case joins what lower case keeps apart: ß and ss, ı and i.
  const cased = withoutMarks(plain.toLowerCase().toUpperCase().toLowerCase())
  return cased.replace(withBaseLetter, (one) => baseLetters[one] as string).normalize('NFC')
}

const withoutMarks = (text: string): string => text.normalize('NFKD').replace(marks, '')

/** An emoji or a flag, or a run of letters of a script that is written without spaces. */
const withoutSpaces =
  /(?<sign>\p{Extended_Pictographic}|\p{RI}{2})|[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Yiii}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tale}\p{scx=Talu}\p{scx=Lana}\p{scx=Tavt}\p{scx=Ahom}]&&[\p{L}\p{M}\p{Nl}]]+/gv

/** Splits words by the rules of one language, as the rules differ between languages. Made at the first use, which takes 10 ms. */
const segmenter = atFirstUse(() => new Intl.Segmenter('en', { granularity: 'word' }))

function atFirstUse<Made>(make: () => Made): () => Made {
  let value: Made | undefined
  return () => {
    value ??= make()
    return value
  }
}

/** The words of a text, each once, in the order of their first occurrence. */
export const wordsOf = (text: string): readonly string[] => [...new Set(eachWord(foldText(text), true))]

/** The words of a search. A row has to have words that begin with each of them. */
export const searchedWords = (text: string): readonly string[] => [...new Set(eachWord(foldText(text), false))]

function* eachWord(text: string, withLast: boolean): Generator<string> {
  let from = 0
  for (const { 0: run, index, groups } of text.matchAll(withoutSpaces)) {
    yield* spacedWords(text.slice(from, index))
    if (groups?.sign === undefined) yield* overlappingPairs([...run], withLast)
    else yield run
    from = index + run.length
  }
  yield* spacedWords(text.slice(from))
}

function* spacedWords(text: string): Generator<string> {
  if (text.trim() === '') return
  for (const { segment, isWordLike } of segmenter().segment(text))
    if (isWordLike && /[\p{L}\p{N}]/u.test(segment))
      yield segment.length <= longestWord ? segment : [...segment].slice(0, longestWord).join('')
}

/** Every two neighbours; `withLast` adds the last character, so that it is found by itself. */
function* overlappingPairs(characters: readonly string[], withLast: boolean): Generator<string> {
  for (let i = 0; i < characters.length - 1; i++) yield `${characters[i]}${characters[i + 1]}`
  if (withLast || characters.length === 1) yield characters.at(-1) as string
}
