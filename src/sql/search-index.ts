/** Search index: finds rows by the beginnings of words, and says how well they match. Pure. The store. R235. */
import { type Cell, type Collection, keyColumns, wordColumns } from '../rows/collection.ts'
import { type Dialect, literal, quoted } from './dialect.ts'

/** The table of an index, and its columns of words. */
interface SearchIndex {
  readonly name: string
  readonly table: string
  readonly key: readonly string[]
  readonly columns: readonly string[]
}

const searchMark = 'search__'
export const isSearchIndex = (name: string): boolean => name.startsWith(searchMark)

/** The index of a collection and its columns; empty without searched fields. */
export function searchIndexOf(one: Collection): readonly [name: string, columns: readonly string[]][] {
  const columns = wordColumns(one).map(({ name }) => name)
  return columns.length === 0 ? [] : [[`${searchMark}${[one.table, ...columns].join('__')}`, columns]]
}

/**
 * The words of all fields of a row, with a space before each. If rows have accounts, each word begins with a mark of its
 * account, so that a search reads only words of its own account.
 */
function allWords({ key, columns }: Pick<SearchIndex, 'key' | 'columns'>, row: string, dialect: Dialect): string {
  const words = columns.map((name) => `coalesce(${row}${quoted(name)}, '')`).join(' || ')
  return key.includes('account') ? `replace(${words}, ' ', ' ' || ${accountMark(`${row}account`, dialect)})` : words
}

/** Marks of two accounts may be equal: the statement also compares the account of each row. */
const accountMark = (account: string, { name }: Dialect): string =>
  name === 'sqlite' ? `hex(${account})` : `left(md5(CAST(${account} AS text)), 8)`

/** Words as PostgreSQL indexes them. The words are split already, so no text search configuration is used. */
const wordVector = (index: Pick<SearchIndex, 'key' | 'columns'>, dialect: Dialect): string =>
  `array_to_tsvector(string_to_array(substr(${allWords(index, '', dialect)}, 2), ' '))`

export const createSearchIndex = (index: SearchIndex, how: string, dialect: Dialect): readonly string[] =>
  dialect.name === 'sqlite'
    ? createOnSqlite(index, dialect)
    : [`CREATE INDEX ${how}${quoted(index.name)} ON ${quoted(index.table)} USING gin ((${wordVector(index, dialect)}))`]

const triggerNames = (name: string): readonly string[] =>
  ['insert', 'update', 'delete'].map((deed) => quoted(`${name}__${deed}`))

/**
 * The numbers of the rows in an index. They are the rowids of the table until SQLite numbers its rows anew, closing gaps in
 * their order (VACUUM may do that, and copies by `.dump` do). From then on rows have lower rowids than numbers, the last one
 * first of all, so that new rows do not get their rowids as numbers either until the last numbers agree again.
 */
const numbersTable = (name: string): string => quoted(`${name}__rows`)

/** Words have no spaces, so all other characters are parts of them. */
const tokenizer = `ascii tokenchars ${literal('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~')}`

/**
 * On SQLite the index of words is a table, which triggers maintain. It stores neither the texts nor the positions of words,
 * so a row is removed from it by its former words. Without columns (`detail = none`, as earlier releases made it) it
 * is half as large, but FTS5 then reads all rows of a frequent word to find those of a rare one, which takes 2.5 times as long.
 */
function createOnSqlite(one: SearchIndex, dialect: Dialect): readonly string[] {
  const { name, table, key, columns } = one
  const words = (row: string) => allWords(one, row, dialect)
  const [index, numbers, own] = [quoted(name), numbersTable(name), quoted(table)]
  const [inserted, updated, deleted] = triggerNames(name)
  const keys = key.join(', ')
  const same = (row: string) => key.map((one) => `${one} = ${row}.${one}`).join(' AND ')
  const add = (row: string) =>
    `INSERT INTO ${index} (rowid, words) SELECT n, ${words(`${row}.`)} FROM ${numbers} WHERE ${same(row)};`
  const remove = `INSERT INTO ${index} (${index}, rowid, words) SELECT 'delete', n, ${words('OLD.')} FROM ${numbers} WHERE ${same('OLD')};`
  const changed = `${words('OLD.')} <> ${words('NEW.')}`
  const last = `coalesce((SELECT max(n) FROM ${numbers}), 0)`
  const next = `iif(${last} = coalesce((SELECT max(rowid) FROM ${own} WHERE rowid < NEW.rowid), 0), NEW.rowid, ${last} + 1)`
  return [
    `CREATE TABLE ${numbers} (n INTEGER PRIMARY KEY, ${key.map((one) => `${one} TEXT NOT NULL`).join(', ')}, UNIQUE (${keys})) STRICT`,
    `CREATE VIRTUAL TABLE ${index} USING fts5 (words, content = '', columnsize = 0, detail = column, tokenize = ${literal(tokenizer)})`,
    `INSERT INTO ${numbers} (n, ${keys}) SELECT rowid, ${keys} FROM ${own}`,
    `INSERT INTO ${index} (rowid, words) SELECT rowid, ${words('')} FROM ${own}`,
    `CREATE TRIGGER ${inserted} AFTER INSERT ON ${own} BEGIN INSERT INTO ${numbers} (n, ${keys}) VALUES (${next}, ${key.map((one) => `NEW.${one}`).join(', ')}); ${add('NEW')} END`,
    `CREATE TRIGGER ${updated} AFTER UPDATE OF ${columns.map(quoted).join(', ')} ON ${own} WHEN ${changed} BEGIN ${remove} ${add('NEW')} END`,
    `CREATE TRIGGER ${deleted} AFTER DELETE ON ${own} BEGIN ${remove} DELETE FROM ${numbers} WHERE ${same('OLD')}; END`,
  ]
}

