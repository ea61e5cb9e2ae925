/** Search words: folding over all characters, and words of many scripts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldText, longestWord, searchedWords, wordsOf } from './search-words.ts'

test('R235: a folded text folds to itself, and so do its upper and its lower case', () => {
  const greekWithIota = /[\u0345\u1f80-\u1fff]/ // its upper case has a letter in place of the mark
  // Behind the first two planes there are only ideographs, and characters without letters.
  for (let code = 1; code < 0x110000; code += code < 0x20000 ? 1 : 1009) {
    if (code >= 0xd800 && code < 0xe000) continue
    const one = String.fromCodePoint(code)
    const is = foldText(one)
    assert.equal(foldText(is), is, code.toString(16))
    assert.equal(foldText(one.toLowerCase()), is, code.toString(16))
    if (!greekWithIota.test(one)) assert.equal(foldText(one.toUpperCase()), is, code.toString(16))
    for (const word of wordsOf(`${one} x${one}`)) assert.match(word, /^[^\s\p{Cc}]+$/u, code.toString(16))
  }
})

test('R235: the words of many scripts', () => {
  const table: [text: string, words: string, asked?: string][] = [
    ['İstanbul ISPARTA ışık', 'istanbul isparta isik'],
    ['Straße STRASSE straſſe ẞ', 'strasse ss'],
    ['ΟΔΟΣ οδός', 'οδοσ'],
    ['Łódź Ærø Þórður ĐURO Œuvre', 'lodz aero thordur duro oeuvre'],
    ['e\u0301 é ﬁne Å K', 'e fine a k'],
    ['co\u00adop zero\u200bwidth', 'coop zerowidth'],
    ["can't can’t x_y 3.14 1,000 a-b", "can't x_y 3.14 1,000 a b"],
    ['ann@example.com', 'ann example.com'],
    ['日本語', '日本 本語 語', '日本 本語'],
    ['日', '日'],
    ['が か', 'が か'],
    ['ｶﾞ', 'ガ'],
    ['東京Tower2', '東京 京 tower2', '東京 tower2'],
    ['コーヒー', 'コー ーヒ ヒー ー', 'コー ーヒ ヒー'],
    ['สวัสดี', 'สว วส สด ด', 'สว วส สด'],
    ['مُحَمَّد أحمد', 'محمد احمد'],
    ['שָׁלוֹם', 'שלום'],
    ['Привет Ёлка', 'привет елка'],
    ['한국어 하', '한국어 하'],
    ['👨‍👩‍👧 👍🏽 ❤️ 🇮🇹🇫🇷', '👨 👩 👧 👍 ❤ 🇮🇹 🇫🇷'],
    ['1️⃣ ½ ²', '1 1⁄2 2'],
    [' ,.- \t _ __', ''],
    ['a A á', 'a'],
  ]
  for (const [text, words, asked = words] of table) {
    assert.equal(wordsOf(text).join(' '), words, text)
    assert.equal(searchedWords(text).join(' '), asked, text)
  }
})

test('R235: only the beginning of a long word counts, and no character is cut in half', () => {
  assert.equal(wordsOf('x'.repeat(longestWord + 9)).join(), 'x'.repeat(longestWord))
  assert.deepEqual(wordsOf(`x${'𐐨'.repeat(longestWord)}`), [`x${'𐐨'.repeat(longestWord - 1)}`])
})
