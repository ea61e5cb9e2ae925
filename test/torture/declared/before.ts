/** The declaration of a rolling upgrade that is called `before`. */
export { before as default } from './rolling.ts'
