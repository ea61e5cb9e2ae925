/** The factors whose pairs are tried together, each with its levels. docs/reliability.md shows this table. */
import type { Factors } from './covering.ts'

export const factors = {
  operation: ['list', 'read', 'create', 'replace', 'change', 'remove', 'query'],
  version: ['v3', 'v2', 'v1'],
  account: ['none', 'own'],
  credential: ['API key', 'token'],
  scope: ['not needed', 'held', 'lacking'],
  'hidden field': ['none', 'takes a scope', 'write-only'],
  cascade: ['no', 'yes'],
  'moved field': ['no', 'yes'],
  key: ['made', 'chosen', 'own'],
  'idempotency key': ['none', 'new', 'repeated'],
  'idempotency mode': ['conflict', 'replay'],
  quota: ['none', 'plenty', 'used up'],
  door: ['node', 'fetch'],
  store: ['SQLite', 'PostgreSQL'],
  'second process': ['no', 'yes'],
  crash: ['no', 'yes'],
  'earlier rows': ['fit', 'misfit', 'filled'],
  'dropped field': ['no', 'yes'],
  'rolling upgrade': ['no', 'yes'],
} as const satisfies Factors

export type Setup = { readonly [K in keyof typeof factors]: (typeof factors)[K][number] }
