/** Dialect: the few questions that the databases answer differently. The cellar. */

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** The mark of the n-th value, counted from 1. */
  readonly mark: (n: number) => string
  readonly type: (type: 'text' | 'integer') => string
  /** The operator of patterns that compares exact code points, and the pattern of literal parts with anything between. R70. */
  readonly like: string
  readonly pattern: (parts: readonly string[]) => string
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
  like: 'GLOB',
  pattern: (parts) => parts.map((part) => part.replace(/[*?[]/g, '[$&]')).join('*'),
  tableOptions: ' STRICT, WITHOUT ROWID',
  member: (name, type) => {
    const value = `json_extract(doc, ${literal(`$."${name}"`)})`
    return type === 'numeric' || type === 'integer' ? `CAST(${value} AS ${type.toUpperCase()})` : value
  },
}
