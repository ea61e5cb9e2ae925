/** Types of resources with accounts and of fields with scopes; nothing here runs. Part 5, authentication. */
import type { CreateInput, FilterName, Row } from 'bylaw'
import { f, service } from 'bylaw'
import type { Equal, Proof } from './equal.ts'

const clinic = service({
  name: 'clinic',
  scopes: { pii: 'See personal data' },
  resources: {
    patients: {
      owner: 'accountId',
      fields: {
        name: f.text(),
        ssn: f.text({ read: 'pii', default: '', filter: true }),
        rank: f.text({ write: 'pii' }),
      },
      access: 'pii',
    },
  },
})
type Clinic = typeof clinic

/** Fields with a read scope may be missing; the account is not a field. */
export type Clinics = [
  Proof<
    Equal<
      Row<Clinic, 'patients'>,
      {
        readonly id: string
        readonly name: string
        readonly rank: string
        readonly ssn?: string
        readonly createdAt: string
        readonly updatedAt: string
      }
    >
  >,
  Proof<
    Equal<CreateInput<Clinic, 'patients'>, { readonly name: string; readonly rank: string; readonly ssn?: string }>
  >,
  Proof<Equal<FilterName<Clinic, 'patients'>, 'id' | 'createdAt' | 'updatedAt' | 'ssn'>>,
]
