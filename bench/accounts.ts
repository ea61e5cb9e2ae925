/** The service of `transfers.ts` without its handlers. */
export { bank as default } from './transfers.ts'
