/** The accounts and transfers without handlers. */
export { bank as default } from './transfers.ts'
