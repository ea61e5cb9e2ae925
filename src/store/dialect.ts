/** Dialect: the few questions that the databases answer differently. The cellar. */

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** The mark of the n-th value, counted from 1. */
  readonly mark: (n: number) => string
  readonly type: (type: 'text' | 'integer') => string
  /** A match that compares exact code points, and the pattern of literal parts with anything between. R70. */
  readonly like: (column: string, pattern: string) => string
  readonly pattern: (parts: readonly string[]) => string
  /** A condition that few rows of an owner meet, so that its index is worth taking. */
  readonly rare: (condition: string) => string
  /** What stands behind the columns of a table. */
  readonly tableOptions: string
  /** A field of a document, as a typed column of the view. */
  readonly member: (name: string, type: 'text' | 'integer' | 'numeric' | 'boolean' | 'json') => string
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

export const sqlite: Dialect = {
  name: 'sqlite',
  mark: (n) => `?${n}`,
  type: (type) => (type === 'text' ? 'TEXT' : 'INTEGER'),
  like: (column, pattern) => `+${column} GLOB ${pattern}`, // the sign keeps SQLite from seeking by the pattern itself
  pattern: (parts) => parts.map((part) => part.replace(/[*?[]/g, '[$&]')).join('*'),
  rare: (condition) => `unlikely(${condition})`,
  tableOptions: ' STRICT, WITHOUT ROWID',
  member: (name, type) => {
    const value = `json_extract(doc, ${literal(`$."${name}"`)})`
    return type === 'numeric' || type === 'integer' ? `CAST(${value} AS ${type.toUpperCase()})` : value
  },
}
