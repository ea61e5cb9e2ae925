/** The notes of `notes.ts`; their changes are recorded as events. */
import { service } from 'bylaw'
import { declaration } from './notes.ts'

export default service({ ...declaration, events: true })
