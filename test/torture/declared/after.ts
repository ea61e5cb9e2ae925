/** The declaration of a rolling upgrade that is called `after`. */
export { after as default } from './rolling.ts'
