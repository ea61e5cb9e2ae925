/** A service whose resources need different rights, and callers with different rights. */
import { f, service } from 'bylaw'

export const staff = service({
  name: 'office',
  scopes: {
    'files:read': 'Read files',
    'files:write': 'Change files',
    'files:create': 'Make files',
    'files:shred': 'Delete files',
  },
  resources: {
    notices: { fields: { text: f.text() }, access: { read: 'public', write: 'files:write' } },
    memos: { fields: { text: f.text() }, access: 'authenticated' },
    files: {
      prefix: 'fil',
      fields: { text: f.text() },
      access: { read: 'files:read', write: 'files:write', create: 'files:create', remove: 'files:shred' },
    },
    wishes: { fields: { text: f.text() }, access: 'public' },
  },
})

export const holders = {
  ann: { scopes: ['files:read', 'files:write', 'files:create', 'files:shred'], account: 'acc_ann' },
  ben: { scopes: ['files:read'], account: 'acc_ben' },
  cay: { scopes: [] },
  dee: { scopes: ['files:write'] },
} as const