export const dropSearchIndex = (name: string, how: string, { name: store }: Dialect): readonly string[] =>
  store === 'sqlite'
    ? [
        ...triggerNames(name).map((one) => `DROP TRIGGER IF EXISTS ${one}`),
        `DROP TABLE IF EXISTS ${quoted(name)}`,
        `DROP TABLE IF EXISTS ${numbersTable(name)}`,
      ]
    : [`DROP INDEX ${how}IF EXISTS ${quoted(name)}`]

interface SearchBinding {
  readonly dialect: Dialect
  readonly bind: (value: Cell) => string
  readonly account: Cell
}

/** A placeholder in queries for the mark of the account; no word contains it. */
const placeOfAccount = '\u0001'

/**
 * The rows of a list whose words begin with all of these: the join before the table, the condition, and a query that finds
 * the same number of rows by the index alone, if possible.
 */
export function searchJoin(
  collection: Collection,
  words: readonly string[],
  binding: SearchBinding,
): { readonly join: string; readonly condition: string; readonly alone: string | null } {
  const { dialect } = binding
  const [[name, columns] = ['', []]] = searchIndexOf(collection)
  const key = keyColumns(collection)
  if (dialect.name === 'postgres') {
    const query = searchQuery(key, words, (word) => `'${word.replace(/['\\]/g, '$&$&')}':*`, ' & ', binding)
    return { join: '', alone: null, condition: `${wordVector({ key, columns }, dialect)} @@ CAST(${query} AS tsquery)` }
  }
  const query = searchQuery(key, words, (word) => `"${word.replaceAll('"', '""')}" *`, ' AND ', binding)
  const [index, numbers, table] = [quoted(name), numbersTable(name), quoted(collection.table)]
  const same = key.map((one) => `own.${one} = ${numbers}.${one}`).join(' AND ')
  const byKey = `SELECT own.rowid FROM ${numbers} JOIN ${table} AS own ON ${same} WHERE n = ${index}.rowid`
  const isNumbered = `(SELECT max(n) FROM ${numbers}) = (SELECT max(rowid) FROM ${table})`
  // SQLite joins in the order of a cross join; by itself it might read all rows of an account, or all in the order of the list.
  return {
    join: `${index} CROSS JOIN `,
    alone: key.includes('account') ? null : `${index} WHERE ${index} MATCH ${query}`,
    condition: `${index} MATCH ${query} AND ${table}.rowid = CASE WHEN ${isNumbered} THEN ${index}.rowid ELSE (${byKey}) END`,
  }
}

/** The query for words, as SQL. */
function searchQuery(
  key: readonly string[],
  words: readonly string[],
  prefix: (word: string) => string,
  and: string,
  { bind, dialect, account }: SearchBinding,
): string {
  if (!key.includes('account')) return bind(words.map(prefix).join(and))
  const query = bind(words.map((word) => prefix(placeOfAccount + word)).join(and))
  const mark = accountMark(bind(account), dialect)
  return dialect.name === 'sqlite' ? `replace(${query}, char(1), ${mark})` : `replace(${query}, chr(1), ${mark})`
}

/** The distance of a word that a field does not have: greater than any position. */
const missing = 1_000_000_000

/**
 * The rank of a row, the best match first: by how many fields have the words, then by how near to the beginning the words
 * are, in characters. It does not depend on other rows, which the caller might not be allowed to see.
 */
export function relevanceOf(
  collection: Collection,
  words: readonly string[],
  { dialect, bind }: Omit<SearchBinding, 'account'>,
): string {
  const at = dialect.name === 'sqlite' ? 'instr' : 'strpos'
  const places = wordColumns(collection).flatMap(({ name }) =>
    words.map((word) => `coalesce(nullif(${at}(${quoted(name)}, ${bind(` ${word}`)}), 0), ${missing})`),
  )
  return places.map((one) => `CAST(${one} AS ${dialect.name === 'sqlite' ? 'INTEGER' : 'bigint'})`).join(' + ')
}
